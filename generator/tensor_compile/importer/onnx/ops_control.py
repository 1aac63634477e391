# SPDX-License-Identifier: Apache-2.0
"""If, Loop, Scan: folded where they can be, else blocks of the DSL."""
from __future__ import annotations

from ..program import Statement
from ..values import Value
from .registry import Node, op
from ..problems import Malformed


@op("If")
def if_(n: Node) -> None:
    test = n.input(0)
    branches = n.graph("then_branch"), n.graph("else_branch")
    known = test.single
    if isinstance(known, (bool, int)):
        for i, value in enumerate(n.importer.graph(branches[0 if known else 1])):
            n.given[i] = value  # type: ignore[assignment]
        return
    n.refuse("a condition that is known at run time only")


def block(n: Node, head: str, body: list[Statement]) -> None:
    n.emit(Statement(head=head, body=body, keep=True))


def checked(value: Value | None) -> Value:
    if value is None:
        raise Malformed("a value is missing")
    return value
