# SPDX-License-Identifier: Apache-2.0
"""Progress on a terminal; silence everywhere else (under Ninja a command that succeeds says nothing)."""
from __future__ import annotations

import sys


class Progress:
    """One line on stderr, rewritten in place and cleared at the end."""

    def __init__(self, enabled: bool | None = None):
        self.enabled = sys.stderr.isatty() if enabled is None else enabled

    def say(self, text: str) -> None:
        if self.enabled:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.say("")
