# SPDX-License-Identifier: Apache-2.0
"""Makes cases/versions/VERSION.zip with the PyTorch that runs it: small programs as this version exports and saves
them, with its results. The tests need no PyTorch.

    python3 versions.py

A case is a folder of the zip file, as those of make_cases.py: NAME/program.pt2 (as it was written, less pickled
samples and the folders of stack traces), NAME/inputs.safetensors, NAME/outputs.safetensors. No two cases call a size
alike: they stand in one model.c.
"""
from __future__ import annotations

import io
import json
import re
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any, Callable

import torch
import torch.nn.functional as F
from make_cases import call, script
from torch import nn

HERE = Path(__file__).resolve().parent
VERSION = torch.__version__.partition("+")[0]

Args = tuple[Any, ...]


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Dropout(), nn.Linear(8, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.softmax(self.layers(x), -1)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.norm(self.conv(x)))


class Conv(nn.Module):
    """Blocks that are alike: a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(1, 4, 3, 2, 1), nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(4, 3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.stem(image)
        for block in self.blocks:
            x = block(x)
        return self.head(F.max_pool2d(x, 2).mean((2, 3)))


class Attention(nn.Module):
    """Words with a mask; batch and length are dynamic. The first weights are the last ones, transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(14, 8), nn.Embedding(40, 8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8, bias=False)
        self.logits = nn.Linear(8, 14, bias=False)
        self.logits.weight = self.words.weight

    def forward(self, ids: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        batch, length = ids.shape
        x = self.words(ids) + self.places(torch.arange(length))
        q, k, v = (y.view(batch, length, 2, 4).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, kept[:, None, None, :])
        return self.logits(x + self.out(mixed.transpose(1, 2).reshape(batch, length, 8)))


class Counter(nn.Module):
    """Buffers that a call changes; one is not part of the state_dict, one weight lies across its storage."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("scale", torch.linspace(1, 2, 4), persistent=False)
        self.turned = nn.Parameter(torch.randn(4, 3).t()[1:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x * self.scale)
        self.calls.add_(1)
        return (self.turned * self.total).sum(1) / self.calls


class Cond(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin() + 1, lambda y: (y * 2).cos(), (x,))


class Nested(nn.Module):
    """Dicts and lists in and out; a number and a flag of the sample call are constants."""

    def forward(self, images: dict[str, torch.Tensor], pair: list[torch.Tensor], scale: float, flip: bool) -> Any:
        a, b = pair
        left = images["left"] * scale
        return {"sum": left + images["right"], "parts": [a.flip(0) if flip else a, (b > 0, b.to(torch.int32))]}


class Sizes(nn.Module):
    """Arithmetic of sizes."""

    def forward(self, x: torch.Tensor) -> Any:
        n, m = x.shape
        rows = torch.cat([x, x[1:]]).reshape(-1, m)
        wide = F.pad(rows, (0, m + 1)).view(2 * n - 1, 2 * m + 1)
        return wide.sum(1), torch.arange(n) * m, x.new_full((n + 1, 2), 0.5)


class Half(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 4).to(torch.bfloat16)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.linear(x).float() + y.half().abs().sqrt().float()


class Loop(nn.Module):
    """While a sum is small; a running sum over rows."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops.while_loop import while_loop

        count, y = while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 1.5 + 1), (torch.tensor(0), x))
        return y + count


class Scan(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        from torch._higher_order_ops.scan import scan

        def step(carry: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            now = carry * 0.5 + row
            return now, now.tanh()

        return scan(step, torch.zeros(3), x)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.conv = nn.LSTM(4, 5, batch_first=True), nn.ConvTranspose1d(5, 2, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(self.conv(self.lstm(x)[0].transpose(1, 2)), scale_factor=2.0, mode="linear")


# A module, the arguments of a call, what is dynamic (words of tensor-compile-export.py), whether it is decomposed.
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Args], tuple[str, ...], bool]] = {
    "mlp": (Mlp, lambda: (torch.randn(2, 6),), ("x.0=rows:1:8",), False),
    "conv": (Conv, lambda: (torch.randn(1, 1, 9, 12),), (), False),
    "conv_core": (Conv, lambda: (torch.randn(2, 1, 9, 12),), ("image.0=images:1:4",), True),
    "attention": (Attention, lambda: (torch.randint(0, 14, (2, 5)), torch.arange(5) < torch.tensor([[5], [3]])),
                  ("ids.0=batch:1:4", "ids.1=length:1:40", "kept.0=batch:1:4", "kept.1=length:1:40"), False),
    "state": (Counter, lambda: (torch.randn(4),), (), False),
    "cond": (Cond, lambda: (torch.randn(3),), (), False),
    "nested": (Nested, lambda: ({"left": torch.randn(2, 3), "right": torch.randn(2, 3)},
                                [torch.randn(3), torch.randn(2, 2) * 9], 2.5, True),
               ("images_left.0=pairs:1:8", "images_right.0=pairs:1:8"), False),
    "sizes": (Sizes, lambda: (torch.randn(7, 5),), ("x.0=n:4:64",), False),
    "half": (Half, lambda: (torch.randn(3, 5).to(torch.bfloat16), torch.randn(3, 4)), (), False),
    "while": (Loop, lambda: (torch.randn(3),), (), False),
    "scan": (Scan, lambda: (torch.randn(5, 3),), (), False),
    "recurrent": (Recurrent, lambda: (torch.randn(2, 6, 4),), (), False),
}


def kept(archive: Path) -> bytes:
    """The archive without pickled samples; stack traces name files from PyTorch's folder on, or by name alone."""
    out = io.BytesIO()
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            if "sample_inputs" in name or "example_inputs" in name:
                continue
            content = old.read(name)
            if name.endswith(".json"):
                content = re.sub(rb'File \\"[^"\\]*?/(torch/[^"\\]+|[^/"\\]+)\\"', rb'File \\"\1\\"', content)
            new.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def made(name: str, place: Path) -> dict[str, bytes]:
    make, sample, dynamic, decompose = MODELS[name]
    torch.manual_seed(7)
    module, args = make().eval(), sample()
    program = script.exported(module, args, {}, list(dynamic), decompose)
    torch.export.save(program, str(place / "p.pt2"), extra_files={
        "tensor_compile_dims.json": json.dumps(script.size_names(program, list(dynamic)))})
    return {f"{name}/program.pt2": kept(place / "p.pt2"), **call(name, place, program, args, module(*args))}


def main() -> int:
    failed = 0
    target = HERE / "cases" / "versions" / f"{VERSION}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as cases, torch.no_grad(), warnings.catch_warnings(), \
            tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name in MODELS:
            try:
                members = made(name, Path(folder))
            except (Exception, SystemExit) as error:  # this PyTorch is too old for it
                print(f"{VERSION}: {name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                failed += 1
                continue
            for member, content in members.items():
                cases.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
    print(f"{target}: {len(MODELS) - failed} of {len(MODELS)} programs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
