# SPDX-License-Identifier: Apache-2.0
"""The items of a function while they are made: what every lowering of a primitive is written with.

It reads what the steps before it made (bodies, facts, placements) and changes none of it. What it makes is a list of
items and their buffers.
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Callable, Iterator, Mapping

from ..graph.ir import Function, Loc, Node, Value
from ..graph.table import lowering_of
from ..symbolic import ZERO, Expr, Sym, sym, wrap
from .bodies import LoweringError, Opened
from .loop_ir import CheckKernel, Computation
from .program_ir import Element
from .lower_reading import Memory, Reader
from .placement import Placement, Placements, Refusal, temp, trace
from .predicates import Index
from .scalar_ir import Buffer, Const, Load, Scalar, row_major
from .scalars import Variables, dims_of
from .value_facts import ValueFacts


class Items:
    """plain: contractions are Reductions like others. any_order: kernels of contractions read second operands in
    whichever order they lie. lowerings: by primitive, what makes a node's items."""

    def __init__(self, opened: Opened, facts: ValueFacts, places: Placements, plain: bool, any_order: bool,
                 lowerings: Mapping[str, Callable[[Items, Node], None]]):
        self.bodies, self.facts, self.places = opened.bodies, facts, places
        self.plain, self.any_order, self.lowerings = plain, any_order, lowerings
        self.memory = Memory(opened.function.name)
        self.reader = Reader(facts, places, self.memory)
        self.read = self.reader.read
        self.vars = Variables()
        self.items: list[Element] = []
        self.lists: dict[Function, list[Element]] = {}     # that of each function that is being lowered
        self.current = opened.function
        self.first_checks: list[CheckKernel] = []
        # of the regions around what is being lowered, None of a while or a branch
        self.iterations: list[Sym | None] = []
        self.checked: set[tuple[Any, ...]] = set()
        self.stored_views: dict[Value, Value] = {}

    # -- lists ----------------------------------------------------------------------------------------------------
    def lower_nodes(self, function: Function) -> None:
        """The items of the function's nodes, in order, and the copies of results that are computed elsewhere."""
        around, self.current = self.current, function
        self.lists[function] = self.items
        for node in reversed(function.nodes):
            if node.op in ("concat", "scatter"):
                self.buffer_of(Value(node))    # wholes are named before their parts
        for node in function.nodes:
            if node in self.places.padded:
                self.lower_border(node)
            elif not self.facts.is_view(node):
                if node.op not in self.lowerings:
                    raise LoweringError(f"{node.loc}: {node.op} has no lowering")
                self.lowerings[node.op](self, node)
        self.current = around

    @contextmanager
    def within(self, iteration: Sym | None = None) -> Iterator[list[Element]]:
        """What is lowered within goes to a list of its own. iteration: that of a scan, None where it may not run at
        all."""
        around, self.items = self.items, []
        self.iterations.append(iteration)
        yield self.items
        self.iterations.pop()
        self.items = around

    # -- buffers --------------------------------------------------------------------------------------------------
    def buffer_at(self, placement: Placement) -> Buffer:
        return self.memory.of(placement.storage)

    def buffer_of(self, v: Value) -> Buffer:
        """The buffer that v is computed into."""
        return self.buffer_at(self.places.of[v])

    def temp(self, v: Value, order: tuple[int, ...] | None = None) -> Placement:
        """A new temp for values like v. order: instead of the one chosen for v."""
        return temp(v, self.facts.order(v) if order is None else order)

    def known(self, v: Value, placement: Placement) -> Value:
        """A value like v, and equal to it, that stands there: only these items know it."""
        copied = Value(Node("copy", (v,), {}, (v.type,), v.node.loc, v.node.scope))
        self.reader.of[copied] = placement
        return copied

    # -- values in memory -----------------------------------------------------------------------------------------
    def load(self, v: Value, index: Index, filled: bool = False) -> Load:
        """As `read`, for places where only a Load will do: anything else is computed into a temp first. filled: what
        stands for elements that are not there may be any number, not 0 alone."""
        element = self.read(v, index)
        if isinstance(element, Load) and not element.dynamic and (filled or element.other in (None, Const(v.dtype, 0))):
            return element
        return self.load_from(self.detach(v), index)

    def load_from(self, v: Value, index: Index) -> Load:
        """An element of a value that stands in a buffer."""
        element = self.read(v, index)
        assert isinstance(element, Load)
        return element

    def detach(self, v: Value, label: str = "materialize", order: tuple[int, ...] | None = None) -> Value:
        """v computed into a buffer of its own, with no view between, before the loops that v does not change in. order:
        of the buffer, where it is not the one chosen for v."""
        placement = self.temp(v, order)
        owner, here = self.facts.owner.get(v.node), self.items
        self.items = self.lists.get(owner, here) if owner is not None else here
        self.copy(v, placement, label)
        self.items = here
        return self.known(v, placement)

    def stored(self, v: Value) -> Value:
        """v, or where v is a view its elements in a buffer of their own: what is packed is packed once."""
        if lowering_of(v.node.op) == "view":
            if v not in self.stored_views:
                self.stored_views[v] = self.detach(v, "pack")
            return self.stored_views[v]
        return v

    def whole(self, v: Value) -> Buffer:
        """A row-major buffer that is v: the one that it stands in, or a copy."""
        _, index = self.vars.space(v.shape)
        element = self.read(v, index)
        if isinstance(element, Load) and not element.valid and not element.dynamic and element.index == index:
            buffer = self.memory.buffers[element.buffer]
            if buffer.shape == v.shape and buffer.order == row_major(v.shape) and buffer.kind != "state":
                return buffer
        return self.buffer_at(self.reader.of[self.detach(v, order=row_major(v.shape))])

    # -- items ----------------------------------------------------------------------------------------------------
    def copy(self, v: Value, placement: Placement, label: str, why: Refusal | None = None) -> None:
        buffer = self.buffer_at(placement)
        variables, index = self.vars.space(v.shape)
        place, value = placement.index(index), self.read(v, index)
        self.items.append(Computation(buffer.name, variables, place, value, label, source(v.node),
                                      copy=self.reason(why) if why is not None else ""))

    def reason(self, why: Refusal) -> str:
        """In words, with the buffer that it names."""
        return why.reason if why.overwritten is None else why.reason.format(self.memory.of(why.overwritten).name)

    def compute(self, node: Node, variables: tuple[Sym, ...], index: Index, value: Scalar,
                window: bool = False) -> None:
        """The value of the node's result at every point, where it is placed."""
        placement = self.places.of[Value(node)]
        self.items.append(Computation(self.buffer_at(placement).name, variables, placement.index(index), value,
                                      label(node), source(node), window))

    def write_slice(self, node: Node, position: int, start: Index) -> None:
        """Copies an operand to its slice of the node's result, unless it was computed there."""
        why = self.places.parts.get((node, position), _IN_TURN)
        if why is not None:
            part = self.places.of[Value(node)].slice(start)
            self.copy(node.operands[position], part, label(node), why)

    def lower_border(self, node: Node) -> None:
        """What a pad puts around its operand, which is computed in its place."""
        x, value = node.operands
        placement, low, high = self.places.of[Value(node)], node.attrs["low"], node.attrs["high"]
        for d in range(len(x.shape)):
            for size, at in ((low[d], ZERO), (high[d], low[d] + x.shape[d])):
                if size == ZERO:
                    continue
                shape = (*x.shape[:d], size, *node.types[0].shape[d + 1:])
                part = placement.slice((*low[:d], at, *(ZERO for _ in shape[d + 1:])))
                variables, index = self.vars.space(shape)
                self.items.append(Computation(self.buffer_at(part).name, variables, part.index(index),
                                              self.read(value, ()), label(node), source(node)))

    def check(self, node: Node, i: Value, bound: Expr) -> Value:
        """Makes sure that a check of every element of i runs before its reader; the value to read indices from."""
        base, _ = trace(i)
        whole = self.walked(base)
        if base not in self.reader.of and base.node.op not in ("packed", "weight", "state") and whole is None:
            base = i = self.detach(i)
        buffer = self.memory.buffers[self.load_from(base, tuple(ZERO for _ in base.shape)).buffer]
        if buffer.shape != (whole or base).shape:
            i = self.detach(i)
            buffer = self.buffer_at(self.reader.of[i])
        first = buffer.kind in ("input", "packed") and None not in self.iterations
        key = (buffer.name, bound, None if first else self.current)
        if key not in self.checked:
            self.checked.add(key)
            dims = dims_of(bound, *buffer.shape)
            kernel = CheckKernel(f"{label(node)} indices", buffer, bound, (buffer,), dims, source(node))
            (self.first_checks if first else self.items).append(kernel)
        return i

    def walked(self, v: Value) -> Value | None:
        """What a scan walks whose slice v is, where it is an input or packed: all of it is looked at in advance."""
        while v in self.places.slices:
            v = self.places.slices[v][0]
            if v.node.op == "packed" or v in self.places.of and self.places.of[v].storage.kind == "input":
                return v if None not in self.iterations else None
        return None

    def window(self, kind: str, position: int, size: int) -> tuple[Expr, Sym | None]:
        if size == 1:
            return ZERO, None
        s = self.vars.get(kind, position, wrap(size))
        return sym(s), s


_IN_TURN = Refusal("slices of one value are written in turn")

# What primitives that are several operations are called: by `op`, and of those that have names of their own.
_OF_KIND = {"reduce": "reduce_{}", "reduce_where": "reduce_{}_where", "arg_reduce": "arg{}",
            "window_reduce": "window_{}", "cumulative": "cum{}", "scatter": "scatter_{}"}
_OF_KINDS = {("scatter", "set"): "scatter"}


def label(node: Node) -> str:
    """The innermost operation that made the node: the user's own scopes (those without a number) tell where it stands
    in the model, and equal kernels of several places must have equal texts."""
    named = [part for part in node.scope.split("/") if "#" in part]
    if named:
        return named[-1].split("#", 1)[0]
    how = node.attrs.get("op", "")
    return _OF_KINDS.get((node.op, how)) or _OF_KIND.get(node.op, node.op.removeprefix("packed_")).format(how)


def source(node: Node) -> Loc | None:
    """Where the node stands in the model, with the user's own scopes."""
    scopes = ".".join(part for part in node.scope.split("/") if part and "#" not in part)
    return replace(node.loc, scope=scopes) if node.loc is not None else None
