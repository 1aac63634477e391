# SPDX-License-Identifier: Apache-2.0
"""Writes expected/FAMILY.safetensors: inputs and PyTorch's outputs of every function of FAMILY.c.

  python make_expected.py [FAMILY ...]        (needs torch, numpy and safetensors; all families by default)

expected/FAMILY.py has `functions(rng)`: function name -> (inputs by name, f(inputs) -> outputs by name, sizes as in
"n=3,m=17"). In the file keys are op_FUNCTION.in.NAME and op_FUNCTION.out.NAME, sizes the metadata under op_FUNCTION.
PyTorch computes in float64 where the function is one of f32, so that its own rounding is not part of the comparison (a
module with DTYPES = True gives every output in the dtype that it has in the model); comparison.py states the tolerance.
A family's random numbers depend on its name alone. Where the family has FLOATS (families/FAMILY.py), its inputs of f32
are rounded so that f16 and bf16 have their values, and one file serves all floats.
"""
from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from pathlib import Path

import torch
from safetensors.torch import save_file

EXPECTED = Path(__file__).resolve().parent / "expected"


class Random:
    """Random tensors of one family."""

    def __init__(self, family: str):
        self.generator = torch.Generator().manual_seed(zlib.crc32(family.encode()))

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator)

    def rand(self, *shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=self.generator)

    def randint(self, low: int, high: int, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.generator)

    def integers(self, dtype: torch.dtype, *shape: int) -> torch.Tensor:
        return self.randint(-1000, 1000, shape).to(dtype)


def in_double(inputs: dict) -> dict:
    return {k: t.double() if t.dtype == torch.float32 else t for k, t in inputs.items()}


def in_sixteen_bits(inputs: dict) -> dict:
    """Inputs of f32 as numbers that f16 and bf16 have, too: 8 bits in f16's range."""
    rounded = {k: t.half().bfloat16().float() if t.dtype == torch.float32 else t for k, t in inputs.items()}
    for t in rounded.values():
        assert t.dtype != torch.float32 or torch.equal(t.nan_to_num(), t.half().float().nan_to_num())
    return rounded


def write(family: str) -> None:
    sys.path[:1] = [str(EXPECTED), str(EXPECTED.parent)]
    spec = importlib.util.spec_from_file_location(family, EXPECTED / f"{family}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    floats = getattr(importlib.import_module(f"families.{family}"), "FLOATS", ())
    tensors, sizes = {}, {}
    for name, (inputs, f, size) in module.functions(Random(family)).items():
        inputs = in_sixteen_bits(inputs) if floats else inputs
        outputs = f(in_double(inputs))
        sizes[f"op_{name}"] = size
        for k, t in inputs.items():
            tensors[f"op_{name}.in.{k}"] = t.clone().contiguous()
        for k, t in outputs.items():
            t = t.float() if t.dtype == torch.float64 and not getattr(module, "DTYPES", False) else t
            tensors[f"op_{name}.out.{k}"] = t.clone().contiguous()
    save_file(tensors, EXPECTED / f"{family}.safetensors", sizes)
    print(family, len(sizes), "functions", sum(t.nbytes for t in tensors.values()), "bytes")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(p.stem for p in EXPECTED.glob("*.safetensors")):
        write(name)
