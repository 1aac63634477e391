# SPDX-License-Identifier: Apache-2.0
"""What lowering knows of the values of a graph before it chooses a place for any of them."""
from __future__ import annotations

from collections import Counter
from typing import Mapping

from ..graph.dtypes import widens
from ..graph.ir import Function, Node, Value
from ..graph.table import cost_of, lowering_of
from ..records import dataclass
from . import layout
from .bodies import Opened
from .scalar_ir import row_major

_SUMS = frozenset(("dot", "convolution", "reduce", "window_reduce"))
_FREE_COST = 6  # operations on indices that are computed again rather than stored


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """owner: the function that a node stands in, a body or the whole. uses: how many operands, results and assigns a
    value is. free: nodes whose elements their readers compute, in place of memory. orders: physical orders that are not
    row-major."""

    owner: Mapping[Node, Function]
    uses: Counter[Value]
    free: frozenset[Node]
    orders: Mapping[Value, tuple[int, ...]]

    def is_view(self, node: Node) -> bool:
        """Its elements are found where they are read; nothing is computed for it."""
        return lowering_of(node.op) in ("leaf", "view") or node in self.free

    def order(self, v: Value) -> tuple[int, ...]:
        """How v lies in a buffer of its own."""
        return self.orders.get(v, row_major(v.shape))


def value_facts(opened: Opened, plain: bool) -> ValueFacts:
    """plain: every tensor is row-major."""
    functions = opened.functions()
    nodes = [node for f in functions for node in f.nodes]
    uses: Counter[Value] = Counter(v for node in nodes for v in node.operands)
    orders: dict[Value, tuple[int, ...]] = {}
    for f in functions:
        uses.update(v for _, v, _ in [*f.results, *f.assigns])
        if not plain:
            orders.update(layout.orders(f))
    return ValueFacts({node: f for f in functions for node in f.nodes}, uses, _free(nodes), orders)


def _free(nodes: list[Node]) -> frozenset[Node]:
    """The nodes whose values need no memory: constants, cheap arithmetic on indices, and integers that a sum reads
    wider than they are stored."""
    summed = {v for node in nodes if _sums(node) for v in node.operands}
    costs: dict[Node, int] = {}
    for node in nodes:
        kind = lowering_of(node.op)
        if node.op in ("constant", "iota", "dim_value"):
            costs[node] = 0
        elif node.op == "cast" and Value(node) in summed and widens(node.operands[0].dtype, node.types[0].dtype):
            costs[node] = 0
        elif kind == "view" or kind == "elementwise" and (cost_of(node.op) == 1 or _is_quotient(node)):
            operands = [costs.get(v.node) for v in node.operands]
            total = (0 if kind == "view" else 1) + sum(cost or 0 for cost in operands)
            if None not in operands and total <= _FREE_COST:
                costs[node] = total
    return frozenset(costs)


def _sums(node: Node) -> bool:
    """Its terms may be integers that are wider than they are stored."""
    return node.op in _SUMS or node.op == "packed_convolution" and node.types[0].dtype == "i32"


def _is_quotient(node: Node) -> bool:
    """An integer divided by a positive constant: of an index, that is a floor division of the index."""
    if node.op != "div" or node.types[0].dtype not in ("i32", "i64"):
        return False
    divisor = node.operands[1].through(("broadcast", "reshape")).node
    width = 32 if node.types[0].dtype == "i32" else 64
    return divisor.op == "constant" and 0 < divisor.attrs["bits"] < 1 << (width - 1)
