# SPDX-License-Identifier: Apache-2.0
"""Optional values that are tensors, or left out."""
from __future__ import annotations

from .registry import Node, op


@op("OptionalHasElement", since=15)
def has_element(n: Node) -> None:
    n.give_elements([n.optional(0) is not None], "bool", ())


@op("OptionalGetElement", since=15)
def get_element(n: Node) -> None:
    n.give(n.input(0))
