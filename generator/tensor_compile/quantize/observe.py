# SPDX-License-Identifier: Apache-2.0
"""What values are over data: the model with the smallest and the largest element of each value as its results, and
scales from them."""
from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import Sequence

from ..graph.infer import Context
from ..graph.ir import Function, Loc, Module, TensorType, Value
from ..graph.rewrite import Builder
from ..records import dataclass
from ..symbolic import IntLike, product, wrap
from .states import State, with_results

LEAST, MOST, BINS = "least", "most", "bins"
PLACES = 19                     # of a float's 32 bits that a bin leaves out: sign, exponent and 4 digits are left
BIN_COUNT = 1 << 32 - PLACES


def observed(module: Module, function: Function, values: Sequence[Value], bins: bool, states: Sequence[State] = ()
             ) -> Module:
    """The module with one function, whose results are f32[n]: the smallest and the largest element of each value; with
    `bins` also i32[n, BIN_COUNT]: how many elements have each upper part of a float's bits; and the states."""
    builder = Builder(function, Context(), share=False)
    for node in function.nodes:
        builder.add(node)
    rows: dict[str, list[Value]] = {LEAST: [], MOST: [], **({BINS: []} if bins else {})}
    for v in values:
        axes = tuple(range(v.type.rank))
        for name, op in ((LEAST, "min"), (MOST, "max")):
            one = builder.value("reduce", v, like=v.node, op=op, axes=axes, order="free") if axes else v
            rows[name].append(builder.value("reshape", one, like=v.node, shape=(wrap(1),)))
        if bins:
            rows[BINS].append(_binned(builder, v))
    results: list[tuple[str, Value, Loc | None]] = []
    for name, found in rows.items():
        last = found[0] if len(found) == 1 else Value(builder.make("concat", found, {"axis": 0}))
        results.append((name, last, None))
    made = replace(builder.function, results=results, assigns=function.assigns)
    return alone(module, with_results(made, states))


def alone(module: Module, function: Function) -> Module:
    """The module with this one entry, and what entries call."""
    inner = {name: f for name, f in module.functions.items() if not f.entry}
    return replace(module, states={}, functions={**inner, function.name: function})


def _binned(builder: Builder, v: Value) -> Value:
    like, count = v.node, product(v.shape)
    flat = builder.value("reshape", v, like=like, shape=(count,))
    bits = builder.value("bitcast", flat, like=like, dtype="u32")

    def number(dtype: str, n: int) -> Value:
        return Value(builder.make("constant", (), {"bits": n}, (TensorType(dtype, ()),), like.loc, like.scope))

    def repeated(x: Value, count: IntLike) -> Value:
        return builder.value("broadcast", x, like=like, shape=(wrap(count),), axes=())

    upper = builder.value("shift_right", bits, repeated(number("u32", PLACES), count), like=like)
    index = builder.value("cast", upper, like=like, dtype="i32")
    counts = builder.value("scatter", repeated(number("i32", 0), BIN_COUNT), index, repeated(number("i32", 1), count),
                           like=like,
                           op="add", axis=0)
    return builder.value("reshape", counts, like=like, shape=(wrap(1), wrap(BIN_COUNT)))


@dataclass(slots=True)
class Range:
    """Of all elements so far."""

    low: float = math.inf
    high: float = -math.inf
    bins: list[int] | None = None

    def add(self, low: float, high: float, bins: Sequence[int] | None) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)
        if bins is not None:
            self.bins = [a + b for a, b in zip(self.bins, bins, strict=True)] if self.bins else list(bins)

    def without_outliers(self, percent: float) -> tuple[float, float]:
        """The ends between which so many percent of the elements lie, as many left out at each end; of the whole where
        the bins are not known."""
        if self.bins is None:
            return self.low, self.high
        spare = sum(self.bins) * (100 - percent) / 200
        ordered = [i for i in _ascending() if self.bins[i]]
        low, high = _end(self.bins, ordered, spare, False), _end(self.bins, ordered[::-1], spare, True)
        return max(self.low, low), min(self.high, high)


def _ascending() -> list[int]:
    half = BIN_COUNT // 2
    return [*range(BIN_COUNT - 1, half - 1, -1), *range(half)]   # negative floats grow downwards


def _float(upper: int) -> float:
    found: float = struct.unpack("<f", struct.pack("<I", upper << PLACES))[0]
    return found


def _end(bins: Sequence[int], ordered: Sequence[int], spare: float, upward: bool) -> float:
    """Where `spare` elements lie beyond; within a bin they are thought to lie evenly."""
    for i in ordered:
        if bins[i] > spare:
            ends = sorted((_float(i), _float(i + 1) if i + 1 < BIN_COUNT and _float(i + 1) * _float(i) >= 0
                           else _float(i)))
            share = spare / bins[i]
            return ends[1] - share * (ends[1] - ends[0]) if upward else ends[0] + share * (ends[1] - ends[0])
        spare -= bins[i]
    return 0.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Integers q of 8 bits stand for (q - zero) * scale; the scale is a number of f32. dtype: i8 or u8."""

    scale: float
    zero: int
    dtype: str = "i8"

    @property
    def lowest(self) -> int:
        return -128 if self.dtype == "i8" else 0

    def limited(self, q: int) -> int:
        """The nearest of the integers."""
        return max(self.lowest, min(self.lowest + 255, q))

    def integer(self, x: float) -> int:
        """The integer nearest to a number, which is no NaN."""
        far = 512.0     # from every zero, beyond both ends
        return self.limited(round(max(-far, min(far, x / self.scale))) + self.zero)


def scale_of(low: float, high: float, dtype: str) -> Scale:
    """The finest scale by which low, high and 0 are integers; 0 is one exactly."""
    low, high = min(low, 0.0), max(high, 0.0)
    step = max((high - low) / 255, 2.0 ** -100)   # of what is always 0 any scale is right
    scale: float = struct.unpack("<f", struct.pack("<f", step if low < high else 1.0))[0]
    of = Scale(scale, 0, dtype)
    return replace(of, zero=of.limited(round(of.lowest - low / scale)))
