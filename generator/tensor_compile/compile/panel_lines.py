# SPDX-License-Identifier: Apache-2.0
"""What `explain --summary` says of second operands that are no constants: how many products read their columns where
they lie, and how many pack them into panels in every call, with the reasons (loops/term_by_term.py)."""
from __future__ import annotations

from typing import Iterable, Iterator

from ..instruction_sets import instruction_set
from ..loops.loop_ir import ContractionKernel
from ..loops.program_ir import Program
from ..loops.scalars import domain_size
from ..loops.term_by_term import many
from ..target import Target
from . import fusion_lines, split_lines

WITHOUT = " without panels"   # behind the product's label, where loops/tile_regions.py says why it has panels


def is_one(what: str) -> bool:
    """Whether it is panels that a line of fusion is about."""
    return what.endswith(WITHOUT)


def panels(program: Program, target: Target, most: int) -> list[str]:
    """No line where all second operands are constants. most: reasons that are shown."""
    found = [part for _, part in split_lines.contractions(program)
             if any(program.buffers[load.buffer].kind != "packed" for load in part.b)]
    if not found or target.apart:
        return []
    packed = [part for part in found if part.b_panel]
    turned = sum(any(schedule.term_by_term for schedule in part.schedules) for part in found)
    why = fusion_lines.once([*_asked(program), *_many(program, target, packed)])[:most]
    line = f"second operands that are no constants: {len(found) - len(packed)} of {len(found)} are read where they lie"
    line += f" ({turned} of them term by term)" if turned else ""
    line += f", {len(packed)} are packed into panels in every call" if packed else ""
    return [line + (":" if why else ""), *(f"  {reason}" for reason in why)]


def _asked(program: Program) -> Iterator[str]:
    """The reasons of products with few rows."""
    for (what, why), n in fusion_lines.apart(program).items():
        if is_one(what):
            yield from [f"{what.removesuffix(WITHOUT)}: {why}"] * n


def _many(program: Program, target: Target, packed: Iterable[ContractionKernel]) -> Iterator[str]:
    """Those of products with many rows, of which explain says nothing."""
    asked = {what for what, _ in fusion_lines.apart(program)}
    for part in packed:
        why = many(domain_size(part.m), target.arch)
        if why and part.label + WITHOUT not in asked and all(instruction_set(isa).has_vectors for isa in target.isas):
            yield f"{part.label}: {why}"
