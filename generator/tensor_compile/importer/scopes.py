# SPDX-License-Identifier: Apache-2.0
"""Statements to functions, by the scopes of the model's nodes."""
from __future__ import annotations

from dataclasses import dataclass, field

from .program import Program, Statement
from .values import Value


@dataclass(slots=True)
class Function:
    """A C function of a scope. scope: what tc_weight puts before names in it; dims: those that it is given."""

    name: str
    statements: list[Statement]
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    dims: tuple[str, ...] = ()
    scope: str = ""


@dataclass(slots=True)
class Parted:
    """main: the entry's own statements, which call the functions."""

    main: Function
    functions: list[Function] = field(default_factory=list)


def part(program: Program) -> Parted:
    return Parted(Function(program.name, program.statements))
