# SPDX-License-Identifier: Apache-2.0
"""Batch-norm into convolution: a multiply-add by constants of each channel moves into weights and bias.

After a convolution, or a dot with constant weights, a chain of additions, subtractions, products and quotients by
values that depend on weights alone and differ only by output channel is y = s*c + t. Where the chain multiplies,
and nobody else reads the values in between, it becomes contraction(x, W*s) + t, and s, t and W*s are left to fold.
This is the one pass that changes arithmetic (fewer roundings, other ones); it runs before numerics are fixed, on the
graph of all variants. Decided by structure alone: no region name is looked at.
"""
from __future__ import annotations

from typing import Any, Mapping

from .infer import Context
from .ir import Function, Node, TensorType, Value
from .rewrite import Builder, Values, only_readers
from .table import PRIMITIVES

_ONE, _MINUS_ONE = 0x3F800000, 0xBF800000
_LINKS = ("add", "sub", "mul", "div")


def absorb(function: Function) -> Function:
    """The function with scales and shifts of channels absorbed by the contractions before them."""
    readers, constant = only_readers(function), constants(function)
    inner: set[Node] = set()            # nodes that disappear into a later one
    # last node of a chain -> (contraction, weight operand, axis of it, links)
    ends: dict[Node, tuple[Any, ...]] = {}
    for node in function.nodes:
        found = _weights(node, constant)
        if found is None:
            continue
        links = _chain(node, found[2], readers, constant)
        if any(link.op in ("mul", "div") for link, _, _ in links):
            inner.add(node)
            inner.update(link for link, _, _ in links[:-1])
            ends[links[-1][0]] = (node, found[0], found[1], found[2], links)
    builder, values = Builder(function, Context()), Values()
    for node in function.nodes:
        if node in inner:
            continue
        if node in ends:
            values[Value(node)] = _absorbed(builder, values, node, *ends[node])
        else:
            values.bind(node, builder.again(node, values.all(node.operands)))
    return builder.finish(function, values.__getitem__)


def constants(function: Function) -> set[Node]:
    """Nodes that depend on weights and constants alone (what a called function reads is not looked into)."""
    found: set[Node] = set()
    for node in function.nodes:
        if node.op in ("weight", "constant") or (node.operands and not PRIMITIVES[node.op].graphs
                                                 and all(v.node in found for v in node.operands)):
            found.add(node)
    return found


def _weights(node: Node, constant: set[Node]) -> tuple[int, int, int] | None:
    """(operand that holds the weights, its axis of output channels, that axis of the result); None: no such node.

    Of a dot's weights the last free dim counts as the channels.
    """
    if node.types[0].dtype != "f32":
        return None
    if node.op == "convolution" and node.operands[1].node in constant:
        return 1, 0, 1
    if node.op != "dot":
        return None
    free = []
    for side, v in zip(("lhs", "rhs"), node.operands):
        used = (*node.attrs[f"{side}_batch"], *node.attrs[f"{side}_contract"])
        free.append([d for d in range(v.type.rank) if d not in used])
    for which in (1, 0):
        if node.operands[which].node in constant and free[which]:
            end = node.types[0].rank - (len(free[1]) if which == 0 else 0)
            return which, free[which][-1], end - 1
    return None


def _per_channel(value: Value, axis: int, constant: set[Node]) -> Value | None:
    """k of one dim where the value is k repeated along all axes but `axis`."""
    node = value.node
    if node not in constant or node.op not in ("broadcast", "reshape"):
        return None
    k = node.operands[0]
    if k.type.rank != 1 or k.shape[0] is not value.shape[axis]:
        return None
    if node.op == "broadcast":
        return k if node.attrs["axes"] == (axis,) else None
    return k if all(d == 1 for i, d in enumerate(value.shape) if i != axis) else None


def _chain(node: Node, axis: int, readers: Mapping[Value, Node], constant: set[Node]) -> list[tuple[Node, Value, bool]]:
    """The longest chain of (link, k, whether k is its second operand) that the contraction's result runs through."""
    links: list[tuple[Node, Value, bool]] = []
    value = Value(node)
    while (link := readers.get(value)) is not None and link.op in _LINKS:
        second = link.operands[0] == value
        k = _per_channel(link.operands[second], axis, constant)
        if k is None or (link.op == "div" and not second):
            break
        links.append((link, k, second))
        value = Value(link)
    return links


def _absorbed(b: Builder, values: Values, end: Node, node: Node, which: int, weight_axis: int, axis: int,
              links: list[tuple[Node, Value, bool]]) -> Value:
    """contraction(x, W*s) + t in place of `end`."""
    scale: Value | None = None       # None: 1
    shift: Value | None = None       # None: 0
    channels = links[0][1].type

    def splat(bits: int) -> Value:
        return b.filled(TensorType("f32", channels.shape), bits, end)

    for link, k, second in links:
        k = values[k]
        if link.op in ("mul", "div"):
            scale = b.value(link.op, scale or splat(_ONE), k, like=link) if scale or link.op == "div" else k
            shift = b.value(link.op, shift, k, like=link) if shift else None
        elif link.op == "sub" and not second:
            scale = b.value("neg", scale, like=link) if scale else splat(_MINUS_ONE)
            shift = b.value("sub", k, shift, like=link) if shift else k
        else:
            unshifted = b.value("neg", k, like=link) if link.op == "sub" else k
            shift = b.value(link.op, shift, k, like=link) if shift else unshifted
    operands = list(values.all(node.operands))
    assert scale is not None    # one of the links scales
    repeated = b.value("broadcast", scale, like=node, shape=operands[which].shape, axes=(weight_axis,))
    operands[which] = b.value("mul", operands[which], repeated, like=node)
    out = b.value(node.op, *operands, like=node, types=node.types, **node.attrs)
    if shift is None:
        return out
    repeated = b.value("broadcast", shift, like=end, shape=end.types[0].shape, axes=(axis,))
    return b.value("add", out, repeated, like=end, types=end.types)
