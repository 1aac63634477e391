# SPDX-License-Identifier: Apache-2.0
"""What physical orders cost, in cycles of one thread: reading a value that lies in some order, making one, copying it.

Costs are what an order costs more than the best one would: a kernel that reads and writes in the order in which it
walks costs nothing here. What products cost more is asked of the cost model of contractions (`Price`); everything
else is counted in elements that a kernel meets in another order than its own, and a copy in bytes at the pace of the
cache, or of the memory, that holds them.
"""
from __future__ import annotations

import math
from dataclasses import field
from typing import Callable

from ..graph.dtypes import DTYPES
from ..graph.ir import Node, Value
from ..graph.table import is_elementwise, lowering_of
from ..instruction_sets import IN_TURN, instruction_set
from ..records import dataclass
from ..symbolic import ONE, Expr, const, product
from ..symbolic.typical import typical
from ..target import Target
from .few_outputs import MOST_OUTPUTS, few_outputs, in_memory
from .layout import gathers_along
from .physical_order import last_order, Order

# (packed convolution, order of its first operand) -> modelled cycles
Price = Callable[[Node, Order], float]

TURNED = 1.0     # cycles an element of a kernel that reads, or stores, across the order in which it walks
STORED = 0.5     # where it is a product of floats with panels, whose tiles turn what they store in registers
BLOCKED = 0.15   # of a copy that moves blocks from one order to another (emit/nests/turned_copies.py)
SIDE = 16        # elements side by side in both orders, from which on it does
SINGLE = 0.65    # of another copy
TORN = 8.0       # of an index that divisions take apart: dims that a reshape joined do not follow one another
ALONG = 0.05     # a lane of a term of a window that follows a line of the image, more than of one that takes channels,
PARTED = 0.15    # and where lanes lie so far apart that vectors are parts of runs of memory
GATHERED = 0.8   # and where they are put together element by element
LANES = 16
FEW = 1 / 20     # of the time with panels, that each of few output channels takes along lines;
FEW_OF_8 = 1 / 5.5   # where a register has 8 lanes: panels then compute half of their columns, and blocks are smaller
ENDS = 18        # positions that a line of a first layer of several channels takes more, for its ends
LONG = 96        # positions of a line from which on one of one channel pays where a register has 8 lanes
STARTED = 1000   # cycles of one kernel more
DEAR = 2.0       # a copy must promise so many times its price: it is certain, what it saves is modelled


def dense(order: Order, shape: tuple[Expr, ...]) -> Order:
    """Without the dims of one element, which lie anywhere."""
    return tuple(d for d in order if shape[d] != ONE)


# -- views ----------------------------------------------------------------------------------------------------------
def seen(v: Value, order: Order) -> Order | None:
    """How the elements of a view lie where what it is a view of lies in `order`: the dims of the view from slowest to
    fastest, those of one element left out. None where the index is taken apart by divisions."""
    if lowering_of(v.node.op) != "view":
        return dense(order, v.shape)
    source = v.node.operands[0]
    inner = seen(source, order)
    if inner is None:
        return None
    attrs = v.node.attrs
    if v.node.op == "transpose":
        return tuple(attrs["perm"].index(d) for d in inner)
    if v.node.op == "broadcast":
        return tuple(attrs["axes"][d] for d in inner if source.shape[d] == v.shape[attrs["axes"][d]])
    if v.node.op == "reshape":
        return _reshaped(source.shape, v.shape, inner)
    return dense(inner, v.shape)


def _reshaped(before: tuple[Expr, ...], after: tuple[Expr, ...], order: Order) -> Order | None:
    """The order of dims behind a reshape: those that become one must follow one another."""
    groups = _groups(before, after)
    if groups is None:
        return None
    place = {d: i for i, d in enumerate(order)}
    kept = [([place[d] for d in old if d in place], new) for old, new in groups]   # others are repeated elements
    out: list[int] = []
    for at, new in sorted((at, new) for at, new in kept if at):
        if at != list(range(at[0], at[0] + len(at))):
            return None
        out += new
    return tuple(out)


def _groups(before: tuple[Expr, ...], after: tuple[Expr, ...]) -> list[tuple[list[int], list[int]]] | None:
    """Dims of more than one element that a reshape makes of one another: of equal products, as few as can be."""
    old = [d for d in range(len(before)) if before[d] != ONE]
    new = [d for d in range(len(after)) if after[d] != ONE]
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        taken, made = [old[i]], [new[j]]
        left, right = before[old[i]], after[new[j]]
        i, j = i + 1, j + 1
        while left != right:
            if typical(left) <= typical(right) and i < len(old):
                taken.append(old[i])
                left, i = left * before[old[i]], i + 1
            elif j < len(new):
                made.append(new[j])
                right, j = right * after[new[j]], j + 1
            else:
                return None
        found.append((taken, made))
    return found if i == len(old) and j == len(new) else None


def base_of(v: Value) -> Value:
    """What a view is a view of."""
    while lowering_of(v.node.op) == "view":
        v = v.node.operands[0]
    return v


# -- costs ----------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Costs:
    """price: of convolutions; found: what was asked of it."""

    target: Target
    price: Price
    found: dict[tuple[Node, Order], float] = field(default_factory=dict)

    @property
    def vectors(self) -> bool:
        return all(instruction_set(isa).has_vectors for isa in self.target.isas)

    @property
    def lanes(self) -> int:
        """Of a register."""
        return instruction_set(self.target.isas[-1]).lanes

    def copy(self, v: Value, order: Order, other: Order) -> float:
        """Of a value in `order` into `other`: a read, a write and what the write fetches first."""
        count = elements(v)
        size = count * DTYPES[v.dtype].bytes
        reads = self.target.reads
        pace = reads.l2 if 2 * size <= self.target.l2 else reads.l3
        if self.target.clock and self.target.bandwidth and 2 * size > self.target.l3:
            pace = min(pace, self.target.bandwidth / self.target.clock)
        lies = dense(order, v.shape), dense(other, v.shape)
        blocks = BLOCKED if min(side(v, *lies), side(v, *reversed(lies))) >= SIDE else SINGLE
        return DEAR * (STARTED + blocks * count + 3 * size / pace)

    def make(self, node: Node, order: Order) -> float:
        """Of a node that stores what it computes in this order."""
        v = Value(node)
        lies = dense(order, v.shape)
        turned = _panels(node) and not self.few(node) and lies and lies[-1] != 1 and v.shape[1] != ONE
        return (STORED if v.dtype == "f32" else TURNED) * elements(v) if turned else 0.0

    def read(self, node: Node, position: int, order: Order, result: Order) -> float:
        """Of operand `position` of a node, a view of what lies in `order`. result: how what the node makes lies."""
        x, v = node.operands[position], Value(node)
        lies = seen(x, order)
        if self.few(node):
            least = min(self.few_cycles(node), self.asked(node, last_order(len(v.shape))))
            return 0.0 if position else min(self.ways(node, order, result)) - least
        if lies is None:
            return TORN * elements(x)
        if not lies:
            return 0.0
        if _panels(node):
            return self.convolved(node, lies) if position == 0 else 0.0
        if across(node):
            own = dense(result, v.shape)
            if own and lies[-1] != own[-1]:
                return TURNED * elements(x)
            return along(node, own[-1]) if own and position == 0 else 0.0
        if node.op in ("reduce", "reduce_where", "arg_reduce"):
            axes = (node.attrs["axis"],) if node.op == "arg_reduce" else node.attrs["axes"]
            short = lies[-1] in axes and typical(x.shape[lies[-1]]) < LANES    # no vector of one row
            return TURNED * elements(x) if short else 0.0
        if node.op in ("dot", "packed_dot", "dot_where"):
            return 0.0 if position == 0 or lies == tuple(sorted(lies)) else TURNED * elements(x)
        return 0.0 if lies == tuple(sorted(lies)) else TURNED * elements(x)

    def convolved(self, node: Node, lies: Order) -> float:
        """More than with channels last."""
        rank = len(node.operands[0].shape)
        if lies[-1] == 1:
            return 0.0
        plain, last = self.asked(node, tuple(range(rank))), self.asked(node, last_order(rank))
        return max(0.0, plain - last)

    def few(self, node: Node) -> bool:
        """Whether a node is a convolution of few output channels, which may run along lines; or a first layer, where
        that was measured as faster."""
        if not (self.vectors and few_outputs(node)):
            return False
        outs, line = (typical(node.types[0].shape[axis]) for axis in (1, -1))
        return outs <= MOST_OUTPUTS or self.lanes == LANES \
            or self.lanes == 8 and node.operands[0].shape[1] == ONE and line >= LONG

    def few_cycles(self, node: Node) -> float:
        """What it takes along lines that lie in memory. A first layer takes no less than with panels, but for turning
        what these store: networks whose next convolution takes channels keep channels last."""
        outs, rank = typical(node.types[0].shape[1]), len(node.types[0].shape)
        share = outs * (FEW_OF_8 if self.lanes == 8 else FEW)
        if outs <= MOST_OUTPUTS:
            return share * self.asked(node, last_order(rank))
        ends = 0 if node.operands[0].shape[1] == ONE else ENDS / typical(node.types[0].shape[-1])
        return max(1.0, min(1.0, share) * (1 + ends)) * self.asked(node, tuple(range(rank)))

    def ways(self, node: Node, order: Order, result: Order) -> tuple[float, float]:
        """What it takes with panels, and along lines. order: of what its operand is a view of; result: of what it
        makes."""
        v, x = Value(node), node.operands[0]
        last, lies, own = len(v.shape) - 1, seen(x, order), dense(result, v.shape)
        torn = TORN * elements(x) if lies is None else 0.0
        turned = STORED * elements(v) if own and own[-1] != 1 and v.shape[1] != ONE else 0.0
        panels = self.asked(node, last_order(len(v.shape))) + (self.convolved(node, lies) if lies else 0.0)
        if in_memory(x):
            copied = 0.0 if lies and lies[-1] == last else math.inf
        else:
            copied = torn + TURNED * elements(x)
        lines = self.few_cycles(node) + copied if own and own[-1] == last else math.inf
        return panels + torn + turned, lines

    def along_lines(self, node: Node, order: Order, result: Order) -> bool:
        """Whether it takes less along lines."""
        panels, lines = self.ways(node, order, result)
        return lines < panels

    def asked(self, node: Node, order: Order) -> float:
        if (node, order) not in self.found:
            self.found[node, order] = self.price(node, order)
        return self.found[node, order]


def side(v: Value, order: Order, other: Order) -> int:
    """Elements side by side in one order that lie evenly apart in the other: of its fastest dims those that follow one
    another there."""
    count, behind = 1, len(order)
    while behind and (behind == len(order) or other.index(order[behind - 1]) + 1 == other.index(order[behind])):
        behind -= 1
        count *= typical(v.shape[order[behind]])
    return count


def across(node: Node) -> bool:
    """It walks what it reads as it walks what it makes."""
    return is_elementwise(node.op) or node.op in ("window_reduce", "concat", "convolution", "reorder") \
        or node.op == "packed_convolution" and (not _panels(node) or few_outputs(node)) or gathers_along(node)


def along(node: Node, axis: int) -> float:
    """What a window, or a gather, costs more where lanes follow this dim of what it makes: nothing where its positions
    do not."""
    shape, ins = node.types[0].shape, 1
    if node.op == "gather":
        one_by_one = axis == node.attrs["axis"] or typical(shape[axis]) < LANES
        return GATHERED * elements(Value(node)) if one_by_one else 0.0
    if node.op == "window_reduce":
        window = tuple(const(size) for size in node.attrs["size"])
    elif node.op == "convolution":
        window = node.operands[1].shape[2:]
    elif node.op == "packed_convolution":
        window = node.operands[1].shape[:len(shape) - 2]
        ins = typical(node.operands[1].shape[len(shape) - 2]) if len(node.operands[1].shape) == len(shape) else 1
    else:
        return 0.0
    at = axis - (len(shape) - len(window))
    if at < 0:
        return 0.0
    size = max(1, typical(shape[axis]))
    lanes = elements(Value(node)) // size * (-(-size // LANES) * LANES)
    stride = node.attrs["stride"][at]
    each = ALONG if stride <= 2 else PARTED if stride in IN_TURN else GATHERED * ins
    return each * typical(product(window)) * lanes


def _panels(node: Node) -> bool:
    return node.op == "packed_convolution" and bool(node.attrs["panel"])


def elements(v: Value) -> int:
    return max(1, typical(v.type.elements))
