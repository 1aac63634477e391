# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors, as Keras' recurrent layers keep the results of their steps. Where element i of a list is written,
converters join what is before it, the new one and what is behind it. The sizes of these parts depend on i; here it is
one operator, ROW_UPDATE, with the list, the row and the place."""
from __future__ import annotations

import struct
from dataclasses import replace

from .model import Graph, Operator

ROW_UPDATE = "ROW_UPDATE"


def updates(graph: Graph) -> list[Operator]:
    """The graph's operators with such a concatenation as one operator."""
    makers = {i: o for o in graph.operators for i in o.outputs}
    return [_update(graph, makers, o) or o for o in graph.operators]


def _update(graph: Graph, makers: dict[int, Operator], joined: Operator) -> Operator | None:
    if joined.name != "CONCATENATION" or len(joined.inputs) != 3 or joined.options is None:
        return None
    before, row, behind = joined.inputs
    head, tail = makers.get(before), makers.get(behind)
    rank = len(graph.tensors[row].shape)
    if joined.options.integer(0) or joined.options.integer(1, "i8") or not rank or graph.tensors[row].shape[0] != 1 \
            or head is None or tail is None or head.name != "SLICE" or tail.name != "SLICE" \
            or head.inputs[0] != tail.inputs[0]:
        return None
    at = _vector(graph, makers, head.inputs[2], [-1] * (rank - 1))
    behind_it = _vector(graph, makers, tail.inputs[1], [0] * (rank - 1))
    if at is None or behind_it is None or _numbers(graph, head.inputs[1]) != [0] * rank \
            or _numbers(graph, tail.inputs[2]) != [-1] * rank:
        return None
    one = makers.get(behind_it)
    if one is None or one.name != "ADD" or at not in one.inputs \
            or [1] not in [_numbers(graph, i) for i in one.inputs if i != at]:
        return None
    return replace(joined, name=ROW_UPDATE, inputs=(head.inputs[0], row, at), version=1, options=None)


def _vector(graph: Graph, makers: dict[int, Operator], number: int, rest: list[int]) -> int | None:
    """The tensor that is the first element of a vector whose others are these numbers."""
    made = makers.get(number)
    if made is None or made.name != "CONCATENATION" or len(made.inputs) != 2 or _numbers(graph, made.inputs[1]) != rest:
        return None
    first = makers.get(made.inputs[0])
    return first.inputs[0] if first is not None and first.name in ("RESHAPE", "EXPAND_DIMS") and first.inputs else None


def _numbers(graph: Graph, number: int) -> list[int] | None:
    """The elements of a constant of 32-bit integers."""
    data = graph.tensors[number].data if number >= 0 else None
    if data is None or graph.tensors[number].dtype != 2 or len(data) % 4:
        return None
    return list(struct.unpack(f"<{len(data) // 4}i", data))
