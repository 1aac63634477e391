# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal. Silence everywhere else (under Ninja a command that succeeds says nothing), but for commands
that take minutes and are no part of a build: a line now and then."""
from __future__ import annotations

import sys
import threading
import time
from typing import Callable

SECONDS = 5.0   # between two lines
PULSE = 15.0    # between two lines of a command that says little for minutes


class Progress:
    """One line on stderr, rewritten in place and cleared at the end. lines: where that is no terminal, what is said
    when the last line is SECONDS old is a line. pulse: there, what was said last is a line every PULSE seconds, with
    the seconds since the beginning, be it that nothing new was said."""

    def __init__(self, enabled: bool | None = None, lines: bool = False, pulse: bool = False):
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self.lines = lines and not self.enabled
        self.pulse = pulse and not self.enabled
        self.begun = self.told = time.monotonic()
        self.last = ""
        self.ended = threading.Event()

    def say(self, text: str) -> None:
        self.last = text
        if self.enabled:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif self.lines and text and time.monotonic() - self.told >= SECONDS:
            self.told = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """What the user has to know at once: a line where this is no terminal."""
        self.say(text)
        if not self.enabled:
            print(text, file=sys.stderr, flush=True)

    def notes(self, of: str) -> Callable[[str], None]:
        """note(), with a name before what it is given."""
        return lambda text: self.note(f"{of}: {text}")

    def _beat(self) -> None:
        while not self.ended.wait(PULSE):
            if self.last:
                print(f"{self.last} ({time.monotonic() - self.begun:.0f} s so far)", file=sys.stderr, flush=True)

    def __enter__(self) -> "Progress":
        if self.pulse:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.say("")
