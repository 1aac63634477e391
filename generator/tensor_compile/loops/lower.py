# SPDX-License-Identifier: Apache-2.0
"""Lowering: one function of graph nodes -> Computations, Contractions and checks over buffers.

Views (reshape, transpose, slice, broadcast, pad) and values that need no memory (constants, index arithmetic) become
index maps and predicates of whoever reads them. Every other node computes into its *placement* (placement.py). Results
that are something else already (an input, a constant, another result) are copied.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Callable

from ..graph.dtypes import widens
from ..graph.ir import Function, Loc, Module, Node, Value
from ..graph.table import cost_of, is_elementwise, lowering_of
from ..symbolic import ZERO, Expr, Sym, sym, wrap
from ..target import Target
from . import layout
from .empty import without_empty
from .faults import stored_early
from .predicates import Index, fold
from .placement import Placement, place_concat, place_results, place_scatter, place_states, trace
from .loop_ir import CheckKernel, Computation, Element
from .scalar_ir import Apply, Buffer, Const, Load, Scalar, row_major
from .lower_contractions import CONTRACTIONS
from .lower_indexing import INDEXING
from .lower_kernels import KERNELS
from .lower_reading import LEAVES, VIEWS
from .lower_regions import REGIONS, open_function
from .scalars import Variables, dims_of

LOWERINGS: dict[str, Callable[["Lowering", Node], None]] = {**KERNELS, **INDEXING, **CONTRACTIONS, **REGIONS}
_SUMS = frozenset(("dot", "convolution", "reduce", "window_reduce"))
_FREE_COST = 6  # operations on indices that are computed again rather than stored


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
    variables: Variables = field(default_factory=Variables)


def lower(function: Function, module: Module, target: Target, plain: bool = False) -> LoweredFunction:
    """Lowers a function without calls, after layout (and fold). Its state types come from the module. plain: every
    tensor is row-major and every contraction a Reduction like others (the reference; without layout)."""
    any_order = bool(target.narrow)
    lowered = Lowering(function, module, plain, any_order).run()
    deferred = stored_early(lowered.items, lowered.buffers)
    if deferred:
        lowered = Lowering(function, module, plain, any_order, deferred).run()
    lowered.items = without_empty(lowered.items, lowered.buffers)
    return lowered


def _sums(node: Node) -> bool:
    """Its terms may be integers that are wider than they are stored."""
    return node.op in _SUMS or node.op == "packed_convolution" and node.types[0].dtype == "i32"


class LoweringError(Exception):
    """What the loop IR cannot express; a bug of a pass or an unsupported primitive, with the node's location."""


class Lowering:
    """any_order: kernels of contractions read second operands in whichever order they lie. deferred: outputs and states
    that are copied at the end, as an index is computed from them."""

    def __init__(self, function: Function, module: Module, plain: bool, any_order: bool,
                 deferred: frozenset[str] = frozenset()):
        opened = open_function(function, module)
        self.function, self.module, self.plain, self.deferred = opened.function, module, plain, deferred
        self.bodies, self.functions = opened.bodies, opened.functions()
        self.owner = {node: f for f in self.functions for node in f.nodes}
        self.orders: dict[Value, tuple[int, ...]] = {}
        for f in self.functions if not plain else ():
            self.orders.update(layout.orders(f))
        self.any_order = any_order
        self.vars = Variables()
        self.buffers: dict[str, Buffer] = {}
        self.placements: dict[Value, Placement] = {}
        self.items: list[Element] = []
        self.lists: dict[Function, list[Element]] = {}     # that of each function that is being lowered
        self.current = self.function
        self.first_checks: list[CheckKernel] = []
        # of the regions around what is being lowered, None of a while or a branch
        self.iterations: list[Sym | None] = []
        self.iteration_of: dict[tuple[Any, ...], Sym] = {}
        self.slices: dict[Value, tuple[Value, Sym]] = {}   # parameters of scans: the operand and the iteration
        self.checked: set[tuple[Any, ...]] = set()
        self.free: dict[Node, int] = {}
        self.in_place: set[Node] = set()     # update_slice nodes that write into their state
        self.placed: dict[tuple[Node, int], str] = {}   # of parts: why they are not computed in the whole, or ""
        self.padded: set[Node] = set()       # pads that have a placement, in which their operand is computed
        self.detached: dict[Value, Value] = {}
        self.temps = 0
        self.uses: dict[Value, int] = {}
        self.summed: set[Value] = set()      # operands of sums, and of sums of products

    # -- buffers and placements ----------------------------------------------------------------------------------------
    def buffer(self, name: str, dtype: str, shape: Index, kind: str, order: tuple[int, ...] | None = None) -> Buffer:
        buffer = self.buffers.get(name)
        if buffer is None:
            buffer = Buffer(name, dtype, tuple(shape), row_major(shape) if order is None else order, kind)
            self.buffers[name] = buffer
        elif buffer.kind != kind:
            raise LoweringError(f"{self.function.name}: the name {name!r} is both {buffer.kind} and {kind}")
        return buffer

    def temp(self, v: Value, order: tuple[int, ...] | None = None) -> Buffer:
        """order: instead of the one chosen for v."""
        self.temps += 1
        return self.buffer(f"%{self.temps}", v.dtype, v.shape, "temp", self.orders.get(v) if order is None else order)

    def new_placement(self, v: Value) -> Placement:
        """A row-major temp for values like v."""
        return self.placement_in(self.temp(v, row_major(v.shape)))

    def placement_in(self, buffer: Buffer) -> Placement:
        return Placement(buffer, lambda index: index)

    def known(self, v: Value, buffer: Buffer) -> Value:
        """A value like v, and equal to it, that stands in a buffer: only this function knows it."""
        copied = Value(Node("copy", (v,), {}, (v.type,), v.node.loc, v.node.scope))
        self.placements[copied] = self.placement_in(buffer)
        return copied

    def iteration(self, count: Expr) -> Sym:
        """The symbol of a loop here: loops of one depth and count share it, so that their kernels may be equal."""
        depth = sum(t is not None for t in self.iterations)
        if (depth, count) not in self.iteration_of:
            taken = {s for s in self.module.dims}
            name = f"t{depth}"
            while name in taken:
                name += "_"
            self.iteration_of[depth, count] = Sym(name, 0, wrap(count) - 1, is_dim=True)
        return self.iteration_of[depth, count]

    def placement_of(self, v: Value) -> Placement:
        """Where v is computed: a temp, unless a place was chosen."""
        placement = self.placements.get(v)
        if placement is None:
            placement = self.placements[v] = Placement(self.temp(v), lambda index: index)
        return placement

    def run(self) -> LoweredFunction:
        f = self.function
        for g in self.functions:
            for v in [*(v for node in g.nodes for v in node.operands), *(v for _, v, _ in [*g.results, *g.assigns])]:
                self.uses[v] = self.uses.get(v, 0) + 1
            self.summed.update(v for node in g.nodes if _sums(node) for v in node.operands)
            if g is not f and g.assigns:
                raise LoweringError(f"{g.name}: a state is assigned within a loop or branch")
        inputs = [self.buffer(p.attrs["name"], p.types[0].dtype, p.types[0].shape, "input") for p in f.parameters]
        for p, b in zip(f.parameters, inputs):
            self.placements[Value(p)] = Placement(b, lambda index: index)
        for node in (node for g in self.functions for node in g.nodes):
            self.classify(node)
        outputs, copies = place_results(self)
        assigned = place_states(self)
        self.lower_nodes(f)
        for buffer, v, why in copies:
            self.copy(v, buffer, lambda index: index, f"copy of {buffer.name}", why)
        # every new value is known before the first state is overwritten: states may change places
        for buffer, v, why in [(buffer, self.detach(v), why) for buffer, v, why in assigned]:
            self.copy(v, buffer, lambda index: index, f"assign {buffer.name}", why)
        states = [b for b in self.buffers.values() if b.kind == "state"]
        dims: set[Sym] = set()
        for b in self.buffers.values():
            for d in b.shape:
                dims |= d.symbols()
        return LoweredFunction(f.name, self.buffers, self.first_checks + self.items, inputs, outputs, states,
                               tuple(sorted((s for s in dims if s.is_dim), key=lambda s: s.key)), self.vars)

    def lower_nodes(self, function: Function) -> None:
        """The function's nodes in order, once placements are chosen for its results."""
        around, self.current = self.current, function
        self.lists[function] = self.items
        for node in reversed(function.nodes):
            if node.op == "concat":
                place_concat(self, node)
            elif node.op == "scatter":
                place_scatter(self, node)
        for node in function.nodes:
            if node in self.padded:
                self.lower_border(node)
            elif not self.is_view(node):
                self.lower_node(node)
        self.current = around

    def classify(self, node: Node) -> None:
        """Records in `free` the values that need no memory: constants, cheap arithmetic on indices, and integers that a
        sum reads wider than they are stored."""
        kind = lowering_of(node.op)
        if node.op in ("constant", "iota", "dim_value"):
            self.free[node] = 0
        elif node.op == "cast" and Value(node) in self.summed and widens(node.operands[0].dtype, node.types[0].dtype):
            self.free[node] = 0
        elif kind == "view" or kind == "elementwise" and (cost_of(node.op) == 1 or self.is_quotient(node)):
            total = 0 if kind == "view" else 1
            for v in node.operands:
                operand = self.free.get(v.node)
                if operand is None:
                    return
                total += operand
            if total <= _FREE_COST:
                self.free[node] = total

    @staticmethod
    def is_quotient(node: Node) -> bool:
        """An integer divided by a positive constant: of an index, that is a floor division of the index."""
        if node.op != "div" or node.types[0].dtype not in ("i32", "i64"):
            return False
        divisor = node.operands[1].node
        while divisor.op in ("broadcast", "reshape"):
            divisor = divisor.operands[0].node
        width = 32 if node.types[0].dtype == "i32" else 64
        return divisor.op == "constant" and 0 < divisor.attrs["bits"] < 1 << (width - 1)

    def is_view(self, node: Node) -> bool:
        return lowering_of(node.op) in ("leaf", "view") or node in self.free

    # -- reading --------------------------------------------------------------------------------------------------
    def read(self, v: Value, index: Index, formula: int = 0) -> Scalar:
        """The element of v at `index`. formula: how many integer operations in a row are shown as what they compute
        rather than as the memory that they are stored in; for proofs, never for code."""
        placement = self.placements.get(v)
        shown = formula > 0 and is_elementwise(v.node.op) and v.dtype in ("i32", "i64")
        if placement is not None and not shown:
            return Load(placement.buffer.name, v.dtype, placement.index(index))
        if v in self.slices:
            operand, iteration = self.slices[v]
            return self.read(operand, (sym(iteration), *index))
        node = v.node
        if node.op in LEAVES:
            return LEAVES[node.op](self, v, index)
        if node.op in VIEWS:
            return VIEWS[node.op](self, v, index, formula)
        if node in self.free or shown:
            return fold(node.op, v.dtype, tuple(self.read(o, index, formula - 1) for o in node.operands))
        placement = self.placement_of(v)
        return Load(placement.buffer.name, v.dtype, index)

    def load(self, v: Value, index: Index, like: Node, filled: bool = False) -> Load:
        """As `read`, for places where only a Load will do: anything else is computed into a temp first. filled: what
        stands for elements that are not there may be any number, not 0 alone."""
        element = self.read(v, index)
        if isinstance(element, Load) and not element.dynamic and (filled or element.other in (None, Const(v.dtype, 0))):
            return element
        element = self.read(self.detach(v), index)
        assert isinstance(element, Load)
        return element

    def detach(self, v: Value, label: str = "materialize", order: tuple[int, ...] | None = None) -> Value:
        """v computed into a buffer of its own, with no view between, before the loops that v does not change in. order:
        of the buffer, where it is not the one chosen for v."""
        copied = self.known(v, self.temp(v, order))
        owner, here = self.owner.get(v.node), self.items
        self.items = self.lists.get(owner, here) if owner is not None else here
        self.copy(v, self.placements[copied].buffer, lambda index: index, label)
        self.items = here
        return copied

    def stored(self, v: Value) -> Value:
        """v, or where v is a view its elements in a buffer of their own: what is packed is packed once."""
        if lowering_of(v.node.op) == "view":
            if v not in self.detached:
                self.detached[v] = self.detach(v, "pack")
            return self.detached[v]
        return v

    def copy(self, v: Value, buffer: Buffer, place: Callable[[Index], Index], label: str, why: str = "") -> None:
        variables, index = self.vars.space(v.shape)
        self.items.append(Computation(buffer.name, variables, place(index), self.read(v, index), label,
                                      self.source(v.node), copy=why))

    # -- nodes ----------------------------------------------------------------------------------------------------
    def lower_node(self, node: Node) -> None:
        if is_elementwise(node.op):
            v = Value(node)
            variables, index = self.vars.space(v.shape)
            value = Apply(node.op, v.dtype, tuple(self.read(o, index) for o in node.operands))
            self.compute(node, variables, index, value)
        elif node.op in LOWERINGS:
            LOWERINGS[node.op](self, node)
        else:
            raise LoweringError(f"{node.loc}: {node.op} has no lowering")

    def compute(self, node: Node, variables: tuple[Sym, ...], index: Index, value: Scalar,
                window: bool = False) -> None:
        v = Value(node)
        placement = self.placement_of(v)
        self.items.append(Computation(placement.buffer.name, variables, placement.index(index), value, self.label(node),
                                      self.source(node), window))

    def write_slice(self, node: Node, position: int, placement: Placement, start: Index) -> None:
        """Copies an operand to its slice of `placement`, unless it was computed there."""
        why = self.placed.get((node, position), "slices of one value are written in turn")
        if why:
            part = placement.slice(start)
            self.copy(node.operands[position], part.buffer, part.index, self.label(node), why)

    def lower_border(self, node: Node) -> None:
        """What a pad puts around its operand, which is computed in its place."""
        x, value = node.operands
        placement, low, high = self.placements[Value(node)], node.attrs["low"], node.attrs["high"]
        for d in range(len(x.shape)):
            for size, at in ((low[d], ZERO), (high[d], low[d] + x.shape[d])):
                if size == ZERO:
                    continue
                shape = (*x.shape[:d], size, *node.types[0].shape[d + 1:])
                part = placement.slice((*low[:d], at, *(ZERO for _ in shape[d + 1:])))
                variables, index = self.vars.space(shape)
                self.items.append(Computation(part.buffer.name, variables, part.index(index), self.read(value, ()),
                                              self.label(node), self.source(node)))

    def check(self, node: Node, i: Value, bound: Expr) -> Value:
        """Makes sure that a check of every element of i runs before its reader; the value to read indices from."""
        base, _ = trace(i)
        whole = self.walked(base)
        if base not in self.placements and base.node.op not in ("packed", "weight", "state") and whole is None:
            base = i = self.detach(i)
        element = self.read(base, tuple(ZERO for _ in base.shape))
        assert isinstance(element, Load)
        buffer = self.buffers[element.buffer]
        if buffer.shape != (whole or base).shape:
            base = i = self.detach(i)
            buffer = self.placements[i].buffer
        first = buffer.kind in ("input", "packed") and None not in self.iterations
        key = (buffer.name, bound, None if first else self.current)
        if key not in self.checked:
            self.checked.add(key)
            dims = dims_of(bound, *buffer.shape)
            kernel = CheckKernel(f"{self.label(node)} indices", buffer, bound, (buffer,), dims, self.source(node))
            (self.first_checks if first else self.items).append(kernel)
        return i

    def walked(self, v: Value) -> Value | None:
        """What a scan walks whose slice v is, where it is an input or packed: all of it is looked at in advance."""
        while v in self.slices:
            v = self.slices[v][0]
            if v.node.op == "packed" or v in self.placements and self.placements[v].buffer.kind == "input":
                return v if None not in self.iterations else None
        return None

    def whole(self, v: Value) -> Buffer:
        """A row-major buffer that is v: the one that it stands in, or a copy."""
        _, index = self.vars.space(v.shape)
        element = self.read(v, index)
        if isinstance(element, Load) and not element.valid and not element.dynamic and element.index == index:
            buffer = self.buffers[element.buffer]
            if buffer.shape == v.shape and buffer.order == row_major(v.shape) and buffer.kind != "state":
                return buffer
        return self.placements[self.detach(v, order=row_major(v.shape))].buffer

    def window(self, kind: str, position: int, size: int) -> tuple[Expr, Sym | None]:
        if size == 1:
            return ZERO, None
        s = self.vars.get(kind, position, wrap(size))
        return sym(s), s

    @staticmethod
    def label(node: Node) -> str:
        """The innermost operation that made the node: the user's own scopes (those without a number) tell where it
        stands in the model, and equal kernels of several places must have equal texts."""
        named = [part for part in node.scope.split("/") if "#" in part]
        return named[-1].split("#", 1)[0] if named else node.op.removeprefix("packed_")

    @staticmethod
    def source(node: Node) -> Loc | None:
        """Where the node stands in the model, with the user's own scopes."""
        scopes = ".".join(part for part in node.scope.split("/") if part and "#" not in part)
        return replace(node.loc, scope=scopes) if node.loc is not None else None
