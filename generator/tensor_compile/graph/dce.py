# SPDX-License-Identifier: Apache-2.0
"""Dead code: drops nodes that no result and no assignment needs.

A node of several results stays whole while one of them is used. An index check that a gather stands for goes with it:
what is not read cannot be out of range. Parameters stay, they are the function's signature.
"""
from __future__ import annotations

from .ir import Function, Node


def dce(function: Function) -> Function:
    """The function with only the nodes that its results and assigns reach."""
    live: set[Node] = {value.node for _, value, _ in (*function.assigns, *function.results)}
    kept: list[Node] = []
    for node in reversed(function.nodes):
        if node in live:
            kept.append(node)
            live.update(v.node for v in node.operands)
    return Function(function.name, function.entry, list(function.parameters), list(function.guards), kept[::-1],
                    list(function.assigns), list(function.results))
