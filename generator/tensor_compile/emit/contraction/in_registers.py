# SPDX-License-Identifier: Apache-2.0
"""A tile of a kernel's own, which ends in the epilogue, the sums still in registers (templates/contraction/tile.c.in).

It computes tiles whose rows all exist, and whose columns do: `own_columns` of them. The kernel's driver (in_memory.py)
has all others computed by the library. Distances that are known are part of the code. It is worth its compilation where
sums are short. Where terms of a row lie so far apart that the library has no row of zeros for the padding, a second
tile computes the positions at the edges, and the last rows: `stands_alone`. Where columns are copied and all sizes are
known, every tile is the kernel's own: `copied`.
"""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Mapping, Sequence

from ...instruction_sets import instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...records import dataclass
from ...symbolic import const, Expr, sym, Sym
from .access import Access, TermLoop
from .candidate_table import PANEL, registers_needed
from ..index import c_index
from .micro import NEXT_TERMS, Pair, pairs, QUAD, Reg, UNROLLED
from .product_forms import form
from ..template import expand_file
from .walk import batch_names, row_begins

UNROLL = 4   # turns of a loop of one term that are asked of the compiler, which has its own mind of large tiles
# Terms of a turn. Addresses and the count are instructions, which beside another thread of the core take time from
# multiply-adds: a convolution is 6 % faster there with two, and 2 % on a core of its own. Four are slower than one
# where terms lie apart, and too many for the registers elsewhere.
TURN = 2
MOST_CHANNELS = 4   # which a turn over the positions of a line takes
FEWEST_POSITIONS = 8   # of such a line; of shorter ones it is no faster
FREE = 4     # registers that are left where a turn has several terms of a single loop
# Of a tile whose registers are named: the loop's own instructions are few, and its last turn is foreseen.
NAMED_TURN = 8
# Turns of the outermost loop, and where rows and columns of the first of them begin. A tile that found these by
# products would wait for them: multiply-adds of the tile before it take the same part of the processor.
PART_PARAMETERS = ", tc_index first, tc_index last, tc_index a_turn, tc_index b_turn, float *sums"


@dataclass(frozen=True, slots=True)
class _Row:
    r: int
    offset: str
    finish: list[str]
    exists: str
    unmasked: list[str]


@dataclass(frozen=True, slots=True)
class _Columns:
    """A panel of a tile that is stored column by column. values: of its rows; store: the function that does, with what
    it is told of columns that do not exist."""

    column: int
    values: list[str]
    store: str
    columns: str


@dataclass(frozen=True, slots=True)
class _Term:
    """regs: of b; a: where a row has it; rows: the same as addresses. Of four terms that are loaded together, lane: its
    place; pairs: of regs."""

    regs: list[Reg]
    a: str
    rows: list[dict[str, object]]
    lane: int
    pairs: list[Pair]


@dataclass(frozen=True, slots=True)
class Panels:
    """Columns of a tile that were copied to panels: `stored` of them exist; apart: elements from panel to panel."""

    stored: int
    apart: int


def own_columns(access: Access, schedule: Schedule) -> int:
    """Columns that a tile stores: all of its own, or all that the kernel has, where the last panel alone lacks some."""
    columns = access.columns
    few = columns.is_const and schedule.nr - PANEL < columns.value < schedule.nr
    return columns.value if few and instruction_set(schedule.isa).lanes > 1 else schedule.nr


def streamed(access: Access, schedule: Schedule) -> bool:
    """Tiles fetch later terms of their columns: b is not constant, keys or values of a decoder, and all rows are one
    tile, so that each line is read once, from far. All terms follow one another."""
    plain = not (schedule.blocked or schedule.packed_b or schedule.compact or access.bounds)
    return plain and access.in_place and len(access.inside) == 1 and access.rows.is_const \
        and access.rows.value == schedule.mr


def together(access: Access, schedule: Schedule) -> bool:
    """All sums of a point are in registers at the same time, those of a row's columns: one sum of few columns has too
    few registers to add to, one after the other. What is fetched for later tiles is of one second operand at a time."""
    isa = instruction_set(schedule.isa)
    plain = not (schedule.prefetch or schedule.in_parts or access.bounds or named(schedule))
    return access.sums > 1 and schedule.epilogue == "registers" and schedule.mr == 1 and plain \
        and registers_needed(isa, 1, schedule.nr * access.sums) <= isa.registers


def stands_alone(access: Access, schedule: Schedule) -> bool:
    """Every tile is the kernel's own: those at the edges, too."""
    return schedule.epilogue == "registers" and bool(access.bounds) and not access.border_inner


def of_copied_columns(access: Access, schedule: Schedule) -> bool:
    """Every tile is the kernel's own, of columns that were copied: there are two heights and two widths of them at
    most, and all are known."""
    known = access.rows.is_const and access.columns.is_const and access.terms.is_const
    plain = not (schedule.packed_a or schedule.kc or schedule.prefetch or schedule.compact or schedule.bands)
    wide = instruction_set(schedule.isa).vectors in ("AVX2", "AVX512")
    return schedule.epilogue == "registers" and schedule.packed_b and plain and wide and known \
        and schedule.dtype == "f32" and access.sums == 1 and not access.bounds and len(access.inside) == 1


def line_of_planes(line: TermLoop, channels: TermLoop) -> bool:
    """The two loops are a line of a window over few channels that lie far apart, each position beside the next one, as
    of a model's own image."""
    known = channels.extent.is_const and channels.a.is_const and channels.b.is_const and line.extent.is_const
    return known and line.a == 1 and channels.a != 1 and 1 < channels.extent.value <= MOST_CHANNELS \
        and line.b == channels.b * channels.extent


def walks_planes(loops: Sequence[TermLoop]) -> bool:
    """The innermost loops are such a line, which a tile walks position by position: rows are read by one index, and
    what a position has of every channel is a turn."""
    return len(loops) > 1 and line_of_planes(*loops[-2:]) and loops[-2].extent.value >= FEWEST_POSITIONS


def turn_terms(loops: Sequence[TermLoop]) -> int:
    """Terms of a turn of the outermost of the loops, of which there are as many as is known."""
    return math.prod(loop.extent.value for loop in loops[1:])


def named(schedule: Schedule) -> bool:
    """A tile needs every register that there is. The compiler would keep some sums on the stack, or load columns once
    for each row, so each value has a register of its own by name."""
    isa = instruction_set(schedule.isa)
    return isa.vectors == "AVX2" and schedule.dtype == "f32" \
        and registers_needed(isa, schedule.mr, schedule.nr) == isa.registers


def half_register(access: Access, schedule: Schedule, stored: int) -> bool:
    """Of the last register of columns no more than half exists, which is all that a tile computes: of processors whose
    multiply-adds of 512 bits are two of 256, it takes half the time. stored: columns that exist."""
    isa = instruction_set(schedule.isa)
    plain = access.sums == 1 and not schedule.in_parts and schedule.dtype == "f32"
    return isa.vectors == "AVX512" and plain and schedule.nr - stored >= isa.lanes // 2


def own_tile(kernel: ContractionKernel, schedule: Schedule, names: Mapping[Sym, str], own: str,
             edge: bool = False, unmasked: str = "", across: str = "", run_rows: int = 0,
             in_turn: bool = False, panels: Panels | None = None) -> tuple[str, str]:
    """The name of the function, and its text. edge: the tile of positions some of which do not exist. unmasked: where
    the epilogue need not ask a mask (Epilogue.unmasked). across: the distance of two columns where results are stored
    column by column (Epilogue.across). run_rows: so many rows of neighbouring tiles wait for that. in_turn: where rows
    of a column do not follow one another. panels: where columns were copied."""
    access, isa = Access.of(kernel), instruction_set(schedule.isa)
    rows, columns, lanes, vector = schedule.mr, schedule.nr, isa.lanes, isa.lanes > 1
    stored = panels.stored if panels else own_columns(access, schedule)
    name = f"{own}tile_{rows}x{stored if panels else columns}{'_edge' if edge else ''}"
    if panels:
        (terms,) = access.inside
        access = replace(access, inside=(replace(terms, b=const(PANEL)),), b_piece=const(panels.apart))
    parameter, kind = {p.name: i for i, p in enumerate(kernel.params)}, form(schedule.dtype, schedule.isa)
    *taps, inner = access.border if edge else access.inside
    line = taps.pop() if not edge and len(taps) > schedule.in_parts and walks_planes((*taps, inner)) else None
    # where the innermost loop decides what exists, each of its terms is looked at
    walks = edge and not any(inner.var in bound.term.symbols() for bound in access.bounds)
    each = edge and not walks
    if each:
        taps, inner = [*taps, inner], TermLoop(Sym("one", 0, 0), const(1), const(1), const(0))
    k_names = {loop.var: f"k{i}" for i, loop in enumerate(taps)}
    at_once = access.sums if together(access, schedule) else 1
    of_sum = columns // lanes    # registers of a row
    regs = of_sum * at_once
    per_piece = max(1, min(16, columns) // lanes)
    half = regs - 1 if half_register(access, schedule, stored) else regs
    prefix = ["tch" if v == half else "tct" for v in range(regs)]

    def text(e: Expr, extra: Mapping[Sym, str] | None = None) -> str:
        return c_index(e, {**names, **(extra or {})})

    def joined(r: int, column: int, s: int = 0) -> str:
        """The accumulators of sum s of 16 columns."""
        first = s * of_sum + column // lanes
        return f"tct_join({', '.join(f'c{r}_{v}' for v in range(first, first + per_piece))})"

    def one(r: int, i: int) -> str:
        """The accumulators of columns 16 * i to 16 * i + 15, of a tile of one sum."""
        return f"tct_join(tch_whole_f32(c{r}_{i}))" if i == half else joined(r, 16 * i)

    def held(r: int, column: int) -> str:
        """Every accumulator of a point: from the registers, or from where the sums of a tile wait for each other."""
        at = r * columns + column
        if at_once > 1:
            return ", ".join(joined(r, column, s) if vector else f"c{r}_{s * of_sum + column}" for s in range(at_once))
        return ", ".join(f"tcv_load_f32(held[{s}] + {at})" if vector else f"held[{s}][{at}]"
                         for s in range(access.sums))

    def finish_unmasked(r: int) -> list[str]:
        return [f"{own}finish_unmasked(q, sizes, &here, {r}, j + {16 * i}, {joined(r, 16 * i)});"
                for i in range(of_sum // per_piece)] if unmasked else []

    def column_by_column() -> list[_Columns]:
        def value(r: int, i: int) -> str:
            function, lanes = ("across_value", "") if stored - 16 * i >= 16 else \
                ("across_partial", f", {stored - 16 * i}")
            return f"tcv_store_f32(y + {16 * (i * run_rows + r)}, " \
                f"{own}{function}(p, d, t, {r}, j + {16 * i}, {one(r, i)}{lanes}));"

        def piece(i: int) -> _Columns:
            left = stored - 16 * i
            name, columns = ("tc_store_across", "") if left >= 16 else ("tc_store_some_across", f", {left}")
            return _Columns(16 * i, [value(r, i) for r in range(rows)], name, columns)
        return [piece(i) for i in range(of_sum // per_piece)] if across else []

    def finish(r: int) -> list[str]:
        if not vector:
            return [f"{own}finish(p, d, t, {r}, j + {v}, {held(r, v) if access.sums > 1 else f'c{r}_{v}'});"
                    for v in range(of_sum)]
        lines = []
        for i in range(of_sum // per_piece):
            sums, left = held(r, 16 * i) if access.sums > 1 else one(r, i), stored - 16 * i
            lines.append(f"{own}finish(p, d, t, {r}, j + {16 * i}, {sums});" if left >= 16 else
                         f"{own}finish_partial(p, d, t, {r}, j + {16 * i}, {sums}, {left});")
        return lines

    def offset(r: int) -> str:
        if parts and not edge and access.evenly is not None:
            return str(access.evenly * r)
        return row_begins(access, r)

    def exists(r: int) -> str:
        return " | ".join(f"(t->bound[{r}][{e}] + term{e})" for e in range(len(access.bounds)))

    b_of = ["b_k", *(f"b_k{s}" for s in range(1, at_once))]
    by_name, parts = named(schedule), schedule.in_parts
    hold_b = regs <= rows
    assert not (by_name and hold_b), "a tile that names its registers holds a column of a"
    # rows of a tile all of whose positions exist lie evenly apart: one pointer reaches them
    even = access.evenly if by_name else None
    a_step, length = text(inner.a), inner.extent.value if inner.extent.is_const else 0
    channels = length if line else 1

    def loop(walks: bool) -> str:
        """Over the terms of a tap. walks: some rows stay where they are."""
        unrolls = lanes >= UNROLLED and rows > 1 and not walks
        quads = kind.quads and a_step == "1" and not walks and length > 0 and length % QUAD == 0
        free = isa.registers - rows * regs - regs - 1
        several = bool(taps) or a_step != "1" or lanes == PANEL and free >= FREE
        several = (several or by_name) and unrolls and not schedule.prefetch and length > 0 and length % TURN == 0
        turn = channels if line else QUAD if quads else 1 if not several else \
            NAMED_TURN if by_name and length % NAMED_TURN == 0 else TURN
        one_pointer = even is not None and not (walks or each)
        of_panels = of_sum // per_piece
        places = [(v // per_piece, v % per_piece * lanes) for v in range(regs)]
        terms = []
        for u in range(turn):
            listed = [Reg(v, f"{b_of[panel // of_panels]} + "
                          f"({text(access.b_piece * (panel % of_panels) + at + inner.b * u)})",
                          f"p{panel} + ({text(inner.b * u + at)})", prefix[v]) for v, (panel, at) in enumerate(places)]
            a = f"(k + {text(inner.a * u)})" if line else "0" if walks else f"(k + {u})" if a_step == "1" else \
                f"(k + {u}) * ({a_step})"
            at = [{"r": r, "at": f"x0 + ({a} + {r * (even or 0)})" if one_pointer else f"x{r} + {a}"}
                  for r in range(rows)]
            terms.append(_Term(listed, a, at, u, pairs(listed, rows, isa)))
        return expand_file("contraction/terms.c.in", {
            "walks": walks, "unrolls": unrolls and turn == 1, "unroll": UNROLL, "turn": turn // channels,
            "several": turn > 1, "turn_steps": ", ".join(f"{b} += {text(inner.b * turn)}" for b in b_of),
            "terms_list": terms, "quads": quads, "b_c": kind.b_c,
            "panels": [{"p": p, "at": terms[0].regs[p * per_piece].b} for p in range(regs // per_piece)],
            "row_list": [{"r": r} for r in range(rows)], "inner": text((line or inner).extent),
            "b_step": text(inner.b), "names": kind.names, "hold_b": hold_b, "named": by_name,
            "fetches": schedule.prefetch,
            "to_first": (schedule.prefetch or streamed(access, schedule)) and lanes == PANEL and not edge,
            "next_terms": NEXT_TERMS, "last_terms": NEXT_TERMS + turn - 1, "terms": all_terms}).rstrip("\n")

    def tap(of: str) -> str:
        """How far the terms of a tap are from the first ones."""
        walked = sum((getattr(loop, of) * sym(loop.var) for loop in taps[parts:]), const(0))
        return f"{of}_turn + {text(walked, k_names)}" if parts else text(walked, k_names)

    all_terms = text(math.prod((x.extent for x in (*taps, *([line] if line else []), inner)), start=const(1)))

    return name, expand_file("contraction/tile.c.in", {
        "name": name, "own": own, "rows": rows, "columns": columns, "a_parameter": parameter[kernel.a.buffer],
        "many": access.sums > at_once, "together": at_once > 1, "sums": access.sums,
        "other_sums": [{"s": s, "b_k": b} for s, b in enumerate(b_of) if s],
        "seconds": "panels" if panels else
        ", ".join(f"(const {kind.b_c} *)p[{parameter[b.buffer]}]" for b in kernel.b),
        "b_c": kind.b_c, "names": kind.names, "parts": parts, "turns": text(taps[0].extent) if parts else "",
        "part_parameters": PART_PARAMETERS if parts else "", "named": by_name,
        "registers": [{"name": x, "number": i} for i, x in enumerate(
            [*(f"r{r}_{v}" for r in range(rows) for v in range(regs)), *(f"s{r}" for r in range(rows)), "b0"])],
        "b_offset": "0" if parts or panels else
        text(access.b_offset, {access.column: "j", **batch_names(kernel, "t->")}),
        "lanes": lanes, "edge": edge,
        "bounds": [{"e": e, "term": text(b.term, k_names)} for e, b in enumerate(access.bounds if edge else ())],
        "row_list": [_Row(r, offset(r), finish(r), exists(r) if edge else "", finish_unmasked(r))
                     for r in range(rows)],
        "run_rows": run_rows, "run_parameter": ", float *y" if run_rows else ", const float *panels" if panels else "",
        "across": across, "in_turn": in_turn, "across_list": column_by_column(), "stored": bool(across) and not edge,
        "unmasked": unmasked, "pointers": ", ".join(f"p[{i}]" for i in range(len(kernel.params))),
        "sizes": ", ".join(f"d[{i}]" for i in range(len(kernel.dims))) or "0",
        "reg_list": [{"v": v, "t": t} for v, t in enumerate(prefix)], "loop_terms": loop(walks),
        "all_terms": loop(False) if walks else "",
        "taps": [{"var": k_names[loop.var], "first": "first" if parts and not i else "0",
                  "extent": "last" if parts and not i else text(loop.extent),
                  "steps": f", a_turn += {text(loop.a)}, b_turn += {text(loop.b)}" if parts and not i else ""}
                 for i, loop in enumerate(taps)],
        "a_tap": tap("a"), "b_tap": tap("b"),
        "inner": text(inner.extent), "a_step": a_step, "walks": walks, "fetches": schedule.prefetch,
        "some": " | ".join(f"exists{r}" for r in range(rows)), "all": " & ".join(
            [*(f"exists{r}" for r in range(rows)), *([f"(rows == {rows})"] if even is not None else [])])})
