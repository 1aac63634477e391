# SPDX-License-Identifier: Apache-2.0
"""Where lowering computes values: a *home* is a buffer and a map from the value's logical index to the buffer's. A home
is an output where the value is a result (also through reshapes and transposes), a part of a concatenation, a part of a
state that is updated in place, or a temp of its own."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from ..graph.ir import Function, Node, Value
from ..symbolic import ZERO
from .guards import Index
from .ir import Buffer
from .scalars import reshaped

if TYPE_CHECKING:
    from .lower import Lowering


@dataclass(slots=True)
class Home:
    buffer: Buffer
    place: Callable[[Index], Index]


def place_results(low: Lowering) -> tuple[list[Buffer], list[tuple[Buffer, Value]]]:
    outputs, copies = [], []
    for name, v, _ in low.function.results:
        out = low.buffer(name, v.dtype, v.shape, "output")
        outputs.append(out)
        if not place_result(low, v, low.home_in(out), low.function):
            copies.append((out, v))
    return outputs, copies


def place_result(low: Lowering, v: Value, home: Home, function: Function) -> bool:
    """Has v, a result of the function, computed in `home`; False where it stands elsewhere and must be copied."""
    base, place = trace(v)
    if low.is_view(base.node) or base in low.homes or low.owner[base.node] is not function:
        return False
    low.homes[base] = Home(home.buffer, lambda index: home.place(place(index)))
    return True


def trace(v: Value) -> tuple[Value, Callable[[Index], Index]]:
    """(base, place): v is reshapes and transposes of `base`; `place` maps an index of base to that of v."""
    steps = []
    while v.node.op in ("reshape", "transpose"):
        steps.append(v.node)
        v = v.node.operands[0]

    def place(index: Index) -> Index:
        for node in reversed(steps):
            if node.op == "transpose":
                index = tuple(index[p] for p in node.attrs["perm"])
            else:
                index = reshaped(index, node.operands[0].shape, node.types[0].shape)
        return index
    return v, place


def place_states(low: Lowering) -> list[tuple[Buffer, Value]]:
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
        if not nodes or at.node.op != "state" or at.node.attrs["name"] != name or readers[name] != 1 \
                or v in low.homes:
            copies.append((state, v))
            continue
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
    which may overlap, each writes when its turn comes."""
    for node in nodes:
        low.in_place.add(node)
        low.homes[Value(node)] = low.home_in(buffer)
        if node.op == "update_slice" and len(nodes) == 1:
            place_part(low, node, node.operands[1], buffer, lambda index: index, node.attrs["start"])


def place_carry(low: Lowering, v: Value, base: Value, buffer: Buffer, function: Function) -> bool:
    """Has v, what a turn makes of the carry `base` in `buffer`, written there part by part where nothing else reads
    the carry."""
    nodes, at = chain(low, v)
    if not nodes or at != base or low.uses[base] != 1 or v in low.homes \
            or any(low.owner[node] is not function for node in nodes):
        return False
    write_through(low, nodes, buffer)
    return True


def place_concat(low: Lowering, node: Node) -> None:
    v, axis = Value(node), node.attrs["axis"]
    home = low.home_of(v)
    at = ZERO
    for operand in node.operands:
        start = tuple(at if d == axis else ZERO for d in range(len(v.shape)))
        place_part(low, node, operand, home.buffer, home.place, start)
        at = at + operand.shape[axis]


def place_part(low: Lowering, node: Node, v: Value, buffer: Buffer, outer: Callable[[Index], Index],
               start: Index) -> None:
    """Gives v, where its one reader is the node beside it that puts it at `start` of a larger value, its home
    there."""
    base, place = trace(v)
    walk = v
    while low.uses[walk] == 1 and walk != base:
        walk = walk.node.operands[0]
    if walk == base and low.uses[base] == 1 and base not in low.homes and not low.is_view(base.node) \
            and base.node.op != "concat" and low.owner[base.node] is low.owner[node]:
        low.homes[base] = Home(
            buffer, lambda index: outer(tuple(i + s for i, s in zip(place(index), start, strict=True))))
