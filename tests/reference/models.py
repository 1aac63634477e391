# SPDX-License-Identifier: Apache-2.0
"""The models that the tests of this folder build: their sources in a folder of their own, with seeded weights."""
from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import forked
from tensor_compile.compile import cpu_target

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "reference"
X86 = os.uname().machine == "x86_64"


def safetensors(path: Path, tensors: dict[str, tuple[tuple[int, ...], list[float]]]) -> None:
    """F32 tensors, by name (shape, elements)."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def seeded(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, tuple[tuple[int, ...], list[float]]]:
    draw = random.Random(seed)

    def elements(shape: tuple[int, ...]) -> list[float]:
        count = 1
        for size in shape:
            count *= size
        return [draw.uniform(-0.5, 0.5) for _ in range(count)]

    return {name: (shape, elements(shape)) for name, shape in shapes.items()}


def layer(name: str, out: int, into: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


MLP = layer("fc0", 37, 29) | layer("fc1", 18, 37) | layer("fc2", 10, 18)
ENCODER = {"words": (50, 24)} | layer("query", 24, 24) | layer("key", 24, 24) | layer("value", 24, 24) \
    | layer("output", 24, 24) | layer("up", 40, 24) | layer("down", 24, 40) \
    | {f"norm{i}.{part}": (24,) for i in (1, 2) for part in ("weight", "bias")}


def mlp(folder: Path, seed: int = 1) -> Path:
    safetensors(folder / "mlp.safetensors", seeded(MLP, seed))
    return Path(shutil.copy(HERE / "mlp.c", folder))


def encoder(folder: Path) -> Path:
    safetensors(folder / "encoder.safetensors", seeded(ENCODER, 2))
    return Path(shutil.copy(HERE / "encoder.c", folder))


def digits(folder: Path) -> Path:
    shutil.copy(ROOT / "examples" / "digits" / "digits.safetensors", folder)
    return Path(shutil.copy(ROOT / "examples" / "digits" / "model.c", folder / "digits.c"))


def decoder(folder: Path) -> Path:
    shutil.copy(ROOT / "tests" / "decoder" / "decoder.safetensors", folder)
    return Path(shutil.copy(ROOT / "tests" / "decoder" / "model.c", folder / "decoder.c"))


def cache(folder: Path) -> str:
    """The cache of all tests; in `folder` where there is none."""
    return os.environ.get("TC_TESTS_CACHE", str(folder / "cache"))


def tool(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """A sub-command, run in `folder` with the cache of all tests. Kernels that only have to give the right bits are
    compiled with -O1, the others as users' are."""
    cpu_target.OPTIMISE["speed"] = "-O1" if words[0] in ("check", "run") else "-O3"
    return forked.tool(*words, "--cache", cache(folder), "-j2", cwd=folder)
