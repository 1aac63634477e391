# SPDX-License-Identifier: Apache-2.0
"""The user's errors: what the tool prints as `file:line: error: …` with a hint and answers with exit code 1."""
from __future__ import annotations

import difflib
from typing import Iterable


class UserError(Exception):
    """message: without the leading place; where: "file" or "file:line"; hint: what to do about it."""

    def __init__(self, message: str, where: str = "", hint: str = ""):
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self) -> str:
        text = f"{self.where or 'tensor-compile'}: error: {self.message}"
        return text + (f"\n  hint: {self.hint}" if self.hint else "")


class Reported(UserError):
    """An error whose text was printed already (by the compiler or by the capture program)."""

    def __init__(self) -> None:
        super().__init__("reported above")


class OptionError(UserError):
    """The value of an option is none that this model, target or compiler knows: exit code 2."""


class UsageError(Exception):
    """The command line is wrong: exit code 2. The message may end with a hint of its own."""


class Interrupted(KeyboardInterrupt):
    """An interruption (Ctrl-C, SIGTERM, SIGHUP) that has something to say: what is kept, and how to go on."""


def closest(name: str, known: Iterable[str]) -> str:
    """The start of a hint, "did you mean …? ", where one of the names is close to what was written; else nothing."""
    found = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {found[0]}? " if found else ""
