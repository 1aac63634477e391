# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a file, or in it cannot be imported, and the one report of all of it."""
from __future__ import annotations

from collections import Counter
from typing import Sequence

from ..errors import UserError
from ..records import dataclass


class Malformed(Exception):
    """The file is not what its format says."""


class Unsupported(Exception):
    """Something in a correct file that cannot be imported: message, and what to do."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True, slots=True)
class Problem:
    """A node that cannot be imported. what: the operation; why; inputs: the model's inputs that would have to be
    fixed."""

    what: str
    why: str
    node: str
    hint: str = ""
    inputs: tuple[str, ...] = ()


def known_late(what: str) -> str:
    """The reason where sizes, axes or the like are no constants. what: such as "the sizes of the block"."""
    noun = what.partition(" of ")[0]
    return f"{what} {'are' if noun.endswith('s') and not noun.endswith('axis') else 'is'} known at run time only"


def report(problems: Sequence[Problem], shown: str) -> UserError:
    """One error that names everything: each operation and reason once, with how often and where first."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for p in problems:
        groups.setdefault((p.what, p.why), []).append(p)
    counts = Counter(p.what for p in problems)
    lines = []
    for (what, why), found in sorted(groups.items(), key=lambda g: (-counts[g[0][0]], g[0])):
        where = ", ".join(dict.fromkeys(p.node for p in found[:3] if p.node)) + (", …" if len(found) > 3 else "")
        times = f"{len(found)} x " if len(found) > 1 else ""
        lines.append(f"  {times}{what}: {why}" + (f" (at {where})" if where else ""))
        if found[0].hint:
            lines.append(f"      {found[0].hint}")
    nodes = len(problems)
    return UserError(f"{nodes} node{'s' * (nodes > 1)} of the model cannot be imported:\n" + "\n".join(lines), shown,
                     "nothing was written; export the model with other operations, or compose them in a model.c of "
                     "your own")
