# SPDX-License-Identifier: Apache-2.0
"""The loops of a nest over its rows: what every loop nest can be run by, and most are (forms.py has the others).

A loop nest of one phase without reductions has no rows to keep together: its innermost loop is cut into pieces of PIECE
elements, which are split over the team like rows. Where rows hold reductions, some neighbouring rows are walked side by
side, so that their chains of dependent operations overlap; every row keeps its own order. Maxima of the rows that come
next are found meanwhile (ahead.py), where a tile holds the rows. row_sums.py says what stands around and in the loop of
a reduction. Other forms take from here how a phase runs in a row.
"""
from __future__ import annotations

from typing import Sequence

from ...instruction_sets import InstructionSet
from ...loops.accesses import written
from ...loops.loop_ir import LoopNestKernel, Phase, RowSort, Store
from ...loops.masks import spreads_nan
from ...loops.scalar_ir import Apply
from ...loops.scalars import bound as bound_in, domain_size, is_function, last, loads, point_number, sorts_wide, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, const, divisor_of, product, sym
from .items import GRAIN, PIECE, is_few, next_item, piece_of, positions, share
from .reduction import BLOCK, siblings
from .rows_together import joined_rows
from .row_sums import copied, exps_of_rows, is_wide, quotients_of_rows, row_reduces, RowSum, row_sum
from ..scalar import ScalarEmitter, CValue, extent, identifier, indent, vectorizable
from . import abreast, ahead, apart, far, in_turn, strips, window

ROOMY = 32        # vectors in registers from which on functions do not fill them


@dataclass(slots=True)
class _Row:
    """What the loops of a phase do for one row."""

    sums: list[RowSum]
    stores: Sequence[Store]


class GeneralNest:
    """windows: what phases store are windows (window.py), all terms of which are code of their own."""

    def __init__(self, kernel: LoopNestKernel, isa: InstructionSet, emitter: type[ScalarEmitter],
                 windows: bool = False):
        self.kernel, self.isa, self.are_windows = kernel, isa, windows
        self.vectors = isa.has_vectors
        self.written = frozenset(written(kernel))
        self.spreads_nan = spreads_nan(kernel)
        names = {s: f"n_{identifier(s.name)}" for s in kernel.dims}
        pointers = {b.name: f"p{i}" for i, b in enumerate(kernel.params)}
        buffers = {b.name: b for b in kernel.params}
        self.e = emitter(names, pointers, 1, buffers=buffers, written=self.written)
        self.e.steady = True
        self.e.below = self.spreads_nan and sum(isinstance(x, Apply) and x.op == "exp" for s in kernel.phases
                                                for x in set(walk(*s.values))) == 1
        for phase in kernel.phases:
            self.e.siblings |= siblings(phase.stores)
        self.side = joined_rows(kernel, isa)
        self.strips = 1    # vectors of points that share their loops
        self.takes_turns = isa.has_vectors and type(self.e) is ScalarEmitter and not windows
        self.fetches: list[tuple[str, Expr, Sym]] = []    # what the next loop of 16 does: pointer, place, its variable
        self.maxima: list[RowSum] = []    # of the rows that come next, of each the same ones
        self.found_ahead: list[RowSum] = []    # what the loops of this phase find beside

    # -- rows ---------------------------------------------------------------------------------------------------------
    def nest(self) -> None:
        """Loops over rows, split over the team."""
        kernel, e = self.kernel, self.e
        flat = len(kernel.phases) == 1 and not kernel.phases[0].reduces and bool(kernel.phases[0].vars)
        inner = kernel.phases[0].vars[-1] if flat else None
        self.strips = strips.side_by_side(kernel.phases[0], e.buffers, self.isa) if flat else 1
        few = flat and self.vectors and is_few(product(extent(s) for s in kernel.rows))
        pieces, size = None, piece_of(kernel.phases[0].values, PIECE, 16 * self.strips) if few else PIECE
        if inner is not None and len(kernel.phases[0].vars) == 1 \
                and not (extent(inner).is_const and extent(inner).value <= size):
            pieces = (extent(inner) + size - 1) // size
        turn = in_turn.rows_in_turn(kernel) if flat and self.takes_turns and is_wide(kernel.phases[0], self.isa) else 1
        side, alone = self.side, kernel.rows if self.side == turn == 1 else kernel.rows[:-1]
        e.streaming = self.streamed()
        items = product(extent(s) for s in alone) * (pieces if pieces is not None else const(1))
        if side > 1:
            blocks = (extent(kernel.rows[-1]) + (side - 1)) // side
            items = items * blocks
        e.lines += share(e, items, self.grain(pieces, size, turn))
        if e.streaming:
            e.lines.append(far.test(e, kernel, sorted(e.streaming)) + " /* from the threads' caches */")
        loops: list[tuple[str, str]] = []
        for s in alone:
            loops.append((e.bind(s), e.index(extent(s))))
        if side > 1:
            loops.append((e.fresh("block"), e.index(blocks)))
        if pieces is not None:
            loops.append((e.fresh("piece"), e.index(pieces)))
        e.lines += positions(loops, "begin")
        if side > 1 and ahead.finds(kernel, side, self.isa):
            self.first_maxima(kernel.rows[-1], f"{loops[-1][0]} * {side}")
        e.open(alone)
        if inner is not None and pieces is not None:
            piece = loops[-1][0]
            low = e.fresh("low")
            high = e.fresh("high")
            e.lines += [f"const tc_index {low} = {piece} * {size};",
                        f"const tc_index {high} = tc_min({low} + {size}, {e.index(extent(inner))});"]
            self.phase(in_turn.rows(kernel, turn), (low, high))
        elif turn > 1:
            self.phase(in_turn.rows(kernel, turn), None)
        elif side > 1:
            self.together(kernel.rows[-1], f"{loops[-1][0]} * {side}")
        else:
            for phase in kernel.phases:
                self.phase([phase], None)
        if len(loops) > 0:
            e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
        e.close("for (tc_index item = begin; item < end; ++item)")
        if e.streaming:
            e.lines += far.END

    def grain(self, pieces: Expr | None, size: int, turn: int) -> int:
        """Items that are worth a thread. pieces: of a row, of `size` elements each. turn: rows that an item has."""
        grain = max(1, self.kernel.grain // turn)
        if pieces is not None and (not pieces.is_const or pieces.value > 1):
            grain = max(1, min(grain * 64, GRAIN) // PIECE) if grain > 1 else GRAIN // PIECE if size == PIECE else 1
        return -(-grain // self.side)

    def streamed(self) -> set[str]:
        """The buffers that are stored past the caches: all where that was chosen (loops/far.py); of rows side by side
        large outputs, where all that the kernel touches is more than the caches hold. Their rows lie apart by whole
        lines, and the kernel does not load them."""
        kernel = self.kernel
        chosen = bool(kernel.far) and is_wide(kernel.phases[0], self.isa)
        if self.side == 1 and not chosen or any(b.kind == "tile" for b in kernel.params):
            return set()
        found = set()
        loaded = {x.buffer for phase in kernel.phases for x in loads(*phase.values)}
        for b in kernel.params:
            stores = [(phase, x) for phase in kernel.phases for x in phase.stores if x.buffer == b.name]
            wanted = chosen and bool(stores) or b.kind == "output" and far.large(b)
            if wanted and b.dtype == "f32" and b.name not in loaded \
                    and all(phase.vars and _in_lines(b.address(x.index), phase.vars[-1]) for phase, x in stores):
                found.add(b.name)
        return found

    def together(self, row: Sym, first: str) -> None:
        """`side` rows from `first` side by side; one after the other where fewer are left."""
        e, side, size = self.e, self.side, extent(row)
        exact = not (size % side).terms
        start = e.fresh("row")
        e.lines.append(f"const tc_index {start} = {first};")
        if not (size.is_const and size.value < side):
            base = Sym(row.name, 0, last(row) - (side - 1))
            following = Sym("next", 0, base.hi)
            e.names[base] = start
            e.open((base, following))
            fetched = self.next_rows(row, start)
            for number, phase in enumerate(self.kernel.phases):
                if number == 0 and self.maxima:
                    self.take_maxima(row, base, following)
                    continue
                if phase is self.kernel.phases[-1]:
                    self.fetches = fetched
                self.phase([copied(phase, row, sym(base) + i, f"_{i}") for i in range(side)], None)
                self.found_ahead = []
            self.fetches = []
            e.close("" if exact else f"if ({start} + {side} <= {e.index(size)})")
        if not exact:
            name = e.bind(row)
            e.open((row,))
            for phase in self.kernel.phases:
                self.phase([phase], None)
            end = f"tc_min({start} + {side}, {e.index(size)})"
            rest = f"for (tc_index {name} = {start}; {name} < {end}; ++{name})"
            e.close(rest if size.is_const and size.value < side else f"else {rest}")

    def first_maxima(self, row: Sym, start: str) -> None:
        """Those of the first rows, before the loop over rows."""
        e, first = self.e, self.kernel.phases[0]
        base = Sym(row.name, 0, last(row) - (self.side - 1))
        e.names[base] = e.fresh("row")
        e.lines.append(f"const tc_index {e.names[base]} = {start};")
        for i in range(self.side):
            copy = copied(first, row, sym(base) + i, f"_{i}")
            self.maxima += [row_sum(e, r, True, copy.vars, self.spreads_nan) for r in row_reduces(copy)]
        e.open((base,))
        inner = first.vars[-1]
        self.phase_loop([_Row(self.maxima, ())], inner, True, "0", e.index(extent(inner)), extent(inner))
        e.close("")

    def take_maxima(self, row: Sym, base: Sym, following: Sym) -> None:
        """Names the maxima of these rows; the second phase finds those of the rows `following`, which are these again
        behind the last ones."""
        e, side = self.e, self.side
        e.names[following] = e.fresh("next")
        e.lines.append(f"const tc_index {e.names[following]} = {e.names[base]} + (item + 1 < end ? {side} : 0);")
        for s in self.maxima:
            s.finish(e)
            e.lines += s.clear()
        self.found_ahead = ahead.following(self.kernel, self.maxima, [sym(following) + i for i in range(side)])

    def next_rows(self, row: Sym, start: str) -> list[tuple[str, Expr, Sym]]:
        """What the last phase fetches: all that is loaded of the next rows from large tensors. Its loop has the most to
        compute, while the first one's, of the next rows, would only wait."""
        e, side, (*before, last_phase) = self.e, self.side, self.kernel.phases
        if not before or not last_phase.vars or any(b.kind == "tile" for b in self.kernel.params):
            return []
        inner = last_phase.vars[-1]
        found: dict[tuple[str, Expr], None] = {}
        for phase in self.kernel.phases:
            if len(phase.vars) != 1 or extent(phase.vars[-1]) != extent(inner):
                continue
            inside = set().union(*map(bound_in, phase.values))   # variables that are none here
            for x in loads(*phase.values):
                b = e.buffers[x.buffer]
                if x.dynamic or x.valid or x.dtype != "f32" or b.name in self.written or not far.large(b):
                    continue
                place = b.address(x.index).substitute({phase.vars[-1]: sym(inner)})
                if place.coefficient(inner) == 1 and row in place.symbols() and inside.isdisjoint(place.symbols()):
                    found[b.name, place] = None
        if not found:
            return []
        following = Sym("next", 0, last(row) - (side - 1))
        name = e.names[following] = e.fresh("next")
        e.lines.append(f"const tc_index {name} = {start} + ({start} + {2 * side} <= {e.index(extent(row))} ? {side} "
                       ": 0);")
        return [(e.pointers[buffer], place.substitute({row: sym(following) + i}), inner)
                for buffer, place in found for i in range(side)]

    # -- phases -------------------------------------------------------------------------------------------------------
    def phase(self, phases: list[Phase], piece: tuple[str, str] | None) -> None:
        """One phase of each row that runs side by side."""
        e, phase = self.e, phases[0]
        if not phase.vars:
            for one in phases:
                e.open()
                e.stores(one.stores)
                lines = e.scopes.pop().lines
                e.lines += ["{", *indent(lines), "}"] if lines else []
            return
        if len(phases) > 1 and self.isa.room < ROOMY \
                and any(isinstance(x, Apply) and is_function(x.op) for x in walk(*phase.values)):
            for one in phases:
                self.phase([one], piece)
            return
        if len(phase.reduces) == 1 and isinstance(phase.reduces[0], RowSort):
            return self.sort(phase, phase.reduces[0])
        inner, outer = phase.vars[-1], phase.vars[:-1]
        wide = is_wide(phase, self.isa)
        rows = [_Row([row_sum(e, r, wide, one.vars, self.spreads_nan) for r in row_reduces(one)], one.stores)
                for one in phases]
        blocks = [s for row in rows for s in row.sums if s.total]
        if blocks and not outer:
            self.blocks(rows, inner, wide, blocks)
        else:
            heads = [e.loop(s) for s in outer]
            low, high = piece or ("0", e.index(extent(inner)))
            alone = len(rows) == 1 and not outer and not rows[0].stores
            many = apart.terms_apart(rows[0].sums, inner) if alone else 0
            if many:
                low = self.terms_apart(rows[0].sums, inner, many)
            self.phase_loop(rows, inner, wide, low, high, None if piece or many else extent(inner))
            for head in reversed(heads):
                e.close(head)
        for row in rows:
            for s in row.sums:
                s.finish(e)

    def terms_apart(self, sums: list[RowSum], inner: Sym, count: int) -> str:
        """The first terms of a row, in several vectors; where the others begin."""
        e = self.e
        first, made = apart.others(e, sums, inner)
        name = e.bind(first)
        self.body([_Row(made, ())], first, None, 16)
        e.close(f"for (tc_index {name} = 0; {name} < {count}; {name} += {16 * apart.VECTORS})")
        apart.combine(e, sums, made)
        return str(count)

    def blocks(self, rows: list[_Row], inner: Sym, wide: bool, blocks: list[RowSum]) -> None:
        """Blocks of 4096 terms: the lanes of each are combined before the next."""
        e = self.e
        block, end = e.fresh("block"), e.fresh("end")
        e.open()
        e.lines.append(f"const tc_index {end} = tc_min({block} + {BLOCK}, {e.index(extent(inner))});")
        for s in blocks:
            e.lines += s.clear()
        self.phase_loop(rows, inner, wide, block, end, None)
        for s in blocks:
            e.lines.append(f"{s.total} = {s.added()};")
        e.close(f"for (tc_index {block} = 0; {block} < {e.index(extent(inner))}; {block} += {BLOCK})")

    # -- sorting ------------------------------------------------------------------------------------------------------
    def sort(self, phase: Phase, r: RowSort) -> None:
        """The row's keys and positions into scratch, sorted there (tc_sort.h), positions left behind."""
        e = self.e
        e.headers.add("tc_sort.h")
        place, dtype = e.pointers[r.buffer], r.value.dtype
        wide = "_wide" if sorts_wide(dtype, domain_size(phase.vars)) else ""
        heads = [e.loop(s) for s in phase.vars]
        key = f"tc_sort_key_{dtype}({e.scalar(r.value)})"
        number = e.index(point_number(phase.vars))
        e.lines.append(f"tc_sort_put{wide}({place}, {number}, {f'~{key}' if r.descending else key});")
        for head in reversed(heads):
            e.close(head)
        e.lines.append(f"tc_sort_row{wide}({place}, {e.index(domain_size(phase.vars))}, {e.index(r.count)});")

    # -- loops of a phase ---------------------------------------------------------------------------------------------
    def phase_loop(self, rows: list[_Row], inner: Sym, wide: bool, low: str, high: str, size: Expr | None) -> None:
        """The innermost loop from low (a multiple of 16) to high; `size` is its extent where it is the whole loop."""
        e = self.e
        if wide and self.strips > 1:
            low, size = self.strip(rows[0].stores, inner, low, high), None
            if not (extent(inner) % (16 * self.strips)).terms:
                return
        elif wide and len(rows) == 1 and self.stands_alone(rows[0], inner):
            low, size = self.abreast(rows[0], inner, low, high), None
            if not (extent(inner) % (16 * abreast.VECTORS)).terms:
                return
        name = e.bind(inner)
        if not wide:
            self.body(rows, inner, None, 1)
            e.close(f"for (tc_index {name} = {low}; {name} < {high}; ++{name})")
            return
        whole = divisor_of(extent(inner)) % 16 == 0 and extent(inner).terms
        if size is not None and size.is_const:
            full, rest = size.value // 16 * 16, size.value % 16
            if full:
                self.body(rows, inner, None, 16)
                if full == 16:
                    self.pinned(name, "0")
                else:
                    e.close(f"for (tc_index {name} = 0; {name} < {full}; {name} += 16)")
            if rest:
                self.body(rows, inner, str(rest), 16)
                self.pinned(name, str(full))
            return
        if whole:
            self.body(rows, inner, None, 16)
            e.close(f"for (tc_index {name} = {low}; {name} < {high}; {name} += 16)")
            return
        e.open()
        e.lines.append(f"tc_index {name} = {low};")
        self.body(rows, inner, None, 16)
        e.close(f"for (; {name} + 16 <= {high}; {name} += 16)")
        self.body(rows, inner, "rest", 16)
        e.scopes[-1].lines.insert(0, f"const tc_index rest = {high} - {name};")
        e.close(f"if ({name} < {high})")
        e.close("")

    def stored_along(self, phase: Phase, store: Store) -> None:
        """One store of a phase along its innermost variable."""
        inner = phase.vars[-1]
        wide = self.vectors and phase.vector and vectorizable([store.value], inner)
        self.phase_loop([_Row([], [store])], inner, wide, "0", self.e.index(extent(inner)), extent(inner))

    def strip(self, stores: Sequence[Store], inner: Sym, low: str, high: str) -> str:
        """As many points as fill vectors side by side; where the others begin."""
        e, begin, many = self.e, self.e.fresh("low"), 16 * self.strips
        first, copies = strips.beside(stores, inner, self.strips)
        e.lines.append(f"tc_index {begin} = {low};")
        e.names[first] = begin
        e.siblings |= siblings(copies)
        self.body([_Row([], copies)], first, None, 16)
        e.close(f"for (; {begin} + {many} <= {high}; {begin} += {many})")
        return begin

    def stands_alone(self, row: _Row, inner: Sym) -> bool:
        """Whether vectors of the one row are walked side by side."""
        return self.side == 1 and not self.are_windows and not self.found_ahead and not self.fetches \
            and abreast.side_by_side(self.e, self.isa, row.sums, row.stores, inner)

    def abreast(self, row: _Row, inner: Sym, low: str, high: str) -> str:
        """As many points as fill vectors of the row side by side; where the others begin."""
        e, begin, many = self.e, self.e.fresh("low"), 16 * abreast.VECTORS
        first, made = abreast.copies(row.sums, row.stores, inner)
        e.lines.append(f"tc_index {begin} = {low};")
        e.names[first] = begin
        self.body([_Row(sums, stores) for sums, stores in made], first, None, 16)
        e.close(f"for (; {begin} + {many} <= {high}; {begin} += {many})")
        return begin

    def pinned(self, name: str, at: str) -> None:
        self.e.lines.insert(0, f"const tc_index {name} = {at};")
        self.e.close("")

    def body(self, rows: list[_Row], inner: Sym, lanes: str | None, width: int) -> None:
        """One step of the loop, in a scope that the caller closes."""
        e = self.e
        rows = [_Row(self.found_ahead, ()), *rows] if self.found_ahead else rows
        e.open((inner,))
        e.width, e.vector, e.lanes = width, inner if width == 16 else None, lanes
        if lanes is None:
            for pointer_text, place, variable in self.fetches:
                at = e.index(place.substitute({variable: sym(inner)}))
                e.lines.append(f"__builtin_prefetch({pointer_text} + ({at}), 0, 2);")
            self.fetches = []
        mask = ""
        if lanes is not None and any(row.sums for row in rows):
            mask = e.fresh("m")
            e.lines.append(f"const tcv_mask {mask} = tcv_range(0, {lanes});")
        if self.are_windows:
            window.compute(e, [x for row in rows for x in row.stores])
        stores, joins = [x for row in rows for x in row.stores], False
        if width == 16 and self.takes_turns:
            sums = [s.reduce.value for row in rows for s in row.sums]
            joins = not sums and in_turn.joins(e, stores)
            in_turn.take(e, [*sums, *(x.value for x in stores)])
        if width == 16 and self.e.below and self.isa.lanes == 16:
            exps_of_rows(e, [x.value for x in stores] or
                         [s.reduce.value for row in rows for s in row.sums if s.reduce.op == "sum"])
        if width == 16 and self.isa.lanes == 16 and len(rows) > 1:
            quotients_of_rows(e, [x.value for x in stores])
        kept: list[tuple[Store, CValue]] = []
        for row in rows:
            later = []
            for s in row.sums:
                if s.reduce.order == "running":
                    s.accumulate(e, mask, e.names[inner])
                    e.locals[s.reduce.name] = CValue(s.acc, False, len(e.scopes) - 1)
                    continue
                later.append(s)
                if s.reduce.op != "dot":
                    e.value(s.reduce.value)
            results = [(x, e.value(x.value)) for x in row.stores]
            for s in later:
                s.accumulate(e, mask, e.names[inner])
            if joins:
                kept += results
            else:
                for x, result in results:
                    e.store_value(x, result)
        in_turn.put(e, kept, e.store_value)
        e.width, e.vector, e.lanes = 1, None, None


def _in_lines(place: Expr, inner: Sym) -> bool:
    """16 elements from a multiple of 16 on."""
    return place.coefficient(inner) == 1 and divisor_of(place - sym(inner)) % 16 == 0
