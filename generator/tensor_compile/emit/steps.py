# SPDX-License-Identifier: Apache-2.0
"""What a variant runs, as the C function `<variant>_run` of the driver: every thread of the team executes it.

Loops and branches are C's own. All threads take the same way: an iteration's number is counted by each of them, and
what a condition holds is read behind a barrier and not written before the next one.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.dtypes import DTYPES
from ..loops.contraction_schedule import Schedule
from ..loops.loop_ir import CheckKernel, consecutive, ContractionKernel, GroupedContractionKernel, Kernel, \
    LoopNestKernel
from ..loops.program_ir import Branch, Element, leaves, Loop, numbered, Program, regions, Step, Tiles
from ..loops.scalar_ir import Buffer
from ..loops.scalars import domain_size, extent
from ..loops.tile_axes import Window
from ..symbolic import Expr
from .contraction.access import Access
from .integers.windows import byte_window, multiplies_words
from .cwriter import string
from .memory import Memory, closes_checks, is_check
from .contraction.product_forms import form
from .contraction.schedule_blocks import copies_rows_once, fetches_soon, remembers
from .contraction.schedules import isas_of
from .soon import Soon
from .streams import PANEL, ROWS, streams, Streams
from .contraction.team_split import copying
from .work import kernel_work, tiles_work

if TYPE_CHECKING:
    from .driver import FunctionDriver


PIECEWISE = (ContractionKernel, GroupedContractionKernel, LoopNestKernel)
MOST_WORK = (1 << 62) - 1
PIECE_WORK = 1 << 17    # TC_PIECE_WORK of driver.h
WINDOW_PIECE = 16       # of these a piece of windows of bytes is worth at least


class StepsWriter:
    """address, arena: the C type of addresses of buffers, and the one of the arena. plain: the program is the
    reference's."""

    address = "unsigned char *"
    arena = "f->arena"

    def __init__(self, function: "FunctionDriver", program: Program, where: Memory, plain: bool):
        self.function, self.program, self.where, self.plain = function, program, where, plain
        self.threads = function.target.threads
        self.lines: list[str] = []
        self.depth = 1
        self.step = 0          # the next one's number
        self.checks = 0        # groups of checks so far
        self.within = False    # in tiles, whose kernels are one thread's each
        self.ahead = self.streaming() if self.piecewise else {}    # by the number of their step; those that are to come
        self.read: list[str] = []    # what each of them reads, as arguments
        self.soon = self.reading() if self.piecewise else Soon({})
        pairs = [pair for r in regions(program.steps) if isinstance(r, Loop) for pair in r.swaps]
        swapped = dict.fromkeys(name for pair in pairs for name in pair)
        self.moving = {name: f"moving{i}" for i, name in enumerate(swapped)}

    def put(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    def text(self, name: str) -> str:
        offsets = self.where.count
        self.put("const tc_index *const d = f->dims;", "(void)d, (void)thread, (void)threads;")
        if offsets:
            self.put(f"uint64_t offsets[{offsets}];", f"{name}_arena(d, (uint64_t)threads, offsets);")
        for buffer, variable in self.moving.items():
            self.put(f"{self.address}{variable} = {self.temp(buffer)};")
        self.begin()
        table = self.first_streams(name) + self.soon.table(name)
        self.put(*self.soon.begin())
        self.items(self.program.steps)
        self.end()
        return "\n".join([*table, f"static void {name}_run(tc_frame *f, tc_index thread, tc_index threads)", "{",
                          *self.lines, "}", ""])

    # -- what is fetched ahead ----------------------------------------------------------------------------------
    def streaming(self) -> dict[int, Streams]:
        """Steps outside of loops that read large memory once."""
        found = {number: streams(item, self.function.plan.packed) for number, item in numbered(self.program.steps)}
        return {number: read for number, read in found.items() if read is not None and number}

    def reading(self) -> Soon:
        """Products outside of loops whose tiles fetch what their thread reads soon."""
        return Soon.of(self.program.steps, self.function.plan.packed, self.function.target)

    def first_streams(self, name: str) -> list[str]:
        """All streams, and the first two steps' as those that are fetched. What is to stand before the function."""
        if not self.ahead:
            return []
        rows: dict[str, list[str]] = {f"{name}_streams": [], "streams": []}
        for step in self.ahead.values():
            numbers = [part.numbers for part in step.parts]
            table = f"{name}_streams" if all(e.is_const for row in numbers for e in row) else "streams"
            made = [f"{{{', '.join(self.function.c(e) for e in row)}}}," for row in numbers]
            at = len(rows[table])
            if step.state is not None and made[0] in rows[table]:    # layers are alike
                at = rows[table].index(made[0])
            else:
                rows[table] += made
            base = "f->weights" if step.state is None else self.pointer(step.state)
            self.read.append(f"{base}, {table} + {at}, {len(made)}, {self.function.c(step.panels)}")
        if rows["streams"]:
            self.put("const tc_stream streams[] = {", *("    " + row for row in rows["streams"]), "};")
        self.put("tc_ahead ahead = {0};")
        self.fetch_next(0)
        self.fetch_next(1)
        known = rows[f"{name}_streams"]
        rows_text = ["    " + row for row in known]
        return [f"static const tc_stream {name}_streams[] = {{", *rows_text, "};", ""] if known else []

    def fetch_next(self, step: int) -> None:
        """From here on what step number `step` of those reads is fetched, too."""
        what = self.read[step] if step < len(self.read) else "0, 0, 0, 0"
        self.put(f"tc_ahead_then(&ahead, {what}, thread, threads);")

    def behind(self, number: int) -> None:
        """Behind the item whose first step has that number."""
        if number in self.ahead:
            del self.ahead[number]
            if self.ahead:
                self.fetch_next(len(self.read) - len(self.ahead) + 1)

    def soon_pointer(self, number: int) -> str:
        """Behind `held`: what the thread reads soon, which tiles fetch; 0: they are told nothing."""
        told = self.soon.told(number)
        if told is None:
            return "0"
        lines, pointer = told
        self.put(*lines)
        return pointer

    def begin(self) -> None:
        """Before all steps."""
        self.put("tc_kernel *const *const k = f->kernels;", "(void)k;")

    def end(self) -> None:
        """Behind all steps, where none of them ended the call."""

    def items(self, items: list[Element]) -> None:
        for i, item in enumerate(items):
            if closes_checks(items, i):
                self.end_checks()
            elif isinstance(item, (Step, Tiles)) and item.barrier:
                self.barrier()
            number = self.step
            if isinstance(item, Step):
                self.checks += is_check(item) and not (i and is_check(items[i - 1]))
                self.call(item)
            elif isinstance(item, Loop):
                self.loop(item)
            elif isinstance(item, Tiles):
                self.tiles(item)
            else:
                self.branch(item)
            if self.depth == 1:
                self.behind(number)
        if closes_checks(items, len(items)):
            self.end_checks()

    def barrier(self) -> None:
        if self.threads > 1 and (self.step or self.depth > 1):
            ahead = self.ahead and self.depth == 1
            self.put("tc_barrier_ahead(f, thread, threads, &ahead);" if ahead else "tc_barrier(f, thread, threads);")

    def end_checks(self) -> None:
        self.put(f"if (tc_faulted(f, {self.checks}, thread, threads))", "    return;")

    # -- regions ------------------------------------------------------------------------------------------------
    def loop(self, loop: Loop) -> None:
        if loop.iteration is not None:
            iteration = self.function.dim(loop.iteration)
            count = self.function.c(extent(loop.iteration))
            self.put(f"for (tc_index {iteration} = 0; {iteration} < {count}; ++{iteration}) "
                     f"{{ /* {_comment(loop.label)} */")
        else:
            self.put(f"for (;;) {{ /* {_comment(loop.label)} */")
        self.depth += 1
        if loop.iteration_barrier:
            self.barrier()
        if loop.condition:
            self.items(loop.test)
            if loop.barrier:
                self.barrier()
            self.put(f"if (!{self.condition(loop.condition)})", "    break;")
        self.items(loop.body)
        for a, b in loop.swaps:
            a, b = self.moving[a], self.moving[b]
            self.put(f"{self.address}const {a}_was = {a};", f"{a} = {b}, {b} = {a}_was;")
        self.depth -= 1
        self.put("}")

    def branch(self, branch: Branch) -> None:
        if branch.barrier:
            self.barrier()
        self.put(f"if ({self.condition(branch.condition)}) {{ /* {_comment(branch.label)} */")
        self.depth += 1
        self.items(branch.then)
        self.depth -= 1
        if branch.other:
            self.put("} else {")
            self.depth += 1
            self.items(branch.other)
            self.depth -= 1
        self.put("}")

    def tiles(self, tiles: Tiles) -> None:
        """Each thread takes contiguous shares of the tiles, the last axis innermost, and is a team of one within."""
        c, dim = self.function.c, self.function.dim
        used = {s for step in leaves([tiles]) for s in step.kernel.dims}
        used |= {s for w in tiles.windows for e in (w.first, w.end) for s in e.symbols()}
        count = " * ".join(f"(tc_index)({c(a.blocks)})" for a in tiles.axes)
        self.put(f"{{ /* {_comment(tiles.label)}: tiles */")
        self.depth += 1
        for i, _ in enumerate(tiles.windows):
            self.put(f"tc_window window{i} = {{0, 0}};")
        images = c(tiles.axes[0].blocks) if tiles.windows and len(tiles.axes) > 1 else ""
        piecewise = self.piecewise and bool(images or not tiles.windows)   # pieces within an image compute rows again
        if piecewise:
            work = self.work(self.step, tiles_work(tiles))
            work = f"tc_striped_work({work}, {images}, threads)" if images else work
            self.put(f"tc_pieces pieces = tc_pieces_of(f, thread, threads, {work});",
                     "for (tc_index tile, end; tc_pieces_next(&pieces);) {")
            self.depth += 1
            self.put(f"tc_share({count}, pieces.piece, pieces.count, &tile, &end);")
        else:
            self.put("tc_index tile, end;", f"tc_share({count}, thread, threads, &tile, &end);")
        if tiles.windows:
            self.put(f"const tc_index start = tile, blocks = {c(tiles.axes[-1].blocks)};")
        self.put("for (; tile < end; ++tile) {")
        self.depth += 1
        self.put("tc_index left = tile;", "(void)left;")
        for i, a in reversed(list(enumerate(tiles.axes))):
            start = dim(a.start)
            counted = a.count is not None and a.count in used
            if a.start in used or counted:
                block = f"left % ({c(a.blocks)})" if i else "left"
                if tiles.growing and a is tiles.axes[-1]:
                    block = f"tc_either_end({block}, {c(a.blocks)})"
                self.put(f"const tc_index {start} = {block} * {a.block};" if a.block > 1 else
                         f"const tc_index {start} = {block};")
            if a.count is not None and counted:
                self.put(f"const tc_index {dim(a.count)} = {c(a.size)} - {start} < {a.block} ? {c(a.size)} - {start} : "
                         f"{a.block};")
            if i:
                self.put(f"left /= {c(a.blocks)};")
        for i, w in enumerate(tiles.windows):
            self.window(i, w, tiles)
        self.within = True
        self.items(tiles.body)
        self.within = False
        self.depth -= 1
        self.put("}")
        if piecewise:
            self.depth -= 1
            self.put("}")
        self.depth -= 1
        self.put("}")

    def window(self, number: int, w: Window, tiles: Tiles) -> None:
        """Moves the rows that are needed again to the front, and says which ones are computed."""
        c, dim = self.function.c, self.function.dim
        step, parameter, b = next((i, j, b) for i, s in enumerate(leaves([tiles]))
                                  for j, b in enumerate(s.kernel.params) if b.name == w.buffer)
        rows = self.scratch(self.step + step, parameter)
        row = b.strides[w.dim] * DTYPES[b.dtype].bytes
        begin, at, count = map(dim, w.symbols)
        self.put(f"const tc_index {begin} = tc_window_begin(&window{number}, {rows}, {c(row)}, "
                 f"tile > start && tile % blocks, {c(w.first)}, {c(w.end)}, {c(w.size)});",
                 f"const tc_index {at} = {begin} - window{number}.first, {count} = window{number}.high - {begin};",
                 f"(void){begin}, (void){at}, (void){count};")

    def condition(self, name: str) -> str:
        return f"*(const unsigned char *)({self.pointer(self.program.buffers[name])})"

    # -- one kernel ---------------------------------------------------------------------------------------------
    def call(self, step: Step) -> None:
        number, kernel = self.step, step.kernel
        self.step += 1
        pointers = [self.scratch(number, j) if b.kind in ("scratch", "tile") else self.pointer(b)
                    for j, b in enumerate(kernel.params)]
        check = is_check(step)
        self.put("{")
        self.depth += 1
        if check:
            pointers = [pointers[0], "&fault"]
            self.put("int32_t fault = 0;")
        shared = not self.within and self.shared(kernel)
        keeps, fetches = (not self.plain and any(map(has, _schedules(kernel))) for has in (remembers, fetches_soon))
        if keeps and shared:
            self.put("tc_index held[6] = {0, 0, 0, threads};")
        if keeps or fetches:
            pointers.append("held" if keeps and shared else "0")
        if fetches:
            pointers.append(self.soon_pointer(number))
        self.put(f"void *const p[] = {{{', '.join(pointers)}}};")
        dims = self.dims(kernel)
        run, team = ("tc_tile_step", "thread, tile") if self.within else ("tc_step", "thread, threads")
        if shared:
            work = self.step_work(number, kernel)
            run = "tc_shared_step"
            packs = any(s.packed_b and not s.blocked for s in _schedules(kernel))
            team = f"thread, threads, {f'tc_packed_work({work}, threads)' if packs else work}"
        self.put(f"{run}(f, {number}, k[{self.function.kernels.row(kernel, self.plain)}], p, {dims}, {team});")
        if isinstance(kernel, CheckKernel):
            b = kernel.buffer
            self.put("if (fault)", f"    tc_fault(f, {self.checks}, {string(b.name)}, p[0], {self.function.dtype(b)}, "
                     f"{self.function.c(b.elements)}, {self.function.c(kernel.bound)});")
        self.depth -= 1
        self.put("}")

    @property
    def piecewise(self) -> bool:
        """Whether there are threads that may take pieces of each other's parts."""
        return self.threads > 1 and not self.plain

    def shared(self, kernel: Kernel) -> bool:
        """Whether threads that have done their part take pieces of others'. Not where each piece would copy again what
        the one before it copied, nor where it would begin to read the columns of several parts."""
        return self.piecewise and isinstance(kernel, PIECEWISE) and not _few_rows_in_place(kernel) \
            and not consecutive(kernel) \
            and not any(schedule.blocked and not remembers(schedule) for schedule in _schedules(kernel))

    def work(self, step: int, operations: Expr) -> str:
        """C text of estimated operations of a step; where it reads large memory, of what that is worth."""
        if step in self.ahead:
            return f"tc_stream_work({self.function.c(self.ahead[step].panels)}, threads)"
        if operations.is_const:
            return str(min(operations.value, MOST_WORK))
        return f"(uint64_t)({self.function.c(operations)})"

    def step_work(self, step: int, kernel: Kernel) -> str:
        """The same of a kernel, whose pieces may be worth more than others: that depends on the instruction set."""
        integers = [s for s in _schedules(kernel) if form(s.dtype, s.isa).product.integer]
        copies = [s for s in integers if copies_rows_once(s)]
        if step in self.ahead and copies:    # by groups of columns
            groups = self.ahead[step].panels // max(1, max(s.nr for s in copies) // PANEL)
            return f"tc_stream_work({self.function.c(groups)}, threads)"
        work = self.work(step, kernel_work(kernel))
        window = isinstance(kernel, LoopNestKernel) and byte_window(kernel) is not None
        least = [_least(kernel, made) for _, made in isas_of(kernel, self.function.target)] \
            if integers or window else [1]
        if max(least) == 1:
            return work
        if min(least) == max(least):
            return f"{work} / {least[0]}"
        self.put(f"static const unsigned least[] = {{{', '.join(map(str, least))}}};")
        return f"{work} / least[tc_set(f)]"

    def dims(self, kernel: Kernel) -> str:
        arguments = self.function.kernels.arguments(kernel, self.plain)
        names = [*(self.function.dim(s) for s in kernel.dims), *map(str, arguments)]
        if not names:
            return "0"
        if names == [f"d[{i}]" for i in range(len(names))]:
            return "d"
        self.put(f"const tc_index e[] = {{{', '.join(names)}}};")
        return "e"

    def scratch(self, step: int, parameter: int) -> str:
        """The thread's own."""
        first = self.first_scratch(step, parameter)
        return f"{first} + (uint64_t)thread * offsets[{self.where.room_number}]" if self.threads > 1 else first

    def first_scratch(self, step: int, parameter: int) -> str:
        """The first thread's."""
        return f"{self.arena} + offsets[{len(self.where.slots) + self.where.scratch_numbers[step, parameter]}]"

    def temp(self, name: str) -> str:
        kind, value = self.where.temp[name]
        return f"{self.arena} + {value}" if kind == "offset" else f"{self.arena} + offsets[{value}]"

    def pointer(self, b: Buffer) -> str:
        function = self.function
        if b.kind in ("input", "output"):
            plan = function.entry.plan
            names = [t.name for t in (plan.inputs if b.kind == "input" else plan.outputs)]
            return f"f->buffers[{names.index(b.name) + (function.entry.inputs if b.kind == 'output' else 0)}]"
        if b.kind == "state":
            return f"f->state + {function.plan.state_offset[b.name]}"
        if b.kind == "packed":
            return f"(void *)(f->weights + {function.plan.packed[b.name]})"
        return self.moving.get(b.name) or self.temp(b.name)


def _schedules(kernel: Kernel) -> list[Schedule]:
    """Of all parts of a contraction and all instruction sets."""
    return [schedule for part in _parts(kernel) for schedule in part.schedules]


def _parts(kernel: Kernel) -> tuple[ContractionKernel, ...]:
    return kernel.contractions if isinstance(kernel, (ContractionKernel, GroupedContractionKernel)) else ()


def _least(kernel: Kernel, isa: str) -> int:
    """How often TC_PIECE_WORK a piece of a product of integers is worth at least: as much as takes so long, and where
    the kernel copies rows as much as copying those of a tile, which another thread that takes the piece does again.
    Of windows of bytes each piece prepares their weights."""
    if isinstance(kernel, LoopNestKernel):
        return WINDOW_PIECE if multiplies_words(isa) else 1
    return max((max(1, round(form(s.dtype, isa).speed),
                    -(-copying(Access.of(part), s) // PIECE_WORK) if copies_rows_once(s) else 0)
                for part in _parts(kernel) for s in part.schedules
                if s.isa == isa and form(s.dtype, isa).product.integer), default=1)


def _few_rows_in_place(kernel: Kernel) -> bool:
    """A product of few rows whose second operand is read where it lies, as values are by a decoder: memory sets its
    time, and neighbouring columns of a piece are read together, so pieces are as large as they can be."""
    if not isinstance(kernel, ContractionKernel) or kernel.b_panel:
        return False
    rows = domain_size(kernel.m)
    return rows.is_const and rows.value <= ROWS


def _comment(label: str) -> str:
    return label.replace("*/", "* /")
