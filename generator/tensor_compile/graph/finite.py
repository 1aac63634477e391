# SPDX-License-Identifier: Apache-2.0
"""Which constants must be finite."""
from __future__ import annotations

from typing import Iterable

from .dtypes import DTYPES
from .ir import Function, Node


def padded_weights(functions: Iterable[Function]) -> list[Node]:
    """The second operands of padded convolutions, which must be finite: a product with padding may be skipped or
    multiplied (docs/numerics.md)."""
    return [n.operands[1].node for f in functions for n in f.nodes
            if n.op in ("convolution", "packed_convolution") and any((*n.attrs["low"], *n.attrs["high"]))
            and DTYPES[n.types[0].dtype].is_float]


def leaves(op: str, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names of the nodes of kind `op` (weight, packed) that the nodes are computed from, each once."""
    found: dict[str, None] = {}
    seen: set[Node] = set()
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == op:
            found[node.attrs["name"]] = None
        pending += [v.node for v in reversed(node.operands)]
    return tuple(found)
