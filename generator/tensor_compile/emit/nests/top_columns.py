# SPDX-License-Identifier: Apache-2.0
"""The first few of a sorted row (top-k), along another axis than the one that lies side by side: lanes are neighbouring
rows of the nest, and the best of each so far stay in registers, in order.

A term goes behind all that it does not stand before, so of equal ones the earlier one is first, as a stable sort has
it. What is kept are the elements, and their positions where these are asked for.
"""
from __future__ import annotations

from ...instruction_sets import InstructionSet
from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Scalar
from ...loops.scalars import last
from ...loops.sorted_columns import FEW, find as sorted_columns, SortedColumns
from ...records import dataclass
from ...symbolic import const, Sym, sym
from ...symbolic.typical import typical
from .columns import by_strips
from .row_sums import placed
from ..scalar import CValue, ScalarEmitter, V_TYPE, extent

SIDE = 4      # vectors of rows that are walked together, where registers hold what they keep
LONG = 64     # terms for each that is kept, from which on a step asks first whether a lane keeps its term


@dataclass(frozen=True, slots=True)
class TopColumns:
    """side: vectors of rows that are walked together."""

    sorted: SortedColumns
    side: int

    @property
    def positions(self) -> bool:
        """Whether they are kept, too."""
        return "position" in self.sorted.stored


def find(kernel: LoopNestKernel, isa: InstructionSet) -> TopColumns | None:
    """None where neighbouring rows are no lanes, or more are kept than is worth it."""
    found = sorted_columns(kernel)
    if found is None or not found.sort.count.is_const or not 1 <= found.sort.count.value <= FEW:
        return None
    kept = found.sort.count.value * (1 + ("position" in found.stored))
    return TopColumns(found, max(1, min(SIDE, isa.room // (kept + 2))))


def emit(e: ScalarEmitter, kernel: LoopNestKernel, form: TopColumns) -> None:
    by_strips(e, kernel, form.side, lambda first, count, lanes: _Strip(e, kernel, form, count).emit(first, lanes))


class _Strip:
    """`count` vectors of rows side by side."""

    def __init__(self, e: ScalarEmitter, kernel: LoopNestKernel, form: TopColumns, count: int):
        self.e, self.count, self.positions, self.row = e, count, form.positions, kernel.rows[-1]
        r, self.terms, self.place = form.sorted.sort, form.sorted.terms, form.sorted.place
        self.sort, self.stored, self.most = r, form.sorted.stored, r.count.value
        self.stores = kernel.phases[1].stores
        self.before = f"tcv_{'descends' if r.descending else 'ascends'}_{r.value.dtype}"
        self.best = [[e.fresh("best") for _ in range(self.most)] for _ in range(count)]

    def emit(self, first: str, lanes: str | None) -> None:
        """All steps of the rows from `first` on, in a scope that the caller closes."""
        e = self.e
        base = Sym(self.row.name, 0, last(self.row) - 16 * (self.count - 1))
        e.names[base] = first
        e.open((base,))
        e.width, e.vector, e.lanes = 16, base, lanes
        values = [placed(self.row, sym(base) + 16 * i)(self.sort.value) for i in range(self.count)]
        for number in range(self.most):
            for best, value in zip(self.best, values, strict=True):
                term = placed(self.terms, const(number))(value)
                self.take(best[:number + 1], term, str(number), True)
        size = extent(self.terms)
        asks = typical(size) >= LONG * self.most
        name = e.bind(self.terms)
        e.open((self.terms,))
        for best, value in zip(self.best, values, strict=True):
            self.take(best, value, name, False, asks)
        e.close(f"for (tc_index {name} = {self.most}; {name} < {e.index(size)}; ++{name})")
        self.store(base)
        e.width, e.vector, e.lanes = 1, None, None

    def take(self, best: list[str], value: Scalar, position: str, fresh: bool, asks: bool = False) -> None:
        """A term takes its place among the best, of which the last one is lost. fresh: the last one is declared; it was
        none. asks: whether to look first if any lane keeps the term."""
        e, x = self.e, self.e.wide(value)
        known = best[:-1] if fresh else best
        masks = [e.fresh("m") for _ in known]
        tests = [f"const tcv_mask {m} = {self.before}({x}, {b});" for m, b in zip(masks, known, strict=True)]
        lines = self.moved(best, masks, value.dtype, x, fresh, "")
        if self.positions:
            here = f"tcv_splat_i32((int32_t){position})"
            lines += self.moved(best, masks, "i32", here, fresh, "_at")
        if not asks:
            e.lines += tests + lines
            return
        inside = [f"    {line}" for line in tests[:-1] + lines]
        e.lines += [tests[-1], f"if (tcv_any_bool({masks[-1]})) {{", *inside, "}"]

    def moved(self, best: list[str], masks: list[str], dtype: str, x: str, fresh: bool, suffix: str) -> list[str]:
        """What stands at each place: the new one, the one from the place before, or what was there."""
        names, lines = [f"{b}{suffix}" for b in best], []
        for i in range(len(best) - 1, -1, -1):
            new = f"tcv_select_{dtype}({masks[i - 1]}, {names[i - 1]}, {x})" if i else x
            if fresh and i == len(best) - 1:
                lines.append(f"{V_TYPE[dtype]} {names[i]} = {new};")
            else:
                lines.append(f"{names[i]} = tcv_select_{dtype}({masks[i]}, {new}, {names[i]});")
        return lines

    def store(self, base: Sym) -> None:
        """The elements and positions of all places."""
        e, place = self.e, () if self.place is None else (self.place,)
        for number in range(self.most):
            for store, what in zip(self.stores, self.stored, strict=True):
                for i, best in enumerate(self.best):
                    change = {self.row: sym(base) + 16 * i, **{v: const(number) for v in place}}
                    text = f"tcv_cast_i32_i64({best[number]}_at)" if what == "position" else best[number]
                    index = tuple(x.substitute(change) for x in store.index)
                    e.store_value(Store(store.buffer, index, store.value), CValue(text, True, len(e.scopes) - 1))
