# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with graph IR: one exception with every finding, and the parser's with file and line."""
from __future__ import annotations

from collections.abc import Iterable


class IrError(Exception):
    """Graph IR that is not legal. `findings` are complete sentences without a final newline, in file order."""

    def __init__(self, findings: Iterable[str]):
        self.findings = tuple(findings)
        super().__init__("\n".join(self.findings))


class ParseError(IrError):
    """Graph text that cannot be read: one finding, `file:line: error: …`."""

    def __init__(self, file: str, line: int, message: str):
        self.file, self.line, self.message = file, line, message
        super().__init__([f"{file}:{line}: error: {message}"])
