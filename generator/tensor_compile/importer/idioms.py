# SPDX-License-Identifier: Apache-2.0
"""Operations that exporters write as several: the one that computes the same, step by step, in their place."""
from __future__ import annotations

import re
from collections import Counter
from typing import Sequence

from .program import Program, Statement, values_of
from .values import MARK

_V = f"{MARK}(\\d+){MARK}"
_SIGMOID = re.compile(rf"tc_sigmoid\({_V}\)")
_PRODUCT = re.compile(rf"tc_mul\({_V}, {_V}\)")
_SIXTH = re.compile(rf"tc_div\({_V}, 6\.0\)")
_SIX = re.compile(rf"tc_clamp\({_V}, 0\.0, 6\.0\)")
_THREE = re.compile(rf"tc_add\((?:{_V}, 3\.0|3\.0, {_V})\)")


def shorten(program: Program) -> None:
    """x * sigmoid(x) and x * clamp(x + 3, 0, 6) / 6 by their names. What the steps gave is read by nobody then. Floats
    of 16 bits stay: their steps round one by one."""
    reads = Counter(number for statement in program.statements for text in statement.texts()
                    for number in values_of(text))
    for _, value in program.outputs:
        reads[value.number] += 2
    _Shorter(reads).all(program.statements)


class _Shorter:
    """reads: how often a value is named; 2 more for results of the program."""

    def __init__(self, reads: Counter[int]):
        self.reads = reads
        self.made: dict[int, Statement] = {}

    def all(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            self.all(statement.body)
            if statement.target is None or statement.declared or statement.target.dtype not in ("f32", "f64"):
                continue
            text = self.silu(statement.text) or self.hardswish(statement.text)
            statement.text = text or statement.text
            self.made[statement.target.number] = statement

    def step(self, number: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The statement of a value that is read once, where it is of the form."""
        made = self.made.get(int(number))
        return pattern.fullmatch(made.text) if made is not None and self.reads[int(number)] == 1 else None

    def silu(self, text: str) -> str:
        product = _PRODUCT.fullmatch(text)
        for x, gate in ((1, 2), (2, 1)) if product else ():
            found = self.step(product[gate], _SIGMOID)  # type: ignore[index]
            if found and found[1] == product[x]:        # type: ignore[index]
                return f"tc_silu({MARK}{found[1]}{MARK})"
        return ""

    def hardswish(self, text: str) -> str:
        whole = _SIXTH.fullmatch(text)
        product = self.step(whole[1], _PRODUCT) if whole else None
        for x, gate in ((1, 2), (2, 1)) if product else ():
            clamp = self.step(product[gate], _SIX)      # type: ignore[index]
            moved = self.step(clamp[1], _THREE) if clamp else None
            if moved and (moved[1] or moved[2]) == product[x]:   # type: ignore[index]
                return f"tc_hardswish({MARK}{product[x]}{MARK})"  # type: ignore[index]
        return ""
