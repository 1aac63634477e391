# SPDX-License-Identifier: Apache-2.0
"""Where lowering computes values.

A *placement* is a buffer and a map from the value's logical index to the buffer's. The buffer is an output where the
value is a result (also through reshapes and transposes). It is a slice of a concatenation or of a state that is updated
in place. Otherwise it is a temp of its own.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Iterator

from ..graph.ir import Function, Node, Value
from ..symbolic import ZERO, is_nonnegative
from .predicates import Index
from .scalar_ir import Buffer, row_major
from .scalars import reshaped

if TYPE_CHECKING:
    from .lower import Lowering


@dataclass(slots=True)
class Placement:
    """final: what is written there stays; otherwise it is overwritten, and only the node that does so may read it."""

    buffer: Buffer
    index: Callable[[Index], Index]
    final: bool = True

    def within(self, index_map: Callable[[Index], Index], final: bool = True) -> Placement:
        """The placement of a value whose element at an index is that at index_map(index) of what lives here."""
        return Placement(self.buffer, lambda index: self.index(index_map(index)), self.final and final)

    def slice(self, start: Index, final: bool = True) -> Placement:
        """The placement of a slice that begins at `start`."""
        return self.within(lambda index: tuple(i + s for i, s in zip(index, start, strict=True)), final)


DEFERRED = "an index that may be out of range depends on it"
Copies = list[tuple[Buffer, Value, str]]    # what is copied into a buffer, and why it is not computed there


def place_results(low: Lowering) -> tuple[list[Buffer], Copies]:
    """The outputs, and those of them that are copied."""
    outputs, copies = [], []
    for name, v, _ in low.function.results:
        out = low.buffer(name, v.dtype, v.shape, "output")
        outputs.append(out)
        reason = DEFERRED if name in low.deferred else place(low, v, low.placement_in(out), low.function)
        if reason:
            copies.append((out, v, reason))
    return outputs, copies


def place(low: Lowering, v: Value, placement: Placement, function: Function) -> str:
    """Has v computed in `placement`, if a node of the function computes it; the reason why it must be copied, or ""."""
    base, at = trace(v)
    node, there = base.node, placement.within(at)
    if base in low.placements:
        b = low.placements[base].buffer
        return f"it is {b.kind} {b.name}" if b.kind != "temp" else "it stands in another buffer"
    if node.op in ("weight", "packed", "state"):
        return f"it is {node.op} {node.attrs['name']}"
    if node in low.free:
        return "its elements are known where they are read"
    if low.owner.get(node) is not function:
        return "it is computed outside of the loop or branch"
    if not placement.final and any(low.uses[x] > 1 for x in _views(v)):
        return f"others read what {placement.buffer.name} overwrites"
    if node.op == "pad":
        if not all(n == ZERO or is_nonnegative(n - 1) for n in (*node.attrs["low"], *node.attrs["high"])):
            return "its border may have no elements"
        reason = place(low, node.operands[0], there.slice(node.attrs["low"]), function)
        if reason:
            return reason
        low.padded.add(node)
    elif low.is_view(node):
        return f"it is a {node.op} of what stands elsewhere"
    low.placements[base] = there
    return ""


def _views(v: Value) -> Iterator[Value]:
    """v, what it is a reshape or transpose of, and so on to the first that is none."""
    yield v
    while v.node.op in ("reshape", "transpose"):
        v = v.node.operands[0]
        yield v


def trace(v: Value) -> tuple[Value, Callable[[Index], Index]]:
    """(base, at): v is reshapes and transposes of `base`; `at` maps an index of base to that of v."""
    steps = [x.node for x in _views(v)][:-1]
    base = steps[-1].operands[0] if steps else v

    def at(index: Index) -> Index:
        for node in reversed(steps):
            if node.op == "transpose":
                index = tuple(index[p] for p in node.attrs["perm"])
            else:
                index = reshaped(index, node.operands[0].shape, node.types[0].shape)
        return index
    return base, at


def place_states(low: Lowering) -> Copies:
    """Chains of update_slice on a state that nobody else reads write into it; others are copied at the end."""
    readers: dict[str, int] = {}
    for node in low.owner:
        if node.op == "state":
            name = node.attrs["name"]
            readers[name] = readers.get(name, 0) + low.uses.get(Value(node), 0)
    copies = []
    for name, v, _ in low.function.assigns:
        kind = low.module.states[name].type
        state = low.buffer(name, kind.dtype, kind.shape, "state")
        nodes, at = chain(low, v)
        own = nodes and at.node.op == "state" and at.node.attrs["name"] == name
        reason = DEFERRED if name in low.deferred else "it is no part of what was there" if not own else \
            "others read what was there" if readers[name] != 1 else \
            "it is a result as well" if v in low.placements else ""
        if reason:
            copies.append((state, v, reason))
        else:
            write_through(low, nodes, state)
    return copies


def chain(low: Lowering, v: Value) -> tuple[list[Node], Value]:
    """(nodes, base): v is what the nodes, the last one first, make of base by writing parts of it, and nothing else
    reads what is between."""
    nodes, at = [], v
    while at.node.op in ("update_slice", "scatter") and (at is v or at == v or low.uses[at] == 1):
        nodes.append(at.node)
        at = at.node.operands[0]
    return nodes, at


def write_through(low: Lowering, nodes: list[Node], buffer: Buffer) -> None:
    """The nodes write into the buffer, which holds their base. What an only one writes is computed there: of several,
    which may overlap, each writes in its order."""
    for node in nodes:
        low.in_place.add(node)
        low.placements[Value(node)] = low.placement_in(buffer)
        if node.op == "update_slice" and len(nodes) == 1:
            place_slice(low, node, 1, low.placement_in(buffer).slice(node.attrs["start"], final=False))


def place_carry(low: Lowering, v: Value, base: Value, buffer: Buffer, function: Function) -> bool:
    """Has v, what an iteration makes of the carry `base` in `buffer`, written there part by part where nothing else
    reads the carry."""
    nodes, at = chain(low, v)
    if not nodes or at != base or low.uses[base] != 1 or v in low.placements \
            or any(low.owner[node] is not function for node in nodes):
        return False
    write_through(low, nodes, buffer)
    return True


def place_concat(low: Lowering, node: Node) -> None:
    """Has the parts computed where they stand in the whole, others that read them too."""
    v, axis = Value(node), node.attrs["axis"]
    placement, at = low.placement_of(v), ZERO
    for position, operand in enumerate(node.operands):
        place_slice(low, node, position, placement.slice(tuple(at if d == axis else ZERO for d in range(len(v.shape)))))
        at = at + operand.shape[axis]


def place_scatter(low: Lowering, node: Node) -> None:
    """Has what the scatter changes computed where its result is."""
    place_slice(low, node, 0,
                low.placement_of(Value(node)).slice(tuple(ZERO for _ in node.types[0].shape), final=False))


def place_slice(low: Lowering, node: Node, position: int, placement: Placement) -> None:
    """Has operand `position` of the node computed in `placement`, its slice of a larger value."""
    v = node.operands[position]
    base, _ = trace(v)
    reason = ""
    if low.uses[v] > 1 or low.uses[base] > 1:   # others walk it in the order that was chosen for them
        order = low.orders.get(base, row_major(base.shape))
        if order != (placement.buffer.order if len(order) == len(placement.buffer.shape) else row_major(base.shape)) \
                or placement.buffer.order != row_major(placement.buffer.shape) and base != v:
            reason = "its other readers want another order"
    low.placed[node, position] = reason or place(low, v, placement, low.owner[node])
