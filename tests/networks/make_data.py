# SPDX-License-Identifier: Apache-2.0
"""Writes NAME.expected.safetensors: seeded inputs, and what PyTorch makes of them in double with the seeded weights of
the small configurations (small.txt), by the functions of bench/networks.py.

  python make_data.py        (needs torch and safetensors)
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import networks

generator = torch.Generator().manual_seed(5)


def weights(name: str, defines: list[str]) -> dict[str, torch.Tensor]:
    with tempfile.TemporaryDirectory() as folder:
        make, out = f"{folder}/make_weights", f"{folder}/{name}.safetensors"
        subprocess.run(["cc", "-std=c11", "-O2", *defines, str(ROOT / "examples" / name / "make_weights.c"), "-o", make,
                        "-lm"], check=True)
        subprocess.run([make, out], check=True)
        return {k: v.double() for k, v in load_file(out).items()}


def pictures(n: int, height: int, width: int) -> torch.Tensor:
    return torch.randn(n, 3, height, width, generator=generator)


def case(name: str, dims: tuple[int, ...]) -> tuple[dict, str]:
    """Inputs by name, and the output's name."""
    if name == "gpt2":
        return {"ids": torch.randint(0, 50, dims, generator=generator, dtype=torch.int32)}, "logits"
    if name == "unet":
        return {"image": pictures(1, *dims)}, "probabilities"
    return {"image": pictures(*dims, 32, 32)}, "logits"


DIMS = {"resnet50": ((1,), (2,), (3,)), "mobilenet_v2": ((1,), (2,), (3,)), "gpt2": ((1,), (7,), (33,)),
        "unet": ((4, 4), (12, 20), (32, 24))}
CALLS = {"resnet50": networks.resnet50, "mobilenet_v2": networks.mobilenet_v2, "unet": networks.unet,
         "gpt2": lambda w, x: networks.gpt2(w, x, width=8)}

for line in (HERE / "small.txt").read_text(encoding="utf-8").splitlines():
    name, _, *sizes = line.split()
    w = weights(name, [f"-D{s}" for s in sizes])
    stored = {"cases": torch.tensor(DIMS[name], dtype=torch.int32)}
    for dims in DIMS[name]:
        inputs, output = case(name, dims)
        exact = {k: x.double() if x.is_floating_point() else x for k, x in inputs.items()}
        key = "x".join(map(str, dims))
        stored |= {f"{key}.{k}": x for k, x in inputs.items()} | {f"{key}.{output}": CALLS[name](w, exact).float()}
    save_file(stored, HERE / f"{name}.expected.safetensors")

w, stored = weights("lstm-vad", []), {}
for pair, frames in enumerate((8, 1)):
    sound = torch.randn(64 + 512 * frames, generator=generator) * 0.3
    stored[f"{pair}.in.input"] = torch.stack([sound[512 * i:512 * i + 576] for i in range(frames)])
    h, c = (torch.randn(1, 128, generator=generator, dtype=torch.float64) * 0.5 * pair for _ in range(2))
    stored |= {f"{pair}.in.h": h.float(), f"{pair}.in.c": c.float()}
    h, c, probabilities = h.float().double(), c.float().double(), []
    for frame in stored[f"{pair}.in.input"]:
        p, h, c = networks.vad_step(w, frame.double(), h, c)
        probabilities.append(p)
    stored |= {f"{pair}.out.speech_probs": torch.cat(probabilities).float(), f"{pair}.out.hn": h.float(),
               f"{pair}.out.cn": c.float()}
save_file(stored, HERE / "lstm-vad.expected.safetensors")
