# SPDX-License-Identifier: Apache-2.0
"""A part of a contraction over micro-kernels of the library (templates/contraction/): a thin driver (memory.c.in), the
epilogue on accumulators that the micro-kernels left in memory (store.c.in), and the walk over the results, in blocks or
tile by tile (blocks.c.in, taps.c.in). Full tiles may be the kernel's own: of floats (in_registers.py), and of bytes
that are rounded in registers (tile_bytes.c.in). How large blocks are is in schedule_blocks.py.

Items are batches x column groups x row tiles, columns outermost. Where the schedule takes blocks of rows and no others,
these are outermost. Rows that are copied with all their terms are walked in bands of columns, tile by tile. A thread
takes a contiguous share (team_split.py); of blocks of rows that is a rectangle. Within it, blocks of columns, rows and
terms are walked as the schedule says. Partial sums wait in the thread's scratch.
"""
from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property

from ...instruction_sets import InstructionSet, instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...records import dataclass
from ...symbolic import Expr, Sym, const, product, sym, wrap
from .access import Access, TermLoop
from .biases import bias_of
from .candidate_table import PANEL
from .copies import Copies
from .epilogue import Epilogue, Four, names_of
from .in_registers import of_copied_columns, own_columns, own_tile, Panels, PART_PARAMETERS, stands_alone, streamed, \
    turn_terms
from ..index import c_index
from ..constants import constant
from ..scalar import C_TYPE
from .micro import FETCHING, Micro, sums_text
from ..quantized import MOST_FACTOR
from ..template import expand_file
from .schedule_blocks import asks_threads, Blocks, blocks, cuts_taps, later_terms, remembers, \
    skips_padding, steps, tiles_in_place
from .schedule_tiles import Band, by_panels
from .stored_rows import stored_rows
from .team_bands import teams_text
from .team_split import most_groups, team_groups, team_split
from .walk import batch_decode, batch_names, even_offset, place, row_at

KEPT = 16         # tiles of a block whose places are kept
RUN = 48          # rows of tiles that wait to be stored column by column, where columns are images: whole lines of each
TURNED_ROWS = 4   # of a tile, from which on results whose columns lie apart are stored column by column
TURNED_RUNS = 2   # the same where results of several tiles wait for that
RUN_COLUMNS = 64  # of a tile, up to which so few rows wait: the results are on the stack


def emit_part(kernel: ContractionKernel, schedule: Schedule, own: str) -> tuple[str, frozenset[Micro]]:
    """The text of everything but the function that the driver calls, and the micro-kernels that it needs."""
    access, isa = Access.of(kernel), instruction_set(schedule.isa)
    emitter = _Emitter(kernel, schedule, access, isa, names_of(kernel), own, blocks(access, schedule))
    return emitter.part(), frozenset(emitter.micros)


@dataclass()
class _Emitter:
    kernel: ContractionKernel
    schedule: Schedule
    access: Access
    isa: InstructionSet
    names: dict[Sym, str]
    own: str
    blocks: Blocks
    micros: dict[Micro, None] = field(default_factory=dict)

    @property
    def last_apart(self) -> bool:
        """Threads of a team come twice, for the tiles of the last rows by themselves; not where a team shares parts."""
        found = team_split(self.access, self.schedule) if not self.own else None
        return found is not None and found.last is not None

    def text(self, e: Expr, extra: dict[Sym, str] | None = None) -> str:
        return c_index(e, {**self.names, **extra} if extra else self.names)

    @property
    def inner(self) -> TermLoop:
        return self.access.inside[-1]

    @property
    def panel_skew(self) -> str:
        """What copied panels are further apart than they are long."""
        return f" + {self.blocks.panel_skew}" if self.blocks.panel_skew else ""

    @property
    def b_step(self) -> Expr:
        return wrap(self.blocks.tiles.unit) if self.schedule.packed_b else self.inner.b

    def found(self, rows: int, columns: int) -> Micro:
        stepping = steps(self.access, self.schedule)
        fetches = self.schedule.prefetch and self.schedule.epilogue == "memory" and rows >= FETCHING \
            and (not stepping or later_terms(self.access, self.schedule))
        streams = stepping and streamed(self.access, self.schedule) or not stepping and self.kernel.cold
        return Micro(self.isa.name, rows, columns, stepping, fetches, self.blocks.form.library, streams)

    def micro(self, rows: int, columns: int) -> str:
        micro = self.found(rows, columns)
        self.micros[micro] = None
        return micro.symbol

    def widths(self, band: Band) -> str:
        return ", ".join(f"{{{w}, {self.micro(band.height, w)}}}" for w in band.widths)

    @property
    def row_stride(self) -> int:
        """Elements from a row to the next one, where that is known."""
        assert self.access.evenly is not None
        return self.access.evenly

    def second_offset(self, column: str) -> str:
        return self.text(self.access.b_offset, {self.access.column: column} | batch_names(self.kernel, "t->"))

    def part(self) -> str:
        kernel, access, schedule, plan = self.kernel, self.access, self.schedule, self.blocks.tiles
        parameter = {p.name: i for i, p in enumerate(kernel.params)}
        vector, sums, unit = self.isa.lanes > 1, access.sums, plan.unit
        kind, integer = self.blocks.form, access.product.integer
        later = self.blocks.later
        bias, started = bias_of(kernel) if kind.tiles else None, self.started
        epilogue = Epilogue(bias[1] if bias else kernel, access, self.names, self.own, vector)
        bands = plan.bands

        def sum_of(acc: str, start: str) -> str:
            loaded = f"tcv_load_i32({acc})"
            return f"tcv_add_i32({loaded}, tcv_splat_i32((int32_t){start}))" if later else loaded
        number = {band: i for i, band in enumerate(bands)}
        alone, own_panels = stands_alone(access, schedule), of_copied_columns(access, schedule)
        library = not (alone or own_panels)
        four = None if alone else epilogue.four(self.isa.vectors)
        ahead, ahead_step = epilogue.ahead()
        across = None if access.product.integer else epilogue.across()
        band_texts = [{"i": i, "widths": self.widths(band)} for i, band in enumerate(bands if library else ())]
        counts = ([(schedule.mr, plan.full)] if plan.full else []) + sorted(plan.rests.items())
        wide = {r: band.columns for r, band in plan.rests.items() if band.columns > schedule.nr}
        place_first, place_row = place(kernel, access, self.names)
        most_height = max((band.height for band in bands), default=1)
        most_sums = sums * max((band.height * -(-band.columns // unit) * unit for band in bands), default=1)
        values: dict[str, object] = {
            "threads_parameter": ", tc_index threads" if asks_threads(access, schedule) else "",
            "threads_argument": ", threads" if asks_threads(access, schedule) else "",
            "team_groups": team_groups(most_groups(schedule)),
            "run_held_parameter": ", tc_index *held" if remembers(schedule) else "",
            **self.numbers_held(), "remembers_four": four is not None and remembers(schedule),
            "schedule": schedule.name, "own": self.own, "micros": [m.symbol for m in sorted(self.micros)],
            "bands": band_texts, "m_text": self.text(access.rows), "n_text": self.text(access.columns),
            "k_text": self.text(access.terms), "batch_text": self.text(access.batches), "rows": schedule.mr,
            "columns": schedule.nr, "padded": bool(access.bounds), "bound_count": len(access.bounds),
            "most_rows": max(most_height, schedule.mr) if alone else most_height, "most_height": most_height,
            "most_sums": most_sums,
            "batch_names": [f"b{i}" for i in range(len(kernel.batch))],
            "m_names": [f"m{i}" for i in range(len(kernel.m))] if len(kernel.m) > 1 else [],
            "finishes": epilogue.finishes(1), "ahead": "\n".join(ahead), "ahead_step": ahead_step,
            "vector": vector, "packs_vectors": vector and kind.b_c == "float",
            "b_zero": "0.0f" if kind.b_c == "float" else "0", "partial": not epilogue.whole_panels,
            "four_narrow": four is not None and self.isa.vectors == "AVX2",
            "four": four.dtype if four else "", "four_zero": four.zero if four else 0,
            "started": "\n".join(started[1].value) if started else "",
            "four_value": "\n".join(four.value) if four else "", "four_place": "\n".join(four.place) if four else "",
            "four_factors": four.factors if four else [], "most": f"{MOST_FACTOR}f",
            "pointers": ", ".join(f"p[{i}]" for i in range(len(kernel.params))),
            **{f"four_acc{i}": f"tcv_add_i32(tcv_load_i32(acc + (c + {16 * i})), start)" if later else
               f"tcv_load_i32(acc + (c + {16 * i}))" for i in range(4)},
            **{f"late_acc{i}": sum_of(f"acc + {16 * i}", f"starts[r + {i // 2}]") for i in range(4)},
            **{f"whole_acc{i}": sum_of(f"acc + {16 * i}", "starts[r]") for i in range(4)},
            "four_late": four is not None and kind.tiles, "columns_64": schedule.nr == 64,
            "late": kind.tiles, "late_parameter": f", struct {self.own}late *late" if kind.tiles else "",
            "late_starts": ", late->starts" if later else "",
            "bias": f"(const int32_t *)p[{parameter[bias[0]]}] + (j + c)" if bias else "0",

            "late_argument": ", &late" if kind.tiles else "",
            "later": later, "starts_parameter": ", const tc_word *starts" if later else "",
            "starts_argument": ", starts" if later else "", "starts_at": self.blocks.starts_at if later else 0,
            "row_starts": f", own + {self.blocks.starts_at}" if later else "",
            "whole_accs": ", ".join(f"tcv_add_i32(tcv_load_i32(acc + ({s} * apart + c)), start)" if later else
                                    f"tcv_load_i32(acc + ({s} * apart + c))" if integer else
                                    f"tcv_add_f32(tcv_load_f32(acc + ({s} * apart + c)), zero)" for s in range(sums)),
            "scalar_accs": ", ".join(f"acc[{s} * apart + c]{'' if integer else ' + 0.0f'}" for s in range(sums)),
            "place_first": place_first, "place_row": place_row, "batch_decode": batch_decode(kernel, self.names),
            "wide": ("" if plan.near else "w.full > 0 ? 0 : ") + "".join(
                f"rest == {r} ? {c} : " for r, c in sorted(wide.items())) + "0",
            "any_wide": bool(wide),
            "cases": [{"count": c, "band": number[band], "height": band.height} for c, band in counts],
            "lies": self.lies,
            "packed_a": schedule.packed_a, "packed_b": schedule.packed_b, "unit": unit, "sums": sums,
            "panel_skew": self.panel_skew,
            "by_panels": by_panels(access, schedule),
            "seconds": ", ".join(f"(const {kind.b_c} *)p[{parameter[b.buffer]}]" for b in kernel.b),
            "integer": integer, "row_c": kind.row_c, "b_c": kind.b_c, "sum_c": kind.sum_c, "names": kind.names,
            "a_c": C_TYPE[kernel.a.dtype], "copy_c": C_TYPE[access.product.rows], "group": access.product.group,
            "fill": constant(kernel.a.other) if kernel.a.other is not None else "0",
            "elements_text": self.text(access.elements), "arranged": kind.arranged,
            "starts": kind.starts, "tiles": kind.tiles,
            "minus_zero": -access.product.zero, "flip": self.flip,
            "ends_in_tile": kind.tiles and access.terms.value % self.blocks.depth != 0, "depth": self.blocks.depth,
            "start_place": "starts[r]" if later else f"to[{kind.row_terms}]",
            "a_parameter": parameter[kernel.a.buffer], "blocked": schedule.blocked,
            "next_panels": self.second_offset(f"(j + {schedule.nr})"), "next_offset": self.second_offset("next_j"),
            "b_offset": self.second_offset("j"),
            "b_offset_c": self.second_offset("(j + c)"),
            "b_step": self.text(self.b_step), "a_step": self.text(self.inner.a),
            "row_offset": row_at(access, "tc_min(r, count - 1)"), "fetches_terms": later_terms(access, schedule),
            "fetches": schedule.prefetch and unit == PANEL and not later_terms(access, schedule),
            "soon": len(kernel.params) + 1,
            "zeros": 0, "own_tile": "", "own_text": "", "own_columns": own_columns(access, schedule),
            "alone": alone, "library": library, "copied": [], "edge_tile": "", "edge_text": "",
            "whole": self.whole(four),
            "whole_columns": self.whole_columns, **self.straightness(four),
            "four_partial": "\n".join(four.partial) if four else "",
            "if_inside": " && t->inside" if access.bounds else "", **self.waiting_run(0, 0),
        }
        turned = schedule.mr >= (TURNED_RUNS if alone and schedule.nr <= RUN_COLUMNS else TURNED_ROWS)
        if across is not None and not across.together and (alone or not turned or schedule.epilogue != "registers"):
            across = None
        values |= {"across": across is not None, "across_value": "\n".join(across.value) if across else "",
                   "across_partial": "\n".join(across.partial) if across else "",
                   "across_place": "\n".join(across.place) if across else "",
                   "in_turn": across is not None and not across.together,
                   "across_step": across.step if across else "",
                   "stores_across": across is not None and across.together and library,
                   "across_acc": "tcv_add_f32(tcv_load_f32(acc + (r * width + c)), zero)",
                   # what the epilogue of full tiles needs beside the sums is the place of the first row of a run
                   "or_starts": " && run->rows == 0" if across and turned and not ahead
                   and "t->" not in "".join(across.value) else ""}
        if own_panels:
            tiles, text = self.of_panels(across.step if across else "", across is not None and not across.together)
            values |= {"copied": tiles, "copied_text": text,
                       "finishes": epilogue.finishes(len(tiles) * schedule.mr * max(1, schedule.nr // PANEL))}
        elif schedule.epilogue == "registers":
            columns = own_columns(access, schedule)
            unmasked = epilogue.unmasked(columns) if columns % PANEL == 0 else ""
            step = across.step if across and turned else ""
            waits = alone or across is not None and across.together and across.meets(schedule.nr) \
                and not schedule.blocked
            run = RUN // schedule.mr * schedule.mr if step and waits else 0
            whole = kernel, schedule, self.names, self.own
            name, text = own_tile(*whole, False, unmasked, step, run, across is not None and not across.together)
            edge, edge_text = own_tile(*whole, True, "", step, run) if alone else ("", "")
            values |= self.waiting_run(run, columns)
            values |= {"own_tile": name, "own_text": text, "edge_tile": edge, "edge_text": edge_text,
                       "finishes": epilogue.finishes(1 + schedule.mr * max(1, schedule.nr // 16))}
        if values["stores_across"] and (turned or schedule.epilogue == "memory"):
            values["finishes"] = []   # nothing calls them
        cuts = cuts_taps(access, schedule)
        values |= {"cuts": cuts, "part_parameters": ", tc_index first, tc_index last, tc_index into" if cuts else ""}
        values |= self.in_parts()
        if cuts or not schedule.blocked:
            values |= self.in_taps(most_height)
            values["walk_text"] = expand_file("contraction/walk.c.in", values).rstrip("\n") if library else ""
        values |= Copies(kernel, schedule, access, self.isa, self.names, self.blocks).values()
        values |= self.in_blocks() if schedule.blocked else {}
        pieces = {"store": "store.c.in", "region": "blocks.c.in" if schedule.blocked else "taps.c.in"}
        values |= {name: expand_file(f"contraction/{file}", values).removesuffix("\n") for name, file in pieces.items()}
        return expand_file("contraction/memory.c.in", values).rstrip("\n")

    def of_panels(self, across: str, in_turn: bool) -> tuple[list[dict[str, object]], str]:
        """The tiles of columns that were copied, by their rows and columns, and their text."""
        schedule, (m, n) = self.schedule, (self.access.rows.value, self.access.columns.value)
        apart = self.blocks.terms * PANEL + self.blocks.panel_skew
        tiles: list[dict[str, object]] = []
        texts: list[str] = []
        for rows in (*((schedule.mr,) if m >= schedule.mr else ()), *((m % schedule.mr,) if m % schedule.mr else ())):
            for columns in (*((schedule.nr,) if n >= schedule.nr else ()),
                            *((n % schedule.nr,) if n % schedule.nr else ())):
                one = replace(schedule, mr=rows, nr=-(-columns // PANEL) * PANEL)
                name, text = own_tile(self.kernel, one, self.names, self.own, across=across, in_turn=in_turn,
                                      panels=Panels(columns, apart))
                tiles.append({"rows": rows, "columns": columns, "name": name})
                texts.append(text.rstrip("\n"))
        return tiles, "\n\n".join(texts)

    def in_parts(self) -> dict[str, object]:
        """How tiles of the kernel's own take some turns of the outermost loop over terms after the others. light: the
        place of a tile that was inside is not found again."""
        if not self.schedule.in_parts:
            return {"parts": False, "light": False, "light_parameters": "",
                    **dict.fromkeys(("part_names", "inside_names", "part_arguments"), "")}
        outer, light = self.access.inside[0], self.access.evenly is not None
        turns, step = outer.extent.value, self.schedule.kc // turn_terms(self.access.inside)
        first = f"{even_offset(self.kernel, self.access, self.names)} + a_turn" if light else "a_turn"
        return {"parts": True, "turns": turns, "part_turns": step, "light": light,
                "inside_words": -(-self.blocks.rows // 64),
                "light_parameters": ", tc_index tile, uint64_t *inside" if light else "",
                "part_parameters": PART_PARAMETERS, "part_names": ", first, last, a_turn, b_turn, sums",
                "inside_names": f", first, last, {first}, b_turn, sums",
                "part_arguments": f", k, tc_min(k + {step}, {turns}), k * ({self.text(outer.a)}), "
                f"{self.second_offset('j')} + k * ({self.text(outer.b)}), "
                f"scratch + (tile - lo) * {self.blocks.tile_sums}{', tile - r0, inside' if light else ''}"}

    def waiting_run(self, rows: int, columns: int) -> dict[str, object]:
        """Where results of so many rows wait to be stored column by column; 0: they do not. columns: of a tile.
        run_columns: whose lines each tile of a run fetches; those of a model's outputs, as Epilogue.ahead does."""
        buffers, (store, *_) = {p.name: p for p in self.kernel.params}, self.kernel.stores
        leaves = rows > 0 and buffers[store.buffer].kind == "output"
        tiles = max(1, rows // self.schedule.mr)
        return {"run_columns": -(-columns // tiles) if leaves else 0, "run_rows": rows,
                "run_whole": columns // PANEL * PANEL, "run_some": columns % PANEL,
                "run_struct": f", struct {self.own}run *run" if rows else "",
                "run_argument": ", &run" if rows else "", "no_run": ", run->y" if rows else ""}

    def numbers_held(self) -> dict[str, object]:
        """What a region is told of scratch that threads remember: the number of the batch's first panel, or tile."""
        schedule = self.schedule
        if not remembers(schedule):
            return {"held_parameter": "", "held_argument": ""}
        panels = f"(({self.text(self.access.columns)} + {schedule.nr - 1}) / {schedule.nr})"
        name, each = ("first_tile", "w.tiles") if schedule.packed_a else ("first_panel", panels)
        return {"held_parameter": f", tc_index *held, tc_index {name}", "held_argument": f", held, at / items * {each}"}

    @property
    def whole_columns(self) -> int:
        """The columns of a full tile that exist: less than it has where all are fewer."""
        columns, width = self.access.columns, self.schedule.nr
        return columns.value if columns.is_const and width - 16 < columns.value < width else width

    def ends_in_registers(self, four: Four | None) -> bool:
        """Full tiles keep their sums in registers up to the bytes."""
        schedule = self.schedule
        return four is not None and (schedule.blocked or self.access.product.integer) and not (
            self.blocks.form.tiles or self.blocks.waits or schedule.compact or steps(self.access, schedule))

    def straightness(self, four: Four | None) -> dict[str, object]:
        """Whether the function of a full tile is called with the tile's first row alone, as it knows the distance of
        rows, copied ones or where they lie; and whether the places of a block's tiles are kept, for all groups of
        columns."""
        kind, plan = self.blocks.form, self.blocks
        ends, columns, width = self.ends_in_registers(four), self.access.columns, self.schedule.nr
        straight = ends and (self.rows_lie_evenly or
                             width == PANEL and (kind.sorts or kind.tall(self.schedule.mr) or kind.pairs))
        fetches = straight and self.found(self.schedule.mr, width).fetches
        (b, *_) = self.kernel.b
        last = columns.value % width if straight and columns.is_const and columns.value > width else 0
        return {
            "straight": straight, "across_whole": ends and not straight,
            "last_columns": last, "or_last": f" || here == {last}" if last else "",
            "or_last_columns": f" || columns == {last}" if last else "",
            "keeps": ((straight or kind.tiles) and plan.rows_first or cuts_taps(self.access, self.schedule))
            and plan.rows <= KEPT,
            "b_parameter": next(i for i, p in enumerate(self.kernel.params) if p.name == b.buffer),
            "sums_of": "the words of those rows and of b" if straight else "what m describes",
            "fetch_parameters": f", const {kind.b_c} *fetched, tc_index step" if fetches else "",
            "fetch_fields": ", .fetch = fetched, .fetch_step = step" if fetches else "",
            "fetch_arguments": "" if not fetches else ", second + fetch_from, fetch_step" if self.rows_lie_evenly else
            ", next, step"}

    @property
    def lies(self) -> bool:
        """Tiles whose rows all exist are read where they lie."""
        return tiles_in_place(self.access, self.schedule) and self.blocks.rows_first

    @property
    def rows_apart(self) -> str:
        """Words from a row of a tile of sums to the next one."""
        copied = str(self.blocks.row_room)
        return f"lies ? {self.row_stride // self.access.product.group} : {copied}" if self.lies else copied

    @property
    def rows_lie_evenly(self) -> bool:
        """The rows of integers of a tile are multiplied where they lie, at known distances."""
        return self.access.product.integer and not self.schedule.packed_a and self.access.row_stride_known

    @cached_property
    def started(self) -> tuple[str, Four] | None:
        """The bias that the sums of a full tile start from, as C text, and what is stored of such sums: where all of
        its columns exist, and they are words of the micro-kernels' own."""
        kind, found = self.blocks.form, bias_of(self.kernel)
        if found is None or kind.tiles or kind.sorts or kind.starts or kind.tall(self.schedule.mr):
            return None
        bias, plain = found
        epilogue = Epilogue(plain, self.access, self.names, self.own, True)
        four = epilogue.four(self.isa.vectors) if epilogue.whole_panels else None
        parameter = next(i for i, p in enumerate(self.kernel.params) if p.name == bias)
        return (f"((const int32_t *)p[{parameter}] + j)", four) if four and self.ends_in_registers(four) else None

    def whole(self, four: Four | None) -> str:
        """The functions of a full tile that keep sums in registers up to the bytes."""
        if four is None or not self.ends_in_registers(four):
            return ""
        text = self.whole_of(four, "whole", self.whole_columns, self.schedule.nr)
        last, lanes = self.straightness(four)["last_columns"], self.isa.lanes
        if not isinstance(last, int) or last == 0:
            return text
        return f"{text}\n\n{self.whole_of(four, 'whole_last', last, -(-last // lanes) * lanes)}"

    def whole_of(self, four: Four, name: str, exist: int, width: int) -> str:
        """One that computes `width` columns, of which the first `exist` do."""
        schedule, kind, each = self.schedule, self.blocks.form, 16 // self.isa.lanes
        micro = replace(self.found(schedule.mr, schedule.nr), columns=width)

        def value(r: int, v: int, lanes: str = "") -> str:
            name = "value_partial" if lanes else "value_started" if self.started else "value"
            held = ", ".join(f"c{r}_{min(i, width // self.isa.lanes - 1)}" for i in range(each * v, each * v + each))
            return f"{self.own}{name}(q, d, t, {r}, j + {16 * v}, " \
                f"(tcv_i32){{{held}}}{f', {lanes}' if lanes else ''})"
        # GCC keeps 27 sums in 32 registers where it does not know the numbers; where it does, it spills them
        unknown, start = self.isa.lanes == 16, self.started[0] if self.started else ""
        stored = stored_rows(self.isa.vectors, schedule.mr, exist, value,
                             lambda r: f"{self.own}at(q, d, t, {r}, j)")
        return expand_file("contraction/tile_bytes.c.in", {
            "own": self.own, "name": name, "rows": schedule.mr, "columns": width, "exist": exist,
            "b_piece": self.text(self.access.b_piece),
            **self.straightness(four), "b_c": kind.b_c, "row_c": kind.row_c, "joined": stored.joined,
            "pieces": stored.pieces, "ends": stored.ends, "four": four.dtype, "four_zero": four.zero,
            "rows_of": ", ".join(self.row_of(r) for r in range(schedule.mr))
            if kind.pairs or self.rows_lie_evenly else "",
            "sums": [] if kind.sorts or kind.tall(schedule.mr) else
            [f"c{r}_{v}" for r in range(schedule.mr) for v in range(width // self.isa.lanes)],
            "unknown": unknown and self.rows_lie_evenly, "terms": self.text(self.access.terms),
            "numbers": ", .terms = terms_of, .taps = taps_of" if unknown and self.rows_lie_evenly else "",
            "sums_text": sums_text(micro, self.isa, False, start=start) if unknown else
            sums_text(micro, self.isa, False, self.text(self.access.terms), "1", self.blocks.row_room, start),
            "pointers": ", ".join(f"p[{i}]" for i in range(len(self.kernel.params)))}).rstrip("\n")

    def row_of(self, r: int) -> str:
        """Row r of a tile, from its first one."""
        if self.rows_lie_evenly:
            return f"(const {self.blocks.form.row_c} *)((const uint8_t *)row + {r * self.row_stride})"
        return f"row + {r * self.blocks.row_room}"

    @property
    def flip(self) -> str:
        """What makes the bytes of rows unsigned."""
        return "0x80" if self.access.product.rows == "i8" else "0"

    def edges(self, border: tuple[TermLoop, ...]) -> dict[str, object]:
        """How the taps that may not exist are walked, and which of them do for row r."""
        names = {loop.var: f"k{i}" for i, loop in enumerate(border)}
        bounds = self.access.bounds
        return {
            "border_taps": [{"var": names[loop.var], "extent": self.text(loop.extent)} for loop in border],
            "border_bounds": [{"e": e, "term": self.text(b.term, names)} for e, b in enumerate(bounds)],
            "border_inside": " | ".join(f"(t->bound[r][{e}] + term{e})" for e in range(len(bounds)))}

    def in_blocks(self) -> dict[str, object]:
        schedule, room, access = self.schedule, self.blocks.room, self.access
        unit = self.blocks.tiles.unit
        skips = skips_padding(access, schedule) and not cuts_taps(access, schedule)
        return {
            **(self.edges(access.border[:-1]) if skips else {}), "skips": skips,
            "border_terms": self.text(access.border[-1].extent),
            "block_panels": f"panels + (start - k0) * {unit}" if skips and schedule.packed_b else "panels",
            "rows_first": self.blocks.rows_first, "last_apart": self.last_apart,
            "shared_items": "w->full * groups" if self.last_apart else "w->all",
            "copied_again": schedule.packed_a and not self.blocks.rows_first,
            "a_room": room.packed_a, "sums_at": room.packed_a + room.packed_b, "row_room": self.blocks.row_room,
            "tile_room": self.blocks.tile_room, "tile_sums": self.blocks.tile_sums,
            "block_groups": self.blocks.groups, "waits": self.blocks.waits, "block_tiles": self.blocks.rows,
            "kc": self.blocks.terms,
            "first_row": row_at(access, "0"),
            "block_a_step": self.rows_apart if self.blocks.form.tiles else
            "1" if schedule.packed_a else self.text(self.inner.a),
            "block_b_step": self.text(self.b_step),
            "depth_field": f", .depth = {self.blocks.depth}" if self.blocks.form.tiles else "",
            "block_b_piece": f"terms * {unit}{self.panel_skew}" if schedule.packed_b
            else self.text(self.access.b_piece)}

    def in_taps(self, most_height: int) -> dict[str, object]:
        access, schedule, unit = self.access, self.schedule, self.blocks.tiles.unit
        padded = bool(access.bounds) and not stands_alone(access, schedule)
        inside, border = access.inside[:-1], access.border[:-1] if padded else ()

        def loops(taps: tuple[TermLoop, ...], names: dict[Sym, str]) -> list[dict[str, str]]:
            return [{"var": names[loop.var], "extent": self.text(loop.extent)} for loop in taps]

        def walk(taps: tuple[TermLoop, ...], names: dict[Sym, str], of: str) -> str:
            return self.text(sum((getattr(loop, of) * sym(loop.var) for loop in taps), const(0)), names)

        inside_names = {loop.var: f"k{i}" for i, loop in enumerate(inside)}
        border_names = {loop.var: f"k{i}" for i, loop in enumerate(border)}
        inside_count = product(loop.extent for loop in inside).value
        border_count = product(loop.extent for loop in border).value
        inner_terms = self.text(access.terms if access.product.integer else self.inner.extent)
        block = schedule.block(0)    # tiles of rows
        # from the first term to the last, of the kernel where that is farthest: backwards, where a is read so
        lowest, highest = (access.border[-1].a * (access.border[-1].extent - 1)).range() if padded else (0, 0)
        assert lowest is not None and highest is not None, "how far terms in the padding reach is known"
        reach = lowest if lowest < 0 else highest
        return {
            **(self.edges(border) if padded else {}),
            "inside_count": inside_count, "inside_taps": loops(inside, inside_names), "inside_terms": inner_terms,
            "inside_a": walk(inside, inside_names, "a"),
            "inside_b": f"tap * ({inner_terms}) * {unit}" if schedule.packed_b else walk(inside, inside_names, "b"),
            "border_count": border_count,
            "border_a": walk(border, border_names, "a"), "border_b": walk(border, border_names, "b"),
            "border_terms": self.text(access.border[-1].extent),
            "tap_groups": self.blocks.groups if schedule.packed_b else "groups",
            "in_rows": bool(schedule.mc or schedule.bands) and not (schedule.packed_b or by_panels(access, schedule)),
            "tap_tiles": block or "tiles", "team_bands": schedule.bands, "in_bands": teams_text(schedule),
            "band": "band" if schedule.bands else block, "alone_band": block or "w->tiles",
            "group_room": self.blocks.group_room if schedule.packed_b else 0,
            "rows_room": most_height * border_count, "zeros": abs(reach) + 1 if padded else 0,
            "first_zero": f"{self.own}padding" + (f" + {-reach}" if reach < 0 else ""),
            "tile_b_step": self.text(self.b_step),
            "tile_b_piece": f"({self.text(access.terms)}) * {unit}{self.panel_skew}" if schedule.packed_b
            else self.text(access.b_piece)}
