# SPDX-License-Identifier: Apache-2.0
"""Where lowering computes values: chosen for a whole function before the first item is made.

A *placement* is storage and a map from the value's logical index to the storage's. The storage is an output where the
value is a result (also through reshapes and transposes). It is a slice of a concatenation or of a state that is updated
in place. Otherwise it is a temp of its own. A carry of a loop lives in a temp of its own, too.
"""
from __future__ import annotations

from dataclasses import field
from typing import Callable, Iterator, Mapping

from ..graph.ir import Function, Module, Node, Value
from ..records import dataclass
from ..symbolic import ZERO, Expr, Sym, is_nonnegative, sym, wrap
from .bodies import Body, Opened
from .predicates import Index
from .scalar_ir import row_major
from .scalars import reshaped
from .value_facts import ValueFacts


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """What becomes a buffer. name: "" of a temp, which is named when an item needs it. kind, order: as of a Buffer."""

    kind: str
    name: str
    dtype: str
    shape: Index
    order: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Placement:
    """final: what is written there stays; otherwise it is overwritten, and only the node that does so may read it. own:
    the storage is a temp of the value alone, as nothing else was chosen."""

    storage: Storage
    index: Callable[[Index], Index] = lambda index: index
    final: bool = True
    own: bool = False

    def within(self, index_map: Callable[[Index], Index], final: bool = True) -> Placement:
        """The placement of a value whose element at an index is that at index_map(index) of what lives here."""
        return Placement(self.storage, lambda index: self.index(index_map(index)), self.final and final)

    def slice(self, start: Index, final: bool = True) -> Placement:
        """The placement of a slice that begins at `start`."""
        return self.within(lambda index: tuple(i + s for i, s in zip(index, start, strict=True)), final)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value is copied to where it is needed. overwritten: the storage that the reason names, None for most."""

    reason: str
    overwritten: Storage | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """A value that is copied to a placement, and why it is not computed there."""

    value: Value
    placement: Placement
    why: Refusal


@dataclass(frozen=True, slots=True)
class RegionPlaces:
    """Of a scan, while or cond. carried: where carries live, by position. there: carries whose new value is written
    where the old one stands. last: results that stand elsewhere than in their carry, by position. iteration: of a scan.
    condition: of a while, where its test leaves it."""

    carried: Mapping[int, Placement] = field(default_factory=dict)
    there: frozenset[int] = frozenset()
    last: Mapping[int, Placement] = field(default_factory=dict)
    iteration: Sym | None = None
    condition: Placement | None = None


DEFERRED = Refusal("an index that may be out of range depends on it")


@dataclass(frozen=True, slots=True)
class Placements:
    """of: by value, for each that is computed into memory. inputs, outputs, states: what buffers there are from
    outside, states as far as they are assigned. copies: by function, the results that are copied when its nodes have
    run; assigned: the same of states. in_place: nodes that write parts of their first operand where that stands.
    padded: pads whose operand is computed inside them. parts: by node and position, whether an operand is computed in
    its slice of the node's result, None, or why not. slices: parameters of scans, as what is walked and the
    iteration."""

    of: dict[Value, Placement] = field(default_factory=dict)
    inputs: list[Storage] = field(default_factory=list)
    outputs: list[Storage] = field(default_factory=list)
    states: list[Storage] = field(default_factory=list)
    copies: dict[Function, list[Copy]] = field(default_factory=dict)
    assigned: list[Copy] = field(default_factory=list)
    in_place: set[Node] = field(default_factory=set)
    padded: set[Node] = field(default_factory=set)
    parts: dict[tuple[Node, int], Refusal | None] = field(default_factory=dict)
    slices: dict[Value, tuple[Value, Sym]] = field(default_factory=dict)
    regions: dict[Node, RegionPlaces] = field(default_factory=dict)


def place(opened: Opened, facts: ValueFacts, module: Module, deferred: frozenset[str] = frozenset()) -> Placements:
    """deferred: outputs and states that are copied at the end, as an index is computed from them."""
    return _Placing(opened, facts, module, deferred).run()


def temp(v: Value, order: tuple[int, ...] | None = None) -> Placement:
    """A new temp for v alone. order: None for row-major."""
    return Placement(Storage("temp", "", v.dtype, v.shape, order or row_major(v.shape)), own=True)


def trace(v: Value) -> tuple[Value, Callable[[Index], Index]]:
    """(base, at): v is reshapes and transposes of `base`; `at` maps an index of base to that of v."""
    steps = [x.node for x in _views(v)][:-1]
    base = steps[-1].operands[0] if steps else v

    def at(index: Index) -> Index:
        for node in reversed(steps):
            if node.op == "transpose":
                index = tuple(index[p] for p in node.attrs["perm"])
            elif node.op == "reshape":
                index = reshaped(index, node.operands[0].shape, node.types[0].shape)
        return index
    return base, at


def _views(v: Value) -> Iterator[Value]:
    """v, what it is a reshape or transpose of, and so on to the first that is none."""
    yield v
    while v.node.op in ("reshape", "transpose", "ordered"):
        v = v.node.operands[0]
        yield v


class _Placing:
    """made: what is chosen so far. A value that is computed before another one is looked at has a placement by then;
    so the nodes are walked in their order, and those of a body where its region stands."""

    def __init__(self, opened: Opened, facts: ValueFacts, module: Module, deferred: frozenset[str]):
        self.function, self.bodies, self.facts = opened.function, opened.bodies, facts
        self.module, self.deferred = module, deferred
        self.made = Placements()
        self.depth = 0    # of scans around
        self.iterations: dict[tuple[int, Expr], Sym] = {}

    def run(self) -> Placements:
        f, made = self.function, self.made
        for p in f.parameters:
            made.inputs.append(_named("input", p.attrs["name"], Value(p)))
            made.of[Value(p)] = Placement(made.inputs[-1])
        made.copies[f] = self.place_results()
        made.assigned.extend(self.place_states())
        self.place_nodes(f)
        return made

    # -- nodes ----------------------------------------------------------------------------------------------------
    def place_nodes(self, function: Function) -> None:
        """The function's nodes, once placements are chosen for its results: wholes before their parts, so from the last
        one back, then what is left."""
        for node in reversed(function.nodes):
            if node.op == "concat":
                self.place_concat(node)
            elif node.op == "scatter":
                self.place_scatter(node)
        for node in function.nodes:
            if node.op in ("scan", "while", "cond"):
                self.made.regions[node] = _REGIONS[node.op](self, node)
            elif node.op == "extern_call":
                for i in range(len(node.types)):
                    self.made.of.setdefault(Value(node, i), temp(Value(node, i)))
            elif not self.facts.is_view(node):
                for i in range(len(node.types)):
                    self.placement_of(Value(node, i))

    def placement_of(self, v: Value) -> Placement:
        """Where v is computed: a temp of its own, unless a place was chosen."""
        placement = self.made.of.get(v)
        if placement is None:
            placement = self.made.of[v] = temp(v, self.facts.order(v))
        return placement

    def place(self, v: Value, placement: Placement, function: Function) -> Refusal | None:
        """Has v computed in `placement`, if a node of the function computes it; else the reason why it is copied."""
        base, at = trace(v)
        node, there = base.node, placement.within(at)
        if base in self.made.of:
            storage = self.made.of[base].storage
            return Refusal(f"it is {storage}" if storage.name else "it stands in another buffer")
        if node.op in ("weight", "packed", "state"):
            return Refusal(f"it is {node.op} {node.attrs['name']}")
        if node in self.facts.free:
            return Refusal("its elements are known where they are read")
        if self.facts.owner.get(node) is not function:
            return Refusal("it is computed outside of the loop or branch")
        if not placement.final and any(self.facts.uses[x] > 1 for x in _views(v)):
            return Refusal("others read what {} overwrites", placement.storage)
        if node.op == "pad":
            if not all(n == ZERO or is_nonnegative(n - 1) for n in (*node.attrs["low"], *node.attrs["high"])):
                return Refusal("its border may have no elements")
            refusal = self.place(node.operands[0], there.slice(node.attrs["low"]), function)
            if refusal is not None:
                return refusal
            self.made.padded.add(node)
        elif self.facts.is_view(node):
            return Refusal(f"it is a {node.op} of what stands elsewhere")
        self.made.of[base] = there
        return None

    def place_results(self) -> list[Copy]:
        """Chooses the outputs; those of them that are copied."""
        copies = []
        for name, v, _ in self.function.results:
            out = _named("output", name, v)
            self.made.outputs.append(out)
            refusal = DEFERRED if name in self.deferred else self.place(v, Placement(out), self.function)
            if refusal is not None:
                copies.append(Copy(v, Placement(out), refusal))
        return copies

    def place_states(self) -> list[Copy]:
        """Chains of update_slice on a state that nobody else reads write into it; others are copied at the end."""
        readers: dict[str, int] = {}
        for node in self.facts.owner:
            if node.op == "state":
                name = node.attrs["name"]
                readers[name] = readers.get(name, 0) + self.facts.uses[Value(node)]
        copies = []
        for name, v, _ in self.function.assigns:
            kind = self.module.states[name].type
            state = Storage("state", name, kind.dtype, kind.shape, row_major(kind.shape))
            self.made.states.append(state)
            nodes, at = self.chain(v)
            own = nodes and at.node.op == "state" and at.node.attrs["name"] == name
            refusal = DEFERRED if name in self.deferred else \
                Refusal("it is no part of what was there") if not own else \
                Refusal("others read what was there") if readers[name] != 1 else \
                Refusal("it is a result as well") if v in self.made.of else None
            if refusal is not None:
                copies.append(Copy(v, Placement(state), refusal))
            else:
                self.write_through(nodes, state)
        return copies

    def chain(self, v: Value) -> tuple[list[Node], Value]:
        """(nodes, base): v is what the nodes, the last one first, make of base by writing parts of it, and nothing else
        reads what is between."""
        nodes, at = [], v
        while at.node.op in ("update_slice", "scatter") and (at == v or self.facts.uses[at] == 1):
            nodes.append(at.node)
            at = at.node.operands[0]
        return nodes, at

    def write_through(self, nodes: list[Node], storage: Storage) -> None:
        """The nodes write into the storage, which holds their base. What an only one writes is computed there: of
        several, which may overlap, each writes in its order."""
        for node in nodes:
            self.made.in_place.add(node)
            self.made.of[Value(node)] = Placement(storage)
            if node.op == "update_slice" and len(nodes) == 1:
                self.place_slice(node, 1, Placement(storage).slice(node.attrs["start"], final=False))

    def place_concat(self, node: Node) -> None:
        """Has the parts computed where they stand in the whole, others that read them too."""
        v, axis = Value(node), node.attrs["axis"]
        placement, at = self.placement_of(v), ZERO
        for position, operand in enumerate(node.operands):
            self.place_slice(node, position, placement.slice(tuple(at if d == axis else ZERO
                                                                   for d in range(len(v.shape)))))
            at = at + operand.shape[axis]

    def place_scatter(self, node: Node) -> None:
        """Has what the scatter changes computed where its result is."""
        self.place_slice(node, 0, self.placement_of(Value(node)).slice(tuple(ZERO for _ in node.types[0].shape),
                                                                       final=False))

    def place_slice(self, node: Node, position: int, placement: Placement) -> None:
        """Has operand `position` of the node computed in `placement`, its slice of a larger value."""
        v, storage = node.operands[position], placement.storage
        base, _ = trace(v)
        if self.facts.uses[v] > 1 or self.facts.uses[base] > 1:   # others walk it in the order that was chosen for them
            order = self.facts.order(base)
            if order != (storage.order if len(order) == len(storage.shape) else row_major(base.shape)) \
                    or storage.order != row_major(storage.shape) and base != v:
                self.made.parts[node, position] = Refusal("its other readers want another order")
                return
        self.made.parts[node, position] = self.place(v, placement, self.facts.owner[node])

    # -- regions --------------------------------------------------------------------------------------------------
    def scan(self, node: Node) -> RegionPlaces:
        (body,) = self.bodies[node]
        iteration, count = self.iteration(node.attrs["length"][0]), node.attrs["carries"]
        carried = self.carries(body)
        for p, operand in body.slices:
            self.made.slices[p] = (operand, iteration)
        stacked = {i: self.placement_of(Value(node, i)).within(lambda index: (sym(iteration), *index))
                   for i in range(count, len(node.types))}
        self.depth += 1
        there = self.overwritten(body, carried)
        self.place_body(body, stacked)
        self.depth -= 1
        return RegionPlaces(carried, there, self.last(node, carried), iteration)

    def while_(self, node: Node) -> RegionPlaces:
        test, body = self.bodies[node]
        carried = self.carries(body)
        self.made.of.update({p: carried[i] for i, p in test.carried})
        condition = temp(test.results[0])
        self.place_body(test, {0: condition})
        there = self.overwritten(body, carried)
        self.place_body(body, {})
        return RegionPlaces(carried, there, self.last(node, carried), condition=condition)

    def cond(self, node: Node) -> RegionPlaces:
        for body in self.bodies[node]:
            self.place_body(body, {i: self.placement_of(Value(node, i)) for i in range(len(node.types))})
        return RegionPlaces()

    def iteration(self, count: Expr) -> Sym:
        """The symbol of a loop here: loops of one depth and count share it, so that their kernels may be equal."""
        if (self.depth, count) not in self.iterations:
            name = f"t{self.depth}"
            while name in self.module.dims:
                name += "_"
            self.iterations[self.depth, count] = Sym(name, 0, wrap(count) - 1, is_dim=True)
        return self.iterations[self.depth, count]

    def carries(self, body: Body) -> dict[int, Placement]:
        """Where the carries live, by position."""
        carried = {i: temp(p) for i, p in body.carried}
        self.made.of.update({p: carried[i] for i, p in body.carried})
        return carried

    def overwritten(self, body: Body, carried: Mapping[int, Placement]) -> frozenset[int]:
        """The carries of which an iteration writes parts (a cache that grows), where they stand."""
        return frozenset(i for i, p in body.carried
                         if self.place_carry(body.results[i], p, carried[i].storage, body.function))

    def place_carry(self, v: Value, base: Value, storage: Storage, function: Function) -> bool:
        """Has v, what an iteration makes of the carry `base`, written there part by part where nothing else reads the
        carry."""
        nodes, at = self.chain(v)
        if not nodes or at != base or self.facts.uses[base] != 1 or v in self.made.of \
                or any(self.facts.owner[node] is not function for node in nodes):
            return False
        self.write_through(nodes, storage)
        return True

    def place_body(self, body: Body, wanted: Mapping[int, Placement]) -> None:
        """wanted: where some of the body's results are computed, or copied to."""
        copies = self.made.copies[body.function] = []
        for i, placement in wanted.items():
            refusal = self.place(body.results[i], placement, body.function)
            if refusal is not None:
                copies.append(Copy(body.results[i], placement, refusal))
        self.place_nodes(body.function)

    def last(self, node: Node, carried: Mapping[int, Placement]) -> dict[int, Placement]:
        """The results that stand elsewhere than in their carry; the others stand there."""
        elsewhere = {i: self.made.of[Value(node, i)] for i in carried if Value(node, i) in self.made.of}
        self.made.of.update({Value(node, i): placement for i, placement in carried.items() if i not in elsewhere})
        return elsewhere


def _named(kind: str, name: str, v: Value) -> Storage:
    return Storage(kind, name, v.dtype, v.shape, row_major(v.shape))


_REGIONS: dict[str, Callable[[_Placing, Node], RegionPlaces]] = {
    "scan": _Placing.scan, "while": _Placing.while_, "cond": _Placing.cond}
