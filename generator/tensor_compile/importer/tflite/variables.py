# SPDX-License-Identifier: Apache-2.0
"""A variable of the model, whose value stays from call to call."""
from __future__ import annotations

from ...records import dataclass
from ..program import Statement
from ..values import Value


@dataclass(slots=True)
class Variable:
    """initial: its first value, None: zeros; handle and started: the states of its value and of whether a call has
    stored it; current: its value where the operators are now; assigned: whether that is another one than at the
    beginning."""

    name: str
    initial: Value | None = None
    handle: Value | None = None
    started: Value | None = None
    current: Value | None = None
    assigned: bool = False


def store(variable: Variable) -> list[Statement]:
    """What ends the call: the variable's last value stays."""
    if not variable.assigned or variable.handle is None:
        return []
    found = [Statement(f"tc_assign({variable.handle}, {variable.current})", keep=True)]
    if variable.started is not None:
        found.append(Statement(f"tc_assign({variable.started}, tc_full(g, 1, TC_BOOL))", keep=True))
    return found
