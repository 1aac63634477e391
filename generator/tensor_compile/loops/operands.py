# SPDX-License-Identifier: Apache-2.0
"""Operands of contractions as they are stored: a product of widened values reads what they were widened from.

`dot(cast(a), cast(b))` is how a model says that short integers are summed in i32, or that weights of 16 bits are
multiplied as f32. `Operands.short` says which short dtype holds every value of an operand, by the ranges of what it is
computed from, and `Operands.stored` gives the operand in a narrower dtype of the same values: what a cast widened,
behind the same views, or else a cast back.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any, Callable

from ..graph.dtypes import DTYPES, NARROW_FLOATS
from ..graph.ir import Node, Value
from ..records import dataclass
from ..symbolic import Expr
from .products import SHORT

VIEWS = frozenset(("reshape", "transpose", "slice", "broadcast"))
Range = tuple[int, int]
# (like, op, operands, attributes, dtype, shape) -> the result of a new node
Make = Callable[[Node, str, tuple[Value, ...], dict[str, Any], str, tuple[Expr, ...]], Value]


def dtype_range(dtype: str) -> Range:
    d = DTYPES[dtype]
    high = (1 << d.digits) - 1
    return (-high - 1 if d.kind == "signed" else 0), high


@dataclass(slots=True)
class Operands:
    """make: adds a node to the function."""

    make: Make
    ranges: dict[Value, Range] = field(default_factory=dict)
    found: dict[tuple[Value, str], Value] = field(default_factory=dict)

    def short(self, v: Value) -> str | None:
        """The shortest dtype of SHORT that holds every value of an i32 operand."""
        if v.dtype != "i32":
            return None
        low, high = self.range(v)
        return next((d for d in SHORT if dtype_range(d)[0] <= low and high <= dtype_range(d)[1]), None)

    def range(self, v: Value) -> Range:
        """Bounds of the elements of an integer value."""
        pending = [v]
        while pending:
            x = pending[-1]
            needed = [o for o in self.sources(x) if o not in self.ranges]
            if x not in self.ranges and needed:
                pending += needed
                continue
            pending.pop()
            if x not in self.ranges:
                low, high = self.computed(x, [self.ranges[o] for o in self.sources(x)])
                least, most = dtype_range(x.dtype)
                self.ranges[x] = (low, high) if least <= low and high <= most else (least, most)
        return self.ranges[v]

    @staticmethod
    def sources(v: Value) -> tuple[Value, ...]:
        """Operands whose ranges tell that of v."""
        known = v.node.op in VIEWS or v.node.op in ("cast", "pad", "concat", "add", "sub", "neg", "minimum", "maximum")
        return v.node.operands if known and all(DTYPES[o.dtype].is_integer for o in v.node.operands) else ()

    @staticmethod
    def computed(v: Value, given: list[Range]) -> Range:
        op = v.node.op
        if op == "constant" and DTYPES[v.dtype].is_integer:
            value = DTYPES[v.dtype].number(v.node.attrs["bits"])
            return value, value
        if not given:
            return dtype_range(v.dtype)
        if op == "add":
            return given[0][0] + given[1][0], given[0][1] + given[1][1]
        if op == "sub":
            return given[0][0] - given[1][1], given[0][1] - given[1][0]
        if op == "neg":
            return -given[0][1], -given[0][0]
        if op in ("minimum", "maximum"):
            pick = min if op == "minimum" else max
            return pick(g[0] for g in given), pick(g[1] for g in given)
        return min(g[0] for g in given), max(g[1] for g in given)

    def half(self, v: Value) -> str | None:
        """The dtype of 16 bits that an f32 operand was widened from."""
        node = v.through(VIEWS).node
        return node.operands[0].dtype if node.op == "cast" and node.operands[0].dtype in NARROW_FLOATS else None

    def stored(self, v: Value, dtype: str) -> Value:
        """v in a dtype that holds all its values."""
        if v.dtype == dtype:
            return v
        if (v, dtype) not in self.found:
            node = v.node
            if node.op in VIEWS:
                made = self.make(node, node.op, (self.stored(node.operands[0], dtype),), node.attrs, dtype, v.shape)
            elif node.op == "cast" and node.operands[0].dtype == dtype:
                made = node.operands[0]
            else:
                made = self.make(node, "cast", (v,), {"dtype": dtype}, dtype, v.shape)
            self.found[v, dtype] = made
        return self.found[v, dtype]
