# SPDX-License-Identifier: Apache-2.0
"""A LoopNestKernel as one C function (docs/loops.md, kernel ABI).

Rows are flattened and split over the team; a thread finds its first row by division and steps from there. In a row the
phases run one after the other, each a loop over its variables, the innermost 16 at a time with an exact tail. A loop
nest of one phase without reductions has no rows to keep together: its innermost loop is cut into pieces of PIECE
elements, which are split over the team like rows.

Where rows hold reductions, some neighbouring rows are walked side by side, so that their chains of dependent operations
overlap; every row keeps its own order. Maxima of the rows that come next are found meanwhile (ahead.py), where a tile
holds the rows. row_sums.py says what stands around and in the loop of a reduction.
"""
from __future__ import annotations

from typing import Sequence

from ...instruction_sets import instruction_set, WIDE
from ...loops.accesses import written
from ...loops.loop_ir import Kernel, LoopNestKernel, Phase, RowSort, Store
from ...loops.masks import spreads_nan
from ...loops.plan import bytes_of
from ...loops.scalar_ir import Apply, Buffer, Scalar
from ...loops.scalars import bound as bound_in, domain_size, last, is_function, loads, point_number, sorts_wide, \
    symbols_of, walk
from ...records import dataclass
from ...symbolic import Expr, Sym, const, divisor_of, product, sym
from ..frame import Frame, PROCESSOR
from ..identity import storage
from .items import channels_of, is_few, next_item, piece_of, positions
from .reduction import BLOCK, POSITIONS, siblings
from .rows_together import rows_together
from .row_sums import copied, exps_of_rows, quotients_of_rows, row_reduces, RowSum, row_sum
from ..scalar import C_TYPE, V_TYPE, ScalarEmitter, CValue, extent, identifier, indent, vectorizable
from . import ahead, along_lines, lane_groups, transpose, turned_copies, turned_loads, turns, window

# Scheduling before register allocation interleaves what is written one after the other, until registers run out.
PLAIN_SCHEDULE = ["#if defined(__GNUC__) && !defined(__clang__)", '#pragma GCC optimize("no-schedule-insns")', "#endif"]
PIECE = 1024      # elements of the innermost loop that a thread takes at a time, a multiple of 16
A_ROW = 4         # vectors that a row of reductions keeps in registers
ROOMY = 32        # vectors in registers from which on functions do not fill them
FEW_ROWS = 16     # rows below which none are joined, so that a team finds enough of them
FAR = 1 << 21     # bytes of a tensor from which on the next rows are fetched, and results pass the caches by
NEAR = 1 << 20    # bytes that the second cache of a thread holds
GRAIN = 4096      # elements that are worth another thread where the kernel's grain counts whole rows of many pieces


def parameters(kernel: Kernel) -> list[str]:
    """The lines of a kernel's header comment that describe p and d."""
    lines = []
    for i, b in enumerate(kernel.params):
        order = "" if b.order == tuple(range(len(b.shape))) else f", order {', '.join(map(str, b.order))}"
        kind = f"{storage(b)} {b.dtype}".lstrip()
        lines.append(f" *   p[{i}]  {kind}[{', '.join(str(d) for d in b.shape)}]{order}")
    return lines + [f" *   d[{i}]  {s.name}" for i, s in enumerate(kernel.dims)]


def pointer(i: int, b: Buffer, written: bool) -> list[str]:
    """Declares p<i>, the first element of a parameter. Only what is never written through another pointer is
    `restrict`: the planner may put a result where one of its operands was."""
    c_type = C_TYPE[b.dtype]
    if b.kind == "scratch":
        return [f"{c_type} *restrict const p{i} = p[{i}];"]
    const_text = "" if written else "const "
    restrict = "restrict " if b.kind == "packed" else ""
    return [f"{const_text}{c_type} *{restrict}const p{i} = p[{i}];".replace("*const", "*const")]


def emit_loop_nest(kernel: LoopNestKernel, isa: str, symbol: str, emitter: type[ScalarEmitter] = ScalarEmitter,
                   frame: Frame = PROCESSOR) -> str:
    return LoopNestEmitter(kernel, isa, emitter).source(symbol, frame)


@dataclass(slots=True)
class _Row:
    """What the loops of a phase do for one row."""

    sums: list[RowSum]
    stores: Sequence[Store]


class LoopNestEmitter:
    HEADERS: tuple[str, ...] = ("tc_scalar.h",)    # where there are no vectors

    def __init__(self, kernel: LoopNestKernel, isa: str, emitter: type[ScalarEmitter]):
        self.kernel, self.isa = kernel, instruction_set(isa)
        self.vectors = self.isa.has_vectors
        self.written = frozenset(written(kernel))
        self.spreads_nan = spreads_nan(kernel)
        names = {s: f"n_{identifier(s.name)}" for s in kernel.dims}
        pointers = {b.name: f"p{i}" for i, b in enumerate(kernel.params)}
        buffers = {b.name: b for b in kernel.params}
        self.e = emitter(names, pointers, 1, buffers=buffers, written=self.written)
        self.e.steady = True
        self.e.below = self.spreads_nan and sum(isinstance(x, Apply) and x.op == "exp" for s in kernel.phases
                                                for x in set(walk(*_values(s)))) == 1
        for phase in kernel.phases:
            self.e.siblings |= siblings(phase.stores)
        self.side = rows_together(kernel, max(1, self.isa.room // A_ROW)) if self.joins() else 1
        self.fetches: list[tuple[str, Expr, Sym]] = []    # what the next loop of 16 does: pointer, place, its variable
        self.maxima: list[RowSum] = []    # of the rows that come next, of each the same ones
        self.found_ahead: list[RowSum] = []    # what the loops of this phase find beside
        self.cut: window.Cut | None = None
        self.lane_groups: lane_groups.LaneGroups | None = None
        if self.vectors and type(self.e) is ScalarEmitter:
            self.find_cut()

    def find_cut(self) -> None:
        """How positions of the last row are computed side by side, where they are."""
        found, (first, *_) = lane_groups.find(self.kernel, self.isa), self.kernel.phases
        if found is not None and self.is_wide(found.kernel.phases[0]):
            self.lane_groups, self.kernel, self.cut = found, found.kernel, found.cut
        elif (cut := window.cut(self.kernel, self.isa)) is not None and self.is_wide(first):
            self.cut = cut

    def joins(self) -> bool:
        """Whether neighbouring rows may run side by side: all phases are 16 wide and rows share no memory."""
        kernel = self.kernel
        count = product(extent(s) for s in kernel.rows)
        return bool(kernel.rows) and not (count.is_const and count.value < FEW_ROWS) \
            and any(s.reduces for s in kernel.phases) and all(not s.vars or self.is_wide(s) for s in kernel.phases) \
            and not any(b.kind == "scratch" for b in kernel.params)

    # -- the function -----------------------------------------------------------------------------------------------
    def source(self, symbol: str, frame: Frame) -> str:
        """The kernel's C."""
        kernel, e = self.kernel, self.e
        plain = self.vectors and type(e) is ScalarEmitter
        turned = transpose.transposition(kernel) if plain else None
        moved = turned_copies.turn(kernel) if plain and turned is None else None
        across = turned_loads.turned_loads(kernel) if plain and turned is None and moved is None else None
        if across is not None and not self.is_wide(kernel.phases[0]):
            across = None
        if any(x.dynamic for x in kernel.stores):
            self.scatter()
        elif turned is not None:
            e.lines += self.split(product(extent(s) for s in kernel.rows[:-1]), None, turned.count)
            transpose.emit(e, kernel, turned)
        elif moved is not None:
            self.turned_copy(moved)
        elif across is not None:
            e.lines += self.split(across.items, None, max(1, across.side * across.length // _each(kernel)))
            turned_loads.emit(e, kernel, across, lambda phase, low, high: self.phase([phase], (low, high)))
        elif self.cut is not None:
            self.windows(self.cut)
        elif type(e) is ScalarEmitter and turns.in_turn(kernel, self.isa) and self.is_wide(kernel.phases[0]):
            e.lines += self.split(product(extent(s) for s in kernel.rows[:-1]), None, turns.TURNS)
            turns.emit(e, kernel)
        else:
            self.nest()
        sorts = any(isinstance(r, RowSort) for phase in kernel.phases for r in phase.reduces)
        head = ["/* SPDX-License-Identifier: Apache-2.0", f" * {kernel.label}: loop nest over {_space(kernel.rows)}"
                f"; phases {'; '.join(_space(s.vars) for s in kernel.phases)}.", *parameters(kernel), " */",
                *(PLAIN_SCHEDULE if self.isa.plain_schedule else []),
                f"#include \"{'tc_vector.h' if self.vectors else frame.header}\"",
                *([] if self.vectors else [f'#include "{name}"' for name in self.HEADERS]),
                *(['#include "tc_sort.h"'] if sorts else []),
                *(['#include "tc_transpose.h"'] if turned is not None else []),
                *(['#include "tc_turn.h"'] if moved is not None or across is not None else []),
                *(['#include "tc_groups.h"'] if self.lane_groups is not None else []), "",
                frame.begin(symbol), "{",
                *indent(self.prologue()), *indent(e.lines), "}", ""]
        return "\n".join(head)

    def nest(self) -> None:
        """Loops over rows, split over the team."""
        kernel, e = self.kernel, self.e
        flat = len(kernel.phases) == 1 and not kernel.phases[0].reduces and bool(kernel.phases[0].vars)
        inner = kernel.phases[0].vars[-1] if flat else None
        few = flat and self.vectors and is_few(product(extent(s) for s in kernel.rows))
        pieces, size = None, piece_of(_values(kernel.phases[0]), PIECE) if few else PIECE
        if inner is not None and len(kernel.phases[0].vars) == 1 \
                and not (extent(inner).is_const and extent(inner).value <= size):
            pieces = (extent(inner) + size - 1) // size
        side, alone = self.side, kernel.rows if self.side == 1 else kernel.rows[:-1]
        e.streaming = self.streamed()
        items = product(extent(s) for s in alone) * (pieces if pieces is not None else const(1))
        if side > 1:
            blocks = (extent(kernel.rows[-1]) + (side - 1)) // side
            items = items * blocks
        e.lines += self.split(items, pieces, size=size)
        if e.streaming:
            each = sum(bytes_of(b).value for b in kernel.params if bytes_of(b).is_const)
            aligned = " && ".join(f"((uintptr_t){e.pointers[name]} & 63) == 0" for name in sorted(e.streaming))
            e.lines.append(f"const int far = threads * {NEAR} < {each} && {aligned}; /* from the threads' caches */")
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
            self.phase([kernel.phases[0]], (low, high))
        elif side > 1:
            self.together(kernel.rows[-1], f"{loops[-1][0]} * {side}")
        else:
            for phase in kernel.phases:
                self.phase([phase], None)
        if len(loops) > 0:
            e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
        e.close("for (tc_index item = begin; item < end; ++item)")
        if e.streaming:
            e.lines += ["if (far)", "    tcv_stream_end();"]

    def streamed(self) -> set[str]:
        """The outputs that are stored past the caches where all that the kernel touches is more than these hold: large
        ones of rows that lie apart by whole lines, which the kernel does not load."""
        kernel = self.kernel
        if self.side == 1 or any(b.kind == "tile" for b in kernel.params):
            return set()
        found = set()
        loaded = {x.buffer for phase in kernel.phases for x in loads(*_values(phase))}
        for b in kernel.params:
            stores = [(phase, x) for phase in kernel.phases for x in phase.stores if x.buffer == b.name]
            if b.kind == "output" and b.dtype == "f32" and b.name not in loaded and _large(b) \
                    and all(phase.vars and _in_lines(b.address(x.index), phase.vars[-1]) for phase, x in stores):
                found.add(b.name)
        return found

    def turned_copy(self, t: turned_copies.Turn) -> None:
        """Tiles of matrices that are turned, split over the team; turned_copies.py says why."""
        kernel, e = self.kernel, self.e
        tiled, far = turned_copies.tiles(t), "0"
        items = product(extent(s) for s in t.others) * tiled.rows * tiled.columns
        e.lines += self.split(items, None, max(1, tiled.elements // _each(kernel)))
        b = e.buffers[t.target]
        if b.kind == "output" and _large(b) and t.whole:
            each = sum(bytes_of(b).value for b in kernel.params if bytes_of(b).is_const)
            far = "far"
            e.lines.append(f"const int far = threads * {NEAR} < {each} && ((uintptr_t){e.pointers[b.name]} & 63) == 0;")
        turned_copies.emit(e, t, tiled, far)
        if far == "far":
            e.lines += ["if (far)", "    tcv_stream_end();"]

    def windows(self, parts: window.Cut) -> None:
        """Parts of the last row's positions, split over the team; window.py says why."""
        kernel, e, width, count = self.kernel, self.e, parts.width, parts.count
        alone, (phase,) = kernel.rows[:-1], kernel.phases
        items = product(extent(s) for s in alone) * count
        channels = extent(phase.vars[0])
        groups = self.lane_groups
        whole = groups is None or groups.side * groups.outs == WIDE   # pieces begin where lanes do
        each = channels_of(items, channels) if kernel.grain == 1 and whole and parts.blocks is None else None
        pieces = -(-channels.value // each) if each else 1
        e.lines += self.split(items * pieces, None, width)
        loops = [(e.bind(s), e.index(extent(s))) for s in alone] + [(e.fresh("part"), str(count))]
        part, piece = loops[-1][0], None
        if pieces > 1:
            loops.append((e.fresh("piece"), str(pieces)))
        e.lines += positions(loops, "begin")
        e.open(alone)
        if pieces > 1:
            piece = e.fresh("low"), e.fresh("high")
            e.lines += [f"const tc_index {piece[0]} = {loops[-1][0]} * {each};",
                        f"const tc_index {piece[1]} = tc_min({piece[0]} + {each}, {e.index(channels)});"]

        def some(first: Expr, size: int) -> None:
            copies = [copied(phase, parts.row, first + i, "") for i in range(size)]
            if groups is not None:
                lane_groups.emit(e, groups, copies, piece)
            elif parts.blocks is None:
                self.phase(copies, piece)
            else:
                self.along([x for one in copies for x in one.stores], phase.vars[0], parts.blocks)

        before = not parts.alike
        behind = count > 1 and (before or parts.rest < width)
        heads = []
        if before:
            heads.append((f"if ({part} == 0)" if count > 1 else "", const(0), width))
        if behind:
            test = f"if ({part} == {count - 1})"
            heads.append((f"else {test}" if before else test, const(width * (count - 1)), parts.rest))
        between = count - len(heads)
        blocks: list[tuple[str, list[str]]] = []   # what all parts need is written before the first of them
        for head, first, size in heads:
            e.open()
            some(first, size)
            blocks.append((head, e.scopes.pop().lines))
        if between > 0:
            at = Sym("part", 0, between - 1)
            e.open((at,))
            e.names[at] = e.fresh("at")
            e.lines.append(f"const tc_index {e.names[at]} = {part} - {int(before)};")
            some((sym(at) + int(before)) * width, width)
            blocks.append(("else" if heads else "", e.scopes.pop().lines))
        for head, lines in blocks:
            e.lines += [f"{head} {{".lstrip(), *indent(lines), "}"]
        e.lines += next_item([name for name, _ in loops], [size for _, size in loops])
        e.close("for (tc_index item = begin; item < end; ++item)")

    def along(self, stores: list[Store], lanes: Sym, blocks: list[along_lines.Block]) -> None:
        """The results of lines that lie above each other, 16 of each at a time."""
        e = self.e
        for block, lane, at in along_lines.vectors(e, blocks):
            here = along_lines.moved(stores, lanes, at)
            window.compute(e, here, along_lines.Line(e, lane, block.lanes))
            e.stores(here)

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
            inside = set().union(*map(bound_in, _values(phase)))   # variables that are none here
            for x in loads(*_values(phase)):
                b = e.buffers[x.buffer]
                if x.dynamic or x.valid or x.dtype != "f32" or b.name in self.written or not _large(b):
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

    def prologue(self) -> list[str]:
        """Declares the dims and buffers that the body uses."""
        kernel, e = self.kernel, self.e
        buffers = []
        for i, b in enumerate(kernel.params):
            if b.name in e.pointers.used:
                buffers += pointer(i, b, b.name in self.written)
        dims = [f"const tc_index {e.names[s]} = d[{i}];" for i, s in enumerate(kernel.dims) if s in e.names.used]
        return [*(dims or ["(void)d;"]), *buffers]

    def split(self, items: Expr, pieces: Expr | None, rows: int = 1, size: int = PIECE) -> list[str]:
        """rows: of the kernel that an item has; 0 where there are no elements. size: of pieces."""
        e, grain = self.e, max(1, self.kernel.grain // max(1, rows))
        if pieces is not None and (not pieces.is_const or pieces.value > 1):
            grain = max(1, min(grain * 64, GRAIN) // PIECE) if grain > 1 else GRAIN // PIECE if size == PIECE else 1
        if self.side > 1:
            grain = -(-grain // self.side)
        n = e.index(items)
        team = f"tc_min(threads, ({n} + {grain - 1}) / {grain})" if grain > 1 else "threads"
        return ["tc_index begin, end;", f"const tc_index items = {n};",
                *([f"const tc_index team = {team};", "if (thread >= team)", "    return;"] if grain > 1 else []),
                f"tc_split(items, thread, {'team' if grain > 1 else 'threads'}, &begin, &end);",
                "if (begin >= end)", "    return;"]

    # -- phases -------------------------------------------------------------------------------------------------------
    def is_wide(self, phase: Phase) -> bool:
        """Whether the innermost loop of a phase runs 16 at a time."""
        reduces = row_reduces(phase)
        if len(reduces) < len(phase.reduces):
            return False
        inner, outer = phase.vars[-1], phase.vars[:-1]
        most = extent(inner).range()[1]
        counted = not outer and most is not None and most < 1 << 31    # positions are lanes of i32
        wide = self.vectors and phase.vector and vectorizable(_values(phase), inner) \
            and all(counted and r.value.dtype in ("f32", "i32") if r.op in POSITIONS else r.dtype in V_TYPE
                    for r in reduces)
        ordered = any(r.order == "lanes" for r in reduces)
        running = any(r.order == "running" for r in reduces)
        # with outer loops a row of the inner variable has to start at lane 0
        return wide and not running and not (ordered and outer and divisor_of(extent(inner)) % 16)

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
                and any(isinstance(x, Apply) and is_function(x.op) for x in walk(*_values(phase))):
            for one in phases:
                self.phase([one], piece)
            return
        if len(phase.reduces) == 1 and isinstance(phase.reduces[0], RowSort):
            return self.sort(phase, phase.reduces[0])
        inner, outer = phase.vars[-1], phase.vars[:-1]
        wide = self.is_wide(phase)
        rows = [_Row([row_sum(e, r, wide, one.vars, self.spreads_nan) for r in row_reduces(one)], one.stores)
                for one in phases]
        blocks = [s for row in rows for s in row.sums if s.total]
        if blocks and not outer:
            self.blocks(rows, inner, wide, blocks)
        else:
            heads = [e.loop(s) for s in outer]
            low, high = piece or ("0", e.index(extent(inner)))
            self.phase_loop(rows, inner, wide, low, high, extent(inner) if piece is None else None)
            for head in reversed(heads):
                e.close(head)
        for row in rows:
            for s in row.sums:
                s.finish(e)

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
        place, dtype = e.pointers[r.buffer], r.value.dtype
        wide = "_wide" if sorts_wide(dtype, domain_size(phase.vars)) else ""
        heads = [e.loop(s) for s in phase.vars]
        key = f"tc_sort_key_{dtype}({e.scalar(r.value)})"
        number = e.index(point_number(phase.vars))
        e.lines.append(f"tc_sort_put{wide}({place}, {number}, {f'~{key}' if r.descending else key});")
        for head in reversed(heads):
            e.close(head)
        e.lines.append(f"tc_sort_row{wide}({place}, {e.index(domain_size(phase.vars))}, {e.index(r.count)});")

    # -- stores at indices that are data ------------------------------------------------------------------------------
    def scatter(self) -> None:
        """Elements that the dynamic index leads to, of all rows, are split over the team; each thread walks all points
        of its rows in order and stores into its own elements."""
        e, kernel = self.e, self.kernel
        (phase,) = kernel.phases
        (store,) = phase.stores
        ((g, at),) = store.dynamic
        asked = symbols_of(at)
        within = set().union(*(i.symbols() for i in store.index))
        tail = max((i + 1 for i, s in enumerate(phase.vars) if s in asked or s not in within), default=0)
        outer, inner = phase.vars[:tail], phase.vars[tail:]
        size, rows = e.index(extent(g)), product(extent(s) for s in kernel.rows)
        work = e.index(rows * product(extent(s) for s in phase.vars))
        e.lines += ["tc_index begin, end;",
                    f"const tc_index size = {size}, team = tc_min(threads, 1 + ({work}) / {GRAIN});",
                    "if (thread >= team)", "    return;",
                    f"tc_split({e.index(rows * extent(g))}, thread, team, &begin, &end);", "if (begin >= end)",
                    "    return;"]
        row = []
        rest = "row"
        for s in reversed(kernel.rows):
            row.append(f"const tc_index {e.bind(s)} = {rest} % ({e.index(extent(s))});")
            rest = f"{rest} / ({e.index(extent(s))})"
        e.open(kernel.rows)
        e.lines += [*row, "const tc_index low = tc_max(begin - row * size, 0), high = tc_min(end - row * size, size);"]
        heads = [e.loop(s) for s in outer]
        e.names[g] = e.fresh("g")
        e.lines.append(f"const tc_index {e.names[g]} = (tc_index){e.scalar(at)};")
        e.open((g,), guard=True)
        heads.append(f"if ({e.names[g]} >= low && {e.names[g]} < high)")
        if inner:
            heads += [e.loop(s) for s in inner[:-1]]
            wide = self.vectors and phase.vector and vectorizable([store.value], inner[-1])
            self.phase_loop([_Row([], [store])], inner[-1], wide, "0", e.index(extent(inner[-1])), extent(inner[-1]))
        else:
            e.store(store)
        for head in reversed(heads):
            e.close(head)
        e.close("for (tc_index row = begin / size; row * size < end; ++row)")

    # -- loops of a phase ---------------------------------------------------------------------------------------------
    def phase_loop(self, rows: list[_Row], inner: Sym, wide: bool, low: str, high: str, size: Expr | None) -> None:
        """The innermost loop from low (a multiple of 16) to high; `size` is its extent where it is the whole loop."""
        e = self.e
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
        if self.cut is not None:
            window.compute(e, [x for row in rows for x in row.stores])
        if width == 16 and self.e.below and self.isa.lanes == 16:
            exps_of_rows(e, [s.value for row in rows for s in row.stores])
        if width == 16 and self.isa.lanes == 16 and len(rows) > 1:
            quotients_of_rows(e, [s.value for row in rows for s in row.stores])
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
            for x, result in results:
                e.store_value(x, result)
        e.width, e.vector, e.lanes = 1, None, None


def _in_lines(place: Expr, inner: Sym) -> bool:
    """16 elements from a multiple of 16 on."""
    return place.coefficient(inner) == 1 and divisor_of(place - sym(inner)) % 16 == 0


def _large(b: Buffer) -> bool:
    size = bytes_of(b)
    return b.kind in ("input", "output", "temp") and size.is_const and size.value >= FAR


def _each(kernel: LoopNestKernel) -> int:
    """Elements of a row, where that is a number."""
    inner = domain_size(kernel.phases[0].vars)
    return inner.value if inner.is_const else PIECE


def _values(phase: Phase) -> list[Scalar]:
    return [r.value for r in phase.reduces] + [x.value for x in phase.stores]


def _space(variables: tuple[Sym, ...]) -> str:
    return " x ".join(f"{s.name} < {extent(s)}" for s in variables) or "one point"
