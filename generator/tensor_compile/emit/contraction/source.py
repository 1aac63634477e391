# SPDX-License-Identifier: Apache-2.0
"""C source of a contraction by its schedules (templates/contraction/).

A tile is mr x nr accumulators that live in registers over all terms, or a block of them, in ascending order of k from
+0: the order `seq` of docs/numerics.md, whatever the tile. What is left of the rows is computed by lower tiles and what
is left of the columns by narrower ones; the last panel's missing columns are computed and not stored.
"""
from __future__ import annotations

from dataclasses import replace
from math import lcm
from typing import Any, Sequence

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import LARGE_PIECES, Schedule
from ...loops.loop_ir import consecutive, ContractionKernel, GroupedContractionKernel
from ...loops.scalar_ir import Load
from ...records import dataclass
from ...symbolic import Sym
from . import in_memory
from .access import Access
from .epilogue import names_of, statements, sum_again
from ..frame import Frame, PROCESSOR
from ..identity import identity
from .image_lines import emit_lines
from ..index import c_index
from .micro import Micro
from ..constants import constant
from ..scalar import C_TYPE, extent
from .schedule_blocks import asks_threads, fetches_soon, remembers
from .schedule_tiles import item_columns
from .team_split import emit_split, team_split
from .term_by_term import emit_term_by_term
from ..template import expand_file


NEAR_BAND = 1 << 17   # bytes of rows and results of a band that all parts of a kernel compute before the next one
FLOAT = 4


@dataclass(frozen=True, slots=True)
class ContractionText:
    """A translation unit, and the micro-kernels that it calls."""

    text: str
    micros: frozenset[Micro]


@dataclass(frozen=True, slots=True)
class _LoopText:
    var: str
    extent: str


def emit_contraction(kernel: ContractionKernel | GroupedContractionKernel, chosen: Sequence[Schedule],
                     symbol: str) -> ContractionText:
    """The translation unit that defines `symbol` (docs/loops.md, kernel ABI). chosen: a schedule for each part, all of
    one instruction set. Parts that differ in nothing but their buffers share their code."""
    parts, isa = kernel.contractions, instruction_set(chosen[0].isa)
    owns: dict[tuple[Any, ...], str] = {}
    texts, calls = [], []
    micros: frozenset[Micro] = frozenset()
    for i, (part, schedule) in enumerate(zip(parts, chosen, strict=True)):
        form = (identity(part), schedule)
        if form not in owns:
            owns[form] = f"part{len(owns)}_" if len(parts) > 1 else ""
            text, needed = _text(part, schedule, owns[form])
            texts.append(text)
            micros |= needed
        pointer, dim = ({x: j for j, x in enumerate(of)} for of in (kernel.params, kernel.dims))
        pointers = [f"p[{pointer[b]}]" for b in part.params]
        if fetches_soon(schedule):
            pointers += ["0", f"p[{len(kernel.params) + 1}]"]
        calls.append({"i": i, "own": owns[form], "pointers": ", ".join(pointers),
                      "dims": ", ".join(f"d[{dim[s]}]" for s in part.dims) or "0",
                      "held": ", held" if remembers(schedule) else "",
                      "threads": "" if not asks_threads(Access.of(part), schedule) else
                      ", team" if remembers(schedule) else ", threads"})
    one_behind_the_other = consecutive(kernel)
    assert not (one_behind_the_other and any(map(remembers, chosen))), "parts of one row of floats copy nothing"
    if one_behind_the_other:
        calls = [{**call, **items} for call, items in zip(calls, _shares(parts, chosen), strict=True)]
    shared = emit_split(team_split(Access.of(parts[0]), chosen[0]) if len(parts) == 1 else None)
    texts += [str(shared["share"])] if shared["share"] else []
    scratch = [i for i, p in enumerate(kernel.params) if p.kind == "scratch"]
    return ContractionText(expand_file("contraction/kernel.c.in", {
        "label": kernel.label, "symbol": symbol, "plain_schedule": isa.plain_schedule, "texts": texts, "parts": calls,
        "alone": len(parts) == 1, "threads_alone": calls[0]["threads"], "held_alone": calls[0]["held"],
        "remembers": any(map(remembers, chosen)), "count": len(kernel.params),
        "consecutive": one_behind_the_other, "shares": calls[0].get("shares", ""),
        "band": 0 if one_behind_the_other else band_tiles(parts, chosen), "first_own": calls[0]["own"],
        "part_count": len(parts),
        "total": " + ".join(f"count{i}" for i in range(len(parts))),
        "large_teams": chosen[0].large_teams, "large": LARGE_PIECES,
        "scratch": f"p[{scratch[0]}]" if scratch else "0", **shared}), micros)


def _shares(parts: Sequence[ContractionKernel], chosen: Sequence[Schedule]) -> list[dict[str, object]]:
    """Of parts that are computed one behind the other, as C text: how many shares of columns there are, and the items
    of a part in one of them."""
    items = [item_columns(Access.of(part), schedule) for part, schedule in zip(parts, chosen, strict=True)]
    if None in items:    # one thread's
        return [{"shares": "1", "of_share": f"count{i}"} for i in range(len(parts))]
    columns = lcm(*(item for item in items if item is not None))
    found = [columns // item for item in items if item is not None]
    return [{"shares": f"(count{i} + {count - 1}) / {count}" if count > 1 else f"count{i}", "of_share": str(count)}
            for i, count in enumerate(found)]


def band_tiles(parts: Sequence[ContractionKernel], chosen: Sequence[Schedule]) -> int:
    """The tiles of a band of rows that all parts compute before the next ones, so that its rows and results stay in the
    second cache; 0 where each part computes all of its rows: where some have several groups of columns, or panels that
    are fetched ahead or copied, or parts differ."""
    first, access = chosen[0], Access.of(parts[0])
    known = access.columns.is_const and access.terms.is_const
    alike = all(s == first and (x.rows, x.columns, x.batches) == (access.rows, access.columns, access.batches)
                for s, x in zip(chosen, map(Access.of, parts)))
    whole = first.epilogue == "registers" and first == Schedule(first.isa, first.dtype, first.mr, first.nr,
                                                                epilogue="registers")
    if len(parts) == 1 or not (known and alike and whole) or access.columns.value > first.nr:
        return 0
    row = FLOAT * (access.terms.value + len(parts) * access.columns.value)
    return max(1, NEAR_BAND // row // first.mr)


def _text(part: ContractionKernel, schedule: Schedule, own: str) -> tuple[str, frozenset[Micro]]:
    """Of a part: everything but the function that the driver calls, and the micro-kernels that it needs."""
    if schedule.lines:
        return emit_lines(part, schedule, own), frozenset()
    if schedule.term_by_term:
        return emit_term_by_term(part, schedule, own), frozenset()
    return in_memory.emit_part(part, schedule, own)


def emit_reference(kernel: ContractionKernel | GroupedContractionKernel, symbol: str,
                   frame: Frame = PROCESSOR) -> str:
    """Plain loops that compute what every candidate must: the order of docs/numerics.md, one point after the other."""
    return expand_file("contraction/reference.c.in", {
        "label": kernel.label, "header": frame.header, "begin": frame.begin(symbol),
        "parts": [_reference(part) for part in whole(kernel)]})


def whole(kernel: ContractionKernel | GroupedContractionKernel) -> list[ContractionKernel]:
    """The parts with the parameters and dims of the kernel that they are of."""
    return [replace(part, params=kernel.params, dims=kernel.dims) for part in kernel.contractions]


def _reference(kernel: ContractionKernel) -> dict[str, object]:
    names = names_of(kernel) | {s: f"k{i}" for i, s in enumerate(kernel.k)}
    buffers = {p.name: p for p in kernel.params}
    parameter = {p.name: i for i, p in enumerate(kernel.params)}

    def loops(variables: tuple[Sym, ...]) -> list[_LoopText]:
        return [_LoopText(names[s], c_index(extent(s), names)) for s in variables]

    product = kernel.product

    def element(load: Load) -> str:
        text = f"((const {C_TYPE[load.dtype]} *)p[{parameter[load.buffer]}])" \
               f"[{c_index(buffers[load.buffer].address(load.index), names)}]"
        return text if load.dtype == product.sum else f"tc_cast_{load.dtype}_{product.sum}({text})"

    accs = [f"acc{i}" for i in range(len(kernel.b))]
    less = f" - ({product.zero})" if product.zero else ""
    valid = " && ".join(f"({c_index(e, names)}) >= 0" for e in kernel.a.valid) or "1"
    a, other = element(kernel.a), kernel.a.other
    if other is not None and other.bits:
        a, valid = f"({valid} ? {a} : {constant(other)})", "1"
    return {"integer": product.integer, "sum_c": C_TYPE[product.sum],
            "points": loops(kernel.batch + kernel.m + kernel.n), "terms": loops(kernel.k), "a": a,
            "sums": [{"acc": acc, "b": f"{element(b)}{less}"} for acc, b in zip(accs, kernel.b)],
            "valid": valid,
            "epilogue": "\n".join([*sum_again(kernel, names, "acc0"), *statements(kernel, names, 1, None, accs)])}
