# SPDX-License-Identifier: Apache-2.0
"""Lowering of cond, while and scan: their bodies are lowered where they stand, as branches and loops of items.

A carry lives in one buffer. An iteration computes its new value elsewhere and copies it there last, behind all that
reads the old one; fusion then writes it in place where each point needs only itself, and makes the two buffers change
places where not. The slice of an iteration and its part of a stacked result are plain addresses, with the iteration
as a symbol.
"""
from __future__ import annotations

from typing import Callable

from ..graph.ir import Node, Value
from .bodies import Body
from .program_ir import Branch, Element, Loop
from .lower_items import Items, label
from .placement import RegionPlaces
from .scalar_ir import Load, row_major


def lower_scan(low: Items, node: Node) -> None:
    (body,) = low.bodies[node]
    places = low.places.regions[node]
    carried = _start(low, node, body, places)
    for i in range(node.attrs["carries"], len(node.types)):
        low.buffer_of(Value(node, i))
    with low.within(places.iteration) as items:
        _body(low, body)
        _next(low, body, places)
    low.items.append(Loop(label(node), places.iteration, items, carried))
    _finish(low, node, places)


def lower_while(low: Items, node: Node) -> None:
    test, body = low.bodies[node]
    places = low.places.regions[node]
    carried = _start(low, node, body, places)
    assert places.condition is not None
    condition = low.buffer_at(places.condition).name
    with low.within() as before:
        _body(low, test)
    with low.within() as items:
        _body(low, body)
        _next(low, body, places)
    low.items.append(Loop(label(node), None, items, carried, before, condition))
    _finish(low, node, places)


def lower_cond(low: Items, node: Node) -> None:
    condition = low.read(node.operands[0], ())
    if not (isinstance(condition, Load) and not condition.dynamic and not condition.valid
            and not low.memory.buffers[condition.buffer].shape):
        condition = low.load_from(low.detach(node.operands[0]), ())
    sides: list[list[Element]] = []
    for body in low.bodies[node]:
        with low.within() as items:
            for i in range(len(node.types)):
                low.buffer_of(Value(node, i))
            _body(low, body)
        sides.append(items)
    low.items.append(Branch(label(node), condition.buffer, sides[0], sides[1]))


def _start(low: Items, node: Node, body: Body, places: RegionPlaces) -> tuple[str, ...]:
    """The carries' buffers, with what they hold before the first iteration."""
    for i, placement in places.carried.items():
        low.copy(node.operands[i], placement, "start")
    return tuple(low.buffer_at(placement).name for placement in places.carried.values())


def _body(low: Items, body: Body) -> None:
    """The body's items, and what of its results is copied to where it is wanted."""
    low.lower_nodes(body.function)
    for copy in low.places.copies[body.function]:
        low.copy(copy.value, copy.placement, "copy", copy.why)


def _next(low: Items, body: Body, places: RegionPlaces) -> None:
    """What the next iteration starts from: every new value is known before the first old one is overwritten."""
    staged = [(placement, low.detach(body.results[i], "next", row_major(body.results[i].shape)))
              for i, placement in places.carried.items() if i not in places.there]
    for placement, v in staged:
        low.copy(v, placement, "next")


def _finish(low: Items, node: Node, places: RegionPlaces) -> None:
    """The carries' last values are results."""
    for i, wanted in places.last.items():
        low.copy(low.known(Value(node, i), places.carried[i]), wanted, label(node))


REGIONS: dict[str, Callable[[Items, Node], None]] = {"scan": lower_scan, "while": lower_while, "cond": lower_cond}
