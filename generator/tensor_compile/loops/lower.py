# SPDX-License-Identifier: Apache-2.0
"""Lowering: one function of graph nodes -> Computations, Contractions and checks over buffers.

Views (reshape, transpose, slice, broadcast, pad) and values that need no memory (constants, index arithmetic) become
index maps and predicates of whoever reads them. Every other node computes into its *placement*. Results that are
something else already (an input, a constant, another result) are copied.

Each step makes a value that the next ones read: `open_function` gives loops and branches nodes of their own,
`value_facts` says what is known of every value, `place` where each is computed, `_items` what is computed there. The
last two run again where an index check needs outputs or states to be stored behind it (`stored_early`): only the items
tell which. `without_empty` takes out items of no element at the end.
"""
from __future__ import annotations

from typing import Callable

from ..graph.ir import Function, Module, Node, Value
from ..graph.table import PRIMITIVES, is_elementwise
from ..records import dataclass
from ..symbolic import Sym
from ..target import Target
from .bodies import Opened, open_function
from .empty import without_empty
from .faults import stored_early
from .program_ir import Element
from .lower_contractions import CONTRACTIONS
from .lower_indexing import INDEXING
from .lower_items import Items
from .lower_kernels import KERNELS
from .lower_regions import REGIONS
from .placement import Placements, place
from .scalar_ir import Apply, Buffer
from .scalars import dims_of
from .value_facts import ValueFacts, value_facts


@dataclass(slots=True)
class LoweredFunction:
    """`items` in an order in which they may run. Buffers by name; `outputs` and `inputs` in declaration order."""

    name: str
    buffers: dict[str, Buffer]
    items: list[Element]
    inputs: list[Buffer]
    outputs: list[Buffer]
    states: list[Buffer]
    dims: tuple[Sym, ...]


def lower(function: Function, module: Module, target: Target, plain: bool = False) -> LoweredFunction:
    """Lowers a function without calls, after layout (and fold). Its state types come from the module. plain: every
    tensor is row-major and every contraction a Reduction like others (the reference; without layout)."""
    opened = open_function(function, module)
    facts = value_facts(opened, plain)
    lowered = _items(opened, facts, place(opened, facts, module), plain, bool(target.narrow))
    deferred = stored_early(lowered.items, lowered.buffers)
    if deferred:
        places = place(opened, facts, module, deferred)
        lowered = _items(opened, facts, places, plain, bool(target.narrow))
    lowered.items = without_empty(lowered.items, lowered.buffers)
    return lowered


def _items(opened: Opened, facts: ValueFacts, places: Placements, plain: bool, any_order: bool) -> LoweredFunction:
    """plain, any_order: as of Items."""
    low = Items(opened, facts, places, plain, any_order, _ALL)
    for storage in (*places.inputs, *places.outputs, *places.states):
        low.memory.of(storage)
    low.lower_nodes(opened.function)
    for copy in places.copies[opened.function]:
        low.copy(copy.value, copy.placement, f"copy of {copy.placement.storage.name}", copy.why)
    # every new value is known before the first state is overwritten: states may change places
    for copy, v in [(copy, low.detach(copy.value)) for copy in places.assigned]:
        low.copy(v, copy.placement, f"assign {copy.placement.storage.name}", copy.why)
    buffers = low.memory.buffers
    return LoweredFunction(opened.function.name, buffers, low.first_checks + low.items,
                           [low.memory.of(s) for s in places.inputs], [low.memory.of(s) for s in places.outputs],
                           [b for b in buffers.values() if b.kind == "state"],
                           dims_of(*(d for b in buffers.values() for d in b.shape)))


def _elementwise(low: Items, node: Node) -> None:
    v = Value(node)
    variables, index = low.vars.space(v.shape)
    low.compute(node, variables, index, Apply(node.op, v.dtype, tuple(low.read(o, index) for o in node.operands)))


LOWERINGS: dict[str, Callable[[Items, Node], None]] = {**KERNELS, **INDEXING, **CONTRACTIONS, **REGIONS}
_ALL = {**{op: _elementwise for op in PRIMITIVES if is_elementwise(op)}, **LOWERINGS}
