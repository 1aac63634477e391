# SPDX-License-Identifier: Apache-2.0
"""What `check` knows of floats that become integers. One that lies between two integers may become the other one in
double precision, and what is computed of that differs by a step, or by several. So the graph runs in double precision
once more, with the integers of its own arithmetic wherever both have nearly the same float (interpreter/roundings.h).
"""
from __future__ import annotations

import functools
import math
import re
import struct
from pathlib import Path
from typing import Callable, Iterator, Mapping

from ..graph.dtypes import DTYPES
from ..graph.ir import Loc, Module, Value
from ..graph.table import PRIMITIVES
from ..graph.verify import held
from ..records import dataclass
from .numbers import number_of
from .spread import Spread

ERROR = re.compile(r"largest error ([^\s,]+)")
LEAST = 0.1     # steps, below which an error has nothing to do with them
ROUNDED = 0.005     # of an error, by which its three digits may be more than it is


@dataclass(frozen=True, slots=True)
class Followed:
    """A run in double precision with integers of another one. taken: how many of these were others here; apart: how
    many differ because their floats do by more than the bound, first: where. whole: both ran the same nodes. spread: of
    results that have these integers."""

    results: Path
    spread: Spread
    taken: int
    apart: int
    first: str
    whole: bool

    def notes(self) -> Iterator[str]:
        """What is to be said of it."""
        if self.taken:
            yield f"double precision: {number_of(self.taken, 'float')} that lay between two integers became the " \
                  "other one; compared again with the interpreter's integers in their place"
        if self.apart:
            yield f"{self.first}: double precision: other integers of {number_of(self.apart, 'float')} that differ " \
                  "by more than the bound, the first here"
        if not self.whole:
            yield "double precision: other nodes run than in f32, as a condition differs; behind it no integers are " \
                  "taken"


def follow(interpret: Callable[..., str], bound: str, folder: Path, as_given: Callable[[str], str],
           jobs: int | None, tell: Callable[[str], None]) -> Followed:
    """interpret: runs the recorded graph; it is given options and where the results go. as_given: a place of the graph
    as the user named the model. jobs: how many runs at once. tell: says how far they are."""
    kept, results = folder / "roundings", folder / "followed"
    interpret("--roundings", str(kept), out=folder / "exact-again")
    words = ("--f64", "--roundings", str(kept), "--bound", bound)
    said = interpret(*words, out=results).split()
    spread = Spread.around(results, functools.partial(interpret, *words), folder / "noise-followed", jobs, tell)
    return Followed(results, spread, int(said[0]), int(said[1]), as_given(said[3]) if len(said) > 3 else "",
                    said[2] == "whole")


def place(module: Module, name: str) -> Loc | None:
    """Where the function, or one that it calls, makes an integer of a float first."""
    for function in held(module.functions, module.functions[name]):
        for node in function.nodes:
            if node.op in ("round", "floor") or node.op == "cast" and DTYPES[node.operands[0].dtype].is_float \
                    and not DTYPES[node.types[0].dtype].is_float:
                return node.loc
    return None


def steps(module: Module, name: str) -> dict[str, float]:
    """Of the function's results those that are integers times one constant: that constant."""
    return {result: step for result, value, _ in module.functions[name].results if (step := _step(value)) is not None}


def _step(value: Value) -> float | None:
    while (about := PRIMITIVES.get(value.node.op)) and about.moves and value.node.operands \
            and DTYPES[value.node.operands[0].dtype].is_float and value.node.op not in ("gather", "concat"):
        value = value.node.operands[0]
    if value.node.op != "mul":
        return None
    for factor, integers in (value.node.operands, value.node.operands[::-1]):
        constant, cast = factor.through(("broadcast", "reshape")).node, integers.through(("broadcast", "reshape")).node
        if constant.op == "constant" and constant.types[0].dtype == "f32" and cast.op == "cast" \
                and not DTYPES[cast.operands[0].dtype].is_float:
            found: float = abs(struct.unpack("<f", struct.pack("<I", constant.attrs["bits"]))[0])
            return found or None
    return None


def in_steps(line: str, of: Mapping[str, float]) -> str:
    """A line of a comparison that says, too, how many steps of the result its largest error is."""
    step, found = of.get(line.partition(": ")[0]), ERROR.search(line)
    if step is None or found is None:
        return line
    count = float(found[1]) / step
    if count < LEAST:
        return line
    return f"{line[:found.end()]} ({count:.3g} {'step' if f'{count:.3g}' == '1' else 'steps'} of {step:.6g})" \
           f"{line[found.end():]}"


def hints(lines: list[str], of: Mapping[str, float]) -> Iterator[str]:
    """For results of known steps that differ from the user's: the bound that allows for as many steps."""
    for line in lines:
        name, found = line.partition(": ")[0], ERROR.search(line)
        if line.endswith("FAILED") and name in of and found is not None and float(found[1]) < float("inf"):
            count = math.ceil(float(found[1]) * (1 - ROUNDED) / of[name])
            yield f"{name} is dequantized from steps of {of[name]:.6g}: --atol {1.001 * count * of[name]:.4g} would " \
                  f"allow for {count}"
