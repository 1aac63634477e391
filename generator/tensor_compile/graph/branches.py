# SPDX-License-Identifier: Apache-2.0
"""Which of two branches comes first where both end in one elementwise operation: the shorter one.

Both hold products or convolutions, and fusion joins the operation behind them to the kernel of whichever comes last.
That kernel waits for the whole other branch. Where the long branch is last, the short one depends on nothing of it, and
a device may run it beside the others (loops/asides.py): the shortcut of a residual block, for one.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Iterator

from .ir import Function, Node, Value
from .table import is_elementwise

PRODUCTS = ("dot", "packed_dot", "convolution", "packed_convolution")
MOST = 64   # nodes of a branch


def shorter_first(function: Function) -> Function:
    """The function with its nodes in that order."""
    nodes = list(function.nodes)
    users = _users(function)
    for join in function.nodes:
        if is_elementwise(join.op) and len(join.operands) > 1:
            nodes = _moved(nodes, join, users)
    return replace(function, nodes=nodes)


def _users(function: Function) -> dict[Node, set[Node | None]]:
    """By node: those that read it; None stands for the function's end."""
    users: dict[Node, set[Node | None]] = {}
    for node in function.nodes:
        for v in node.operands:
            users.setdefault(v.node, set()).add(node)
    for _, v, _ in (*function.results, *function.assigns):
        users.setdefault(v.node, set()).add(None)
    return users


def _moved(nodes: list[Node], join: Node, users: dict[Node, set[Node | None]]) -> list[Node]:
    """With the shorter of two branches that end in `join` before the longer one, where nothing forbids it."""
    branches = [b for b in (_branch(v, join, users) for v in dict.fromkeys(join.operands)) if _products(b)]
    if len(branches) != 2 or _products(branches[0]) == _products(branches[1]):
        return nodes
    short, long = sorted(branches, key=_products)
    at = {node: i for i, node in enumerate(nodes)}
    begin = min(at[node] for node in long)
    late = [node for node in sorted(short, key=at.__getitem__) if at[node] > begin]
    if any(at.get(source, -1) >= begin and source not in short for node in late for source in _sources(node)):
        return nodes
    moved = set(late)
    return [*nodes[:begin], *late, *(node for node in nodes[begin:] if node not in moved)]


def _branch(v: Value, join: Node, users: dict[Node, set[Node | None]]) -> set[Node]:
    """The nodes that nothing but `join` needs, by this operand of it."""
    found: set[Node] = set()
    waiting = [v.node]
    while waiting and len(found) < MOST:
        node = waiting.pop()
        if node in found or node.op == "parameter" or not users[node] <= found | {join}:
            continue
        found.add(node)
        waiting += _sources(node)
    return found


def _sources(node: Node) -> Iterator[Node]:
    return (v.node for v in node.operands)


def _products(branch: set[Node]) -> int:
    return sum(node.op in PRODUCTS for node in branch)
