# SPDX-License-Identifier: Apache-2.0
"""How rows of a, and columns of b, are copied before micro-kernels read them: what the templates are told. A position
is found from its number among all terms; bytes that lie side by side are copied as a run."""
from __future__ import annotations

from typing import Mapping

from ...instruction_sets import InstructionSet
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...records import dataclass
from ...symbolic import Expr, Sym, const, product, sym
from .access import Access, TermLoop
from .schedule_blocks import Blocks, copied_planes, sorts_in_place
from .walk import row_at
from ..index import c_index

PACK_AHEAD = 12   # terms by which lines of b are fetched before they are copied


@dataclass(frozen=True, slots=True)
class Run:
    """`taps` times `each` elements of a row that lie side by side; tap: the loop over those taps, None for one."""

    tap: Sym | None
    taps: int
    each: int


@dataclass(frozen=True, slots=True)
class Copies:
    """names: of symbols in C."""

    kernel: ContractionKernel
    schedule: Schedule
    access: Access
    isa: InstructionSet
    names: Mapping[Sym, str]
    blocks: Blocks

    def text(self, e: Expr, extra: Mapping[Sym, str] | None = None) -> str:
        return c_index(e, {**self.names, **(extra or {})})

    def values(self) -> dict[str, object]:
        """What templates/contraction/memory.c.in is told of them."""
        access = self.access
        loops = access.border if access.bounds else access.inside
        bounded = {s for bound in access.bounds for s in bound.term.symbols()}
        whole = loops[-1].var not in bounded
        inner, taps = (loops[-1], loops[:-1]) if whole else (None, loops)
        run, planes = self.run(inner, taps), copied_planes(access, self.schedule)
        if run is not None and run.tap is not None or planes is not None:
            taps = taps[:-1]
        k_names = {loop.var: f"q{i}" for i, loop in enumerate(loops)}
        a_tap = sum((loop.a * sym(loop.var) for loop in taps), const(0))
        # b is never copied where there is padding: all its loops are those inside
        flat = {loop.var: f"q{i}" for i, loop in enumerate(access.inside)}
        b_flat = sum((loop.b * sym(loop.var) for loop in access.inside), const(0))
        step = self.text(inner.a) if inner else "0"
        lines = len(access.inside) == 1 and self.isa.lanes > 1
        whole_rows = not self.schedule.kc and access.elements.is_const
        wide = access.product.rows != self.kernel.a.dtype
        apart = self.blocks.form.halves > 1
        # windows of 3 x 3 with three channels
        nines = run is not None and run.taps * run.each == 9 and whole_rows and len(taps) == 1 \
            and taps[0].extent == 3 and self.isa.vectors in ("AVX2", "AVX512") \
            and not (apart or self.blocks.form.starts or self.blocks.form.tiles)
        return {
            "nines": self.text(taps[0].a) if nines else "",
            "copy_nines": "tct_widen_nines" if wide else "tct_copy_nines",
            "pack_ahead": PACK_AHEAD if lines else 0, "pack_step": self.text(access.inside[-1].b),
            "copy": "tct_widen_bytes" if wide else "tct_copy_bytes",
            "copy_sign": f", {int(self.kernel.a.dtype == 'i8')}" if wide else "",
            "runs": run is not None, "run_taps": run.taps if run else 0, "run_each": run.each if run else 0,
            "run_bounds": self.run_bounds(run, k_names) if run else [],
            "whole_rows": whole_rows,
            "taken": self.blocks.form.taken if sorts_in_place(access, self.schedule) else "",
            # the sum of a row comes with its copy, of the rows that lie in no padding
            "summed": run is not None and self.blocks.form.starts and whole_rows and not apart,
            "between": run is not None and access.product.integer and whole_rows and not wide,
            "runs_padded": run is not None and bool(access.bounds), "row_inside": self.row_inside, "apart": apart,
            "row_bytes": str(access.elements),
            "row_taps": self.text(product(loop.extent for loop in taps)),
            "inner": str(run.taps * run.each) if run else str(planes.positions * planes.count) if planes else
            self.text(inner.extent) if inner else "1",
            "planes": range(planes.count) if planes else (), "plane_count": planes.count if planes else 0,
            "plane_step": planes.step if planes else 0, "positions": planes.positions if planes else 0,
            "a_tap": self.text(a_tap, k_names),
            "a_decode": "\n".join(self.decode("tap", taps, k_names)), "a_row_offset": row_at(access, "r"),
            "a_k": "k" if step == "1" else f"k * ({step})",
            "a_inside": " | ".join(f"(t->bound[r][{e}] + ({self.text(b.term, k_names)}))"
                                   for e, b in enumerate(access.bounds)),
            "b_decode": "\n".join(self.decode("(k0 + k)", access.inside, flat)), "b_flat": self.text(b_flat, flat)}

    def run(self, inner: TermLoop | None, taps: tuple[TermLoop, ...]) -> Run | None:
        """What of a row lies side by side in memory, bytes that are copied as they are: the innermost loop, with the
        last one of the taps where its steps are as long. None where that is not known."""
        access = self.access
        if access.product.rows not in (self.kernel.a.dtype, "i16") or self.kernel.a.dtype not in ("i8", "u8") \
                or inner and not (inner.a == 1 and inner.extent.is_const):
            return None
        each, tap = inner.extent.value if inner else 1, taps[-1] if taps else None
        if tap is not None and tap.a == each and tap.extent.is_const \
                and all(b.term.coefficient(tap.var) in (-1, 0, 1) for b in access.bounds):
            return Run(tap.var, tap.extent.value, each)
        return Run(None, 1, each) if inner else None

    def run_bounds(self, run: Run, names: dict[Sym, str]) -> list[str]:
        """Of the taps of a run those from `low` up to `high` exist."""
        out = []
        for e, bound in enumerate(self.access.bounds):
            c = bound.term.coefficient(run.tap) if run.tap is not None else const(0)
            first = bound.term.substitute({run.tap: const(0)}) if run.tap is not None else bound.term
            base = f"t->bound[r][{e}] + ({self.text(first, names)})"
            out.append(f"low = tc_max(low, -({base}));" if c == 1 else
                       f"high = tc_min(high, {base} + 1);" if c == -1 else f"high = {base} < 0 ? 0 : high;")
        return out

    @property
    def row_inside(self) -> str:
        """Whether all taps of row r of the tile exist."""
        least = [(e, b.least) for e, b in enumerate(self.access.bounds) if b.least is not None]
        if not least or len(least) < len(self.access.bounds):
            return "0"
        return f"({' | '.join(f'(t->bound[r][{e}] + ({self.text(x)}))' for e, x in least)}) >= 0"

    def decode(self, number: str, loops: tuple[TermLoop, ...], names: dict[Sym, str]) -> list[str]:
        out = []
        for i, loop in enumerate(loops):
            size = self.text(product(x.extent for x in loops[i + 1:]))
            value = f"{number} / ({size})" if i + 1 < len(loops) else number
            out.append(f"const tc_index {names[loop.var]} = {f'{value} % ({self.text(loop.extent)})' if i else value};")
        return out
