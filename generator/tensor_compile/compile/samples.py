# SPDX-License-Identifier: Apache-2.0
"""Samples of a model's inputs in files, one behind the other along the first axis, as calls of the model."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Mapping, Sequence

from ..errors import UserError
from ..loops.program_ir import FunctionPlan
from ..loops.scalar_ir import Buffer
from ..records import dataclass
from ..symbolic import Sym
from . import given, tensor_files
from .capture_run import Captured
from .given import Given
from .tensor_files import Tensor

MOST_AT_ONCE = 16    # samples of a call


@dataclass(frozen=True, slots=True)
class Call:
    """The parts of a file's tensors that one call takes. first, last: samples of the file."""

    function: FunctionPlan
    captured: Captured
    file: Given
    tensors: Mapping[str, Tensor]
    dims: Mapping[str, int]
    first: int
    last: int

    def write(self, path: Path, *more: tuple[Path, Mapping[str, tensor_files.Tensor]]) -> dict[str, int]:
        """The inputs of the call, and tensors of other files behind them; returns the sizes of the dims."""
        tensor_files.write(path, (Path(self.file.shown), self.tensors), *more)
        return given.sizes(self.function, Given(self.file.shown, self.tensors, {}), self.dims, self.captured)


@dataclass(frozen=True, slots=True)
class Samples:
    calls: Sequence[Call]
    count: int

    @staticmethod
    def read(paths: Sequence[str], function: FunctionPlan, captured: Captured, names: Mapping[str, str],
             dims: Mapping[str, int], most: int) -> "Samples":
        """most: samples, 0 for all."""
        calls: list[Call] = []
        read: list[Given] = []
        for path in paths:
            left = most - sum(c.last - c.first for c in calls) if most else 0
            if most and left <= 0:
                break
            read.append(Given.read(path, names))
            calls += _calls(function, captured, read[-1], dims, left)
        given.refuse_names(names, [b.name for b in function.inputs], read)
        return Samples(calls, sum(c.last - c.first for c in calls))

    def named(self, call: int) -> str:
        c = self.calls[call]
        return f"sample {c.first}" if c.last - c.first == 1 else f"one of the samples {c.first} to {c.last - 1}"

    def shown(self, call: int) -> str:
        return self.calls[call].file.shown


def _calls(function: FunctionPlan, captured: Captured, file: Given, dims: Mapping[str, int], most: int) -> list[Call]:
    found = {b.name: (b, file.require(b, "input")) for b in function.inputs}
    for b, t in found.values():
        if t.dtype != b.dtype or len(t.shape) not in (len(b.shape), len(b.shape) + 1):
            raise UserError(f"input {b.name}: the file has {t}, the model takes {given.type_text(b)}", file.shown,
                            f"samples are of the input's dtype, {b.dtype}" if t.dtype != b.dtype else
                            "samples lie one behind the other along the first axis, or along one before it")
    counts = {name: n for name, (b, t) in found.items() if (n := _samples_of(b, t)) is not None}
    if len(set(counts.values())) > 1:
        raise UserError("the inputs have different numbers of samples: "
                        + ", ".join(f"{name} {n}" for name, n in counts.items()), file.shown)
    count = next(iter(counts.values()), 1)
    if count == 0:
        raise UserError("there are no samples: an input has 0 of them", file.shown)
    step, whole = _step({name: found[name] for name in counts}, count)
    count = min(count, most) if most else count
    calls = []
    for first in range(0, count, step):
        last = min(first + step, count)
        if (last - first) % whole == 0:
            parts = {name: _part(b, t, first, last) if name in counts else t for name, (b, t) in found.items()}
            calls.append(Call(function, captured, file, parts, dims, first, last))
    if not calls:
        raise UserError(f"{count} samples are too few for one call, which takes {whole}", file.shown)
    return calls


def _samples_of(b: Buffer, t: Tensor) -> int | None:
    """How many samples a tensor holds; None where it is one for all calls."""
    if len(t.shape) > len(b.shape):
        return t.shape[0]
    if not b.shape:
        return None
    first = b.shape[0]
    if not first.is_const:
        return t.shape[0]
    return None if t.shape[0] == first.value and first.value != 1 else t.shape[0]


def _step(found: Mapping[str, tuple[Buffer, Tensor]], count: int) -> tuple[int, int]:
    """How many samples a call takes, and what that is a multiple of."""
    step, whole = min(count, MOST_AT_ONCE), 1
    for b, t in found.values():
        if len(t.shape) > len(b.shape):
            return 1, 1
        first = b.shape[0]
        if first.is_const:
            step, whole = first.value, first.value
            break
        dim = next((s for s in first.symbols() if isinstance(s, Sym)), None)
        if dim is not None:
            whole = dim.divisor
            step = min(max(step, dim.lo), dim.hi if isinstance(dim.hi, int) else step)
            step = max(step // whole * whole, whole)
    return step, whole


def _part(b: Buffer, t: Tensor, first: int, last: int) -> Tensor:
    row = t.bytes // max(t.shape[0], 1)
    shape = t.shape[1:] if len(t.shape) > len(b.shape) else (last - first, *t.shape[1:])
    return replace(t, shape=shape, at=t.at + first * row, bytes=(last - first) * row)
