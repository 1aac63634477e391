# SPDX-License-Identifier: Apache-2.0
"""The primitives as Python sees them: reads generator/primitives.def, whose first comment explains the columns."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

KINDS = ("dims", "ints", "int", "word", "name", "bits", "graph")


@dataclass(frozen=True, slots=True)
class Primitive:
    """operands: how many, None for any number; results likewise; attributes: (name, kind) in printing order;
    moves: it computes nothing; graphs: the attributes that name functions of the module."""

    name: str
    operands: int | None
    results: int | None
    attributes: tuple[tuple[str, str], ...]
    rule: str
    scalar: str
    moves: bool
    graphs: tuple[str, ...]

    @property
    def elementwise(self) -> bool:
        return self.scalar != ""


_LINE = re.compile(r'TC_PRIMITIVE\(\s*(\w+)\s*,\s*(\d+|\*)\s*,\s*(\d+|\*)\s*,\s*"([^"]*)"\s*,\s*(\w+)\s*,\s*"(\w*)"\s*,'
                   r'\s*(moves|computes)\s*\)')


def read_table(path: Path) -> dict[str, Primitive]:
    """Every entry of a primitives.def in file order; raises ValueError naming the line that is not an entry."""
    table: dict[str, Primitive] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("TC_PRIMITIVE("):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{path}:{number}: not an entry of the table of primitives")
        name, operands, results, attributes, rule, scalar, what = match.groups()
        pairs = tuple((a, k) for a, _, k in (word.partition(":") for word in attributes.split()))
        if name in table or any(kind not in KINDS for _, kind in pairs):
            raise ValueError(f"{path}:{number}: {name}: declared twice, or an attribute of unknown kind")
        count = [None if n == "*" else int(n) for n in (operands, results)]
        graphs = tuple(attribute for attribute, kind in pairs if kind == "graph")
        table[name] = Primitive(name, count[0], count[1], pairs, rule, scalar, what == "moves",
                                graphs)
    return table


PRIMITIVES = read_table(Path(__file__).resolve().parents[2] / "primitives.def")
