# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal. Silence everywhere else (under Ninja a command that succeeds says nothing), but for commands
that take minutes and are no part of a build: a line now and then."""
from __future__ import annotations

import sys
import time
from typing import Callable

SECONDS = 5.0   # between two lines


class Progress:
    """One line on stderr, rewritten in place and cleared at the end. lines: where that is no terminal, what is said
    when the last line is SECONDS old is a line."""

    def __init__(self, enabled: bool | None = None, lines: bool = False):
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self.lines = lines and not self.enabled
        self.told = time.monotonic()

    def say(self, text: str) -> None:
        if self.enabled:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif self.lines and text and time.monotonic() - self.told >= SECONDS:
            self.told = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """What the user has to know at once: a line where this is no terminal."""
        if self.enabled:
            self.say(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def notes(self, of: str) -> Callable[[str], None]:
        """note(), with a name before what it is given."""
        return lambda text: self.note(f"{of}: {text}")

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.say("")
