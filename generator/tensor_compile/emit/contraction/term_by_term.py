# SPDX-License-Identifier: Apache-2.0
"""Products of few rows by columns that lie in memory term by term (templates/contraction/term_by_term.c.in,
loops/term_by_term.py).

16 columns are taken at a time. 16 bytes of each, four terms or eight of 16 bits, are turned in registers, as many
columns as a register has lanes, and multiplied by all rows at once; nothing is stored before the epilogue. What is
turned are words of 32 bits: two terms of 16 bits are a pair, and are widened one behind the other. Memory sets the
time, so each turn brings some lines of later columns to the first cache, in the order in which they lie. Items are
batches x 16 columns.
"""
from __future__ import annotations

from ...graph.dtypes import DTYPES
from ...instruction_sets import CACHE_LINE, InstructionSet, instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...loops.products import F32, Product
from ...loops.term_by_term import TURNED
from ...symbolic import ZERO
from .access import Access
from .candidate_table import PANEL
from .epilogue import Epilogue, names_of
from ..index import c_index
from ..scalar import C_TYPE
from ..template import expand_file
from .walk import batch_decode, batch_names, place, row_begins

AHEAD = 8192   # bytes from a line that is loaded to one that is fetched for later (Zen 4: of 4096 the load waits)
OTHERS = 8     # registers beside the sums: terms that are turned, and what they come from
LEAST_OTHERS = 5   # turned words and a term of a row: with fewer, two walks are faster than one (Zen 4, AVX2)


def schedule_of(kernel: ContractionKernel, isa: str) -> Schedule | None:
    """The schedule of a kernel that is computed so; None of any other kernel."""
    access = Access.of(kernel)
    if not access.term_by_term or not instruction_set(isa).has_vectors:
        return None
    return Schedule(isa, kernel.product.name, access.rows.value, PANEL, epilogue="registers", term_by_term=True)


def emit_term_by_term(kernel: ContractionKernel, schedule: Schedule, own: str) -> str:
    """The text of everything but the function that the driver calls."""
    access, isa, names, rows = Access.of(kernel), instruction_set(schedule.isa), names_of(kernel), schedule.mr
    number = {p.name: i for i, p in enumerate(kernel.params)}
    epilogue = Epilogue(kernel, access, names, own, True)
    found, terms = access.b_offset.coefficient(access.column), access.terms.value
    assert found is not None and len(access.inside) == 1
    apart = found.value
    place_first, place_row = place(kernel, access, names)
    registers, size = PANEL // isa.lanes, DTYPES[kernel.product.b].bytes
    ahead = max(1, AHEAD // (PANEL * terms * size)) * PANEL    # columns
    near = ahead if size < 4 else PANEL     # of 16 bits those of 8192 bytes, too (Zen 4: 4096 and 16384 are slower)
    line = CACHE_LINE // size
    touched = f"u * {line}" if apart == terms else f"u / {terms // line} * {apart} + u % {terms // line} * {line}"
    b_offset = c_index(access.b_offset.substitute({access.column: ZERO}), names | batch_names(kernel, "t."))
    values: dict[str, object] = {
        "schedule": schedule.name, "own": own, "rows": rows, "terms": terms, "apart": apart,
        "m_text": c_index(access.rows, names), "n_text": c_index(access.columns, names),
        "batch_text": c_index(access.batches, names),
        "batch_names": [f"b{i}" for i in range(len(kernel.batch))],
        "m_names": [f"m{i}" for i in range(len(kernel.m))] if len(kernel.m) > 1 else [],
        "inline": "__attribute__((noinline))" if schedule.compact else "inline __attribute__((always_inline))",
        "finishes": epilogue.finishes(2 * rows), "partial": not epilogue.whole_panels,
        "place_first": place_first, "place_row": place_row, "batch_decode": batch_decode(kernel, names),
        "a": number[kernel.a.buffer], "b": number[kernel.b[0].buffer], "b_offset": b_offset,
        "row_list": [{"r": r, "offset": row_begins(access, r),
                      "result": ", ".join(f"tct_add_f32(c{r}_{v}, zero)" for v in range(registers))}
                     for r in range(rows)],
        "sums": [{"r": r, "v": v} for r in range(rows) for v in range(registers)],
        "loops": [_terms(isa, kernel.product, access.inside[0].a.value, *one) for one in _walks(isa, rows)],
        "turned": TURNED // size, "size": size, "b_c": C_TYPE[kernel.product.b], "line": touched,
        "next": near, "later": near + ahead, "first_line": "k" if size == 4 else f"k / {4 // size}",
    }
    return expand_file("contraction/term_by_term.c.in", values).rstrip("\n")


def _walks(isa: InstructionSet, rows: int) -> list[tuple[range, range]]:
    """The registers of 16 columns and the rows that each walk over the terms takes: as many as have their sums in
    registers. Where that is no register with all rows, walks have equal parts of these."""
    count, most = PANEL // isa.lanes, isa.registers - LEAST_OTHERS
    high = -(-rows // -(-rows // most))
    some = max(1, min(count, (isa.registers - OTHERS) // high))
    return [(range(at, min(at + some, count)), range(r, min(r + high, rows)))
            for at in range(0, count, some) for r in range(0, rows, high)]


def _terms(isa: InstructionSet, product: Product, step: int, registers: range, rows: range) -> dict[str, object]:
    """The walk over the terms of these registers of columns and these rows. fetches: what is read soon is fetched in
    it."""
    turned = [{"v": v, "first": v * isa.lanes} for v in registers]
    products = []
    for i in range(TURNED // DTYPES[product.b].bytes):
        columns, widened = _columns(product, i, registers)
        products += widened
        at = f"k + {i}" if step == 1 else f"(k + {i}) * {step}"
        for r in rows:
            products.append(f"s = tct_splat_f32(x{r} + {at});")
            products += [f"c{r}_{v} = tct_fma_f32(s, {column}, c{r}_{v});" for v, column in zip(registers, columns)]
    return {"turned": turned, "products": products, "fetches": registers.start == rows.start == 0}


def _columns(product: Product, term: int, registers: range) -> tuple[list[str], list[str]]:
    """Term `term` of what is turned, of each register of columns, and the statements that widen it before."""
    if product == F32:
        return [f"y{v}[{term}]" for v in registers], []
    half = ("lower", "upper")[term % 2]
    names = [f"y{v}_{term}" for v in registers]
    return names, [f"const tct_f32 {name} = tct_{half}_{product.name}(y{v}[{term // 2}]);"
                   for name, v in zip(names, registers)]
