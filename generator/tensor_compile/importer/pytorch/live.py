# SPDX-License-Identifier: Apache-2.0
"""Which nodes of a graph its outputs need. A program keeps what it computed for nothing (random numbers of a branch
that only training takes), and what nobody reads must not stop an import."""
from __future__ import annotations

import re
from typing import Sequence

from .archive import Json, items, member, text
from .views import inverse

# In place: aten.add_.Tensor is aten.add.Tensor, then stored; aten.__and__.Tensor is not in place.
IN_PLACE = re.compile(r"aten\.([a-z]\w*[a-z0-9])_\.(\w+)$")


def target_of(node: Json) -> str:
    return text(node, "target").removeprefix("torch.ops.")


def names_in(content: object) -> list[str]:
    """The names of tensors and sizes anywhere in an argument, those of graphs inside it left out."""
    found: list[str] = []
    left = [content]
    while left:
        entry = left.pop()
        if isinstance(entry, list):
            left.extend(reversed(entry))
        elif isinstance(entry, dict):
            found.extend(entry[key] for key in ("name", "as_name") if isinstance(entry.get(key), str))
            left.extend([v for k, v in entry.items() if k != "as_graph"][::-1])
    return found


def first_operand(node: Json) -> str:
    """The tensor that an operation in place changes, or that a view is of."""
    for entry in items(node, "inputs"):
        found = names_in(member(entry, "arg"))
        if found:
            return found[0]
    return ""


def needed(graph: Json, nodes: Sequence[Json], inputs: Sequence[str]) -> list[bool]:
    """For each node whether it is needed. A tensor, what is changed in place of it and its views stand for one another;
    what is written to an input (and so to a state) is needed; so is a graph within a node, which may write to what it
    is given."""
    root: dict[str, str] = {}
    for node in nodes:
        target = target_of(node)
        if IN_PLACE.match(target) or inverse(target):
            first = first_operand(node)
            for name in names_in(items(node, "outputs")):
                root[name] = root.get(first, first)
    live = {root.get(name, name) for name in names_in(items(graph, "outputs"))}
    given = set(inputs)
    found = [False] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):
        made = {root.get(name, name) for name in names_in(items(nodes[i], "outputs"))}
        changes = bool(IN_PLACE.match(target_of(nodes[i]))) and bool(made & given)
        if changes or made & live or target_of(nodes[i]).startswith("higher_order."):
            found[i] = True
            live |= {root.get(name, name) for entry in items(nodes[i], "inputs")
                     for name in names_in(member(entry, "arg"))}
    return found
