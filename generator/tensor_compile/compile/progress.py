# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal. Silence everywhere else (under Ninja a command that succeeds says nothing), but for commands
that take minutes and are no part of a build: a line now and then."""
from __future__ import annotations

import sys
import time

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

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.say("")
