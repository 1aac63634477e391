# SPDX-License-Identifier: Apache-2.0
"""The primitives as Python sees them: reads generator/primitives.def, whose first comment explains the columns."""
from __future__ import annotations

import re
from pathlib import Path

from ..records import dataclass

KINDS = ("dims", "ints", "int", "word", "name", "bits", "graph")


LOWERINGS = ("leaf", "elementwise", "view", "kernel", "contraction", "region", "inlined")
TRAITS = ("again", "narrow")


@dataclass(frozen=True, slots=True)
class Primitive:
    """operands: how many, None for any number; results likewise; attributes: (name, kind) in printing order;
    moves: it computes nothing; graphs: the attributes that name functions of the module."""

    name: str
    operands: int | None
    results: int | None
    rule: str
    lowering: str
    cost: int
    code: int
    moves: bool
    traits: frozenset[str]
    derivative: str
    attributes: tuple[tuple[str, str], ...]
    graphs: tuple[str, ...]

    @property
    def elementwise(self) -> bool:
        return self.lowering == "elementwise"


_ENTRY = re.compile(r"""TC_PRIMITIVE\((\w+), (\d+|\*), (\d+|\*), (\w+), (\w+), (\d+), (\d+), (moves|computes),"""
                    r""" "([^"]*)", "([^"]*)", "([^"]*)"\)""".replace(", ", r",\s*"))


def read_table(path: Path) -> dict[str, Primitive]:
    """Every entry of a primitives.def in file order; raises ValueError naming the line that is not an entry."""
    table: dict[str, Primitive] = {}
    text = path.read_text(encoding="utf-8")
    for begin in re.finditer(r"^TC_PRIMITIVE\(", text, re.MULTILINE):
        where = f"{path}:{text.count(chr(10), 0, begin.start()) + 1}"
        match = _ENTRY.match(text, begin.start())
        if match is None:
            raise ValueError(f"{where}: not an entry of the table of primitives")
        name, operands, results, rule, lowering, cost, code, what, traits, derivative, attributes = match.groups()
        pairs = tuple((a, k) for a, _, k in (word.partition(":") for word in attributes.split()))
        if name in table or any(kind not in KINDS for _, kind in pairs):
            raise ValueError(f"{where}: {name}: declared twice, or an attribute of unknown kind")
        if lowering not in LOWERINGS or not set(traits.split()) <= set(TRAITS):
            raise ValueError(f"{where}: {name}: no such lowering, or a trait that is none")
        count = [None if n == "*" else int(n) for n in (operands, results)]
        graphs = tuple(attribute for attribute, kind in pairs if kind == "graph")
        table[name] = Primitive(name, count[0], count[1], rule, lowering, int(cost), int(code), what == "moves",
                                frozenset(traits.split()), derivative, pairs, graphs)
    return table


PRIMITIVES = read_table(Path(__file__).resolve().parents[2] / "primitives.def")


def lowering_of(op: str) -> str:
    """The kind of lowering of a node's operation, which may be no primitive: a parameter is a leaf; "" for others."""
    primitive = PRIMITIVES.get(op)
    return primitive.lowering if primitive else "leaf" if op == "parameter" else ""


def is_elementwise(op: str) -> bool:
    return lowering_of(op) == "elementwise"


def has_trait(op: str, trait: str) -> bool:
    return op in PRIMITIVES and trait in PRIMITIVES[op].traits


def cost_of(op: str) -> int:
    """What a lane of a scalar operation costs, in units of an addition."""
    return PRIMITIVES[op].cost if op in PRIMITIVES else 1


def code_of(op: str) -> int:
    """Operations of a scalar operation's vector code."""
    return PRIMITIVES[op].code if op in PRIMITIVES else 1
