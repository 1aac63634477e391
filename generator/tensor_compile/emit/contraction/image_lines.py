# SPDX-License-Identifier: Apache-2.0
"""Convolutions of images of few channels, whose results are bytes (templates/contraction/lines.c.in).

A window of such an image is a few bytes in each of a few lines: copying one window after the other takes as long as its
products. With VNNI of AVX-512, which multiplies words of four bytes wherever they lie, the lines themselves are copied,
those of one row of results at a time, and with them what the padding counts at both ends. Windows are read there. Of
bytes that are left of a window in each line, one or two, those of several lines are brought together to one word, for
16 windows at a time. A thread arranges the weights in the order of the words once for all its pieces of a step, zeros
where a word has bytes of other windows. Integers wrap, so their order changes no bit.

A kernel is computed so where a window's terms lie side by side in several lines, or in one that neighbours share, and
are MOST_WORDS words or fewer; where all lines of a window fit the first cache (ROOM); where rows of results have a
constant number of windows, a tile's at least; and where sums become bytes side by side, by what depends on the column
alone. Where there are tiles of AMX, those take the products that are worth them (schedule_blocks.tiled).
"""
from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ...instruction_sets import InstructionSet, instruction_set
from ...loops.contraction_schedule import Schedule
from ...loops.loop_ir import ContractionKernel
from ...loops.products import Product
from ...loops.scalar_ir import Buffer, Load
from ...loops.scalars import symbols_of
from ...records import dataclass
from ...symbolic import Expr, Sym, product, sym
from .access import Access
from .biases import bias_of
from ..integers.windows import multiplies_four
from .candidate_table import PANEL, step_cycles
from .epilogue import Epilogue, Four, names_of
from ..index import c_index
from ..nests.items import positions
from .product_forms import form
from ..quantized import MOST_FACTOR
from ..constants import constant
from ..scalar import C_TYPE, extent
from .stored_rows import stored_rows
from ..template import expand_file

WORD = 4              # bytes that are multiplied at once
VECTOR = 64           # bytes of one
BEHIND = 3 * VECTOR     # bytes behind a line that are read or written
MOST_STEP = 8         # bytes from a window to the next of which ends are brought together
ROOM = 1 << 15        # bytes of all lines of a window
MOST_WORDS = 64       # of a window
UNROLLED = 16         # words up to which there is no loop over lines
MOST_VECTORS = 4      # of columns that are computed together
ROWS = {1: 8, 2: 4, 3: 4, 4: 4}    # windows of a tile of so many vectors
BEGIN = 10            # cycles of a tile but for its products and registers
COPIED = 2.0          # cycles of copying for each VECTOR bytes of a line
JOINED = 6.0          # of a line's part of the ends of 16 windows


@dataclass(frozen=True, slots=True)
class Lines:
    """outer: the variables of k of which each combination is a line; its bytes count from the first window's first one.
    inner: those of a line's terms, the one of neighbours first. run: bytes of a window in a line; step: bytes from a
    window to the next. low, high: of a line that exist. exists: what is >= 0 where a line does. The number of a term
    among all of k is first[line] + place[byte of the run]."""

    image: Load
    outer: tuple[Sym, ...]
    inner: tuple[Sym, ...]
    x: Sym
    count: int
    positions: int
    run: int
    step: int
    low: int
    high: int
    exists: tuple[Expr, ...]
    place: tuple[int, ...]
    first: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Of a line with its padding."""
        return self.step * (self.positions - 1) + self.run

    @property
    def pitch(self) -> int:
        return -(-self.bytes // VECTOR) * VECTOR + BEHIND

    @property
    def ends(self) -> int:
        """Bytes of a window at the end of a line that are brought together with those of other lines."""
        left = self.run % WORD
        return left if left in (1, 2) and self.count > 1 and self.step <= MOST_STEP else 0

    @property
    def in_line(self) -> int:
        """Words of a window that are read in each line."""
        return self.run // WORD if self.ends else -(-self.run // WORD)

    @property
    def joined(self) -> list[range]:
        """The lines of each word of ends."""
        several = WORD // self.ends if self.ends else 1
        return [range(at, min(at + several, self.count)) for at in range(0, self.count, several)] if self.ends else []

    @property
    def words(self) -> int:
        return self.count * self.in_line + len(self.joined)

    @property
    def terms(self) -> list[list[int]]:
        """Of each byte of each word the number of its term, -1 where it is none."""
        def in_line(line: int, byte: int) -> int:
            return self.first[line] + self.place[byte] if byte < self.run else -1
        found = [[in_line(line, WORD * word + i) for i in range(WORD)]
                 for line in range(self.count) for word in range(self.in_line)]
        for lines in self.joined:
            terms = [in_line(line, WORD * self.in_line + i) for line in lines for i in range(self.ends)]
            found.append(terms + [-1] * (WORD - len(terms)))
        return found


def image_lines(kernel: ContractionKernel) -> Lines | None:
    """The lines of the image that a contraction's rows are windows of; None where it is no such one, or cannot end in
    bytes so."""
    if not _multiplies_bytes(kernel.product) or len(kernel.m) < 2 or len(kernel.n) != 1 or kernel.b_panel != PANEL \
            or len(kernel.b) != 1 or kernel.where is not None or kernel.a.dynamic:
        return None
    image = next(p for p in kernel.params if p.name == kernel.a.buffer)
    return _found(kernel.m, kernel.k, kernel.a, image) if _ends_in_bytes(kernel) else None


def _multiplies_bytes(kind: Product) -> bool:
    """Rows can be made unsigned bytes, and columns signed ones."""
    return kind.group == WORD and (kind.a, kind.b, kind.zero) in (("u8", "i8", 0), ("i8", "u8", 128))


def _ends_in_bytes(kernel: ContractionKernel) -> bool:
    access = Access.of(kernel)
    if not access.columns.is_const or not access.b_offset.symbols() <= {access.column} or len(kernel.stores) != 1:
        return False
    (store,) = kernel.stores
    to = {p.name: p for p in kernel.params}[store.buffer].address(store.index).coefficient(kernel.m[-1])
    return store.value.dtype in ("i8", "u8") and to is not None and to.is_const \
        and not symbols_of(store.value) & {*kernel.m, *kernel.batch}


@lru_cache(maxsize=4096)
def _found(m: tuple[Sym, ...], k: tuple[Sym, ...], image: Load, buffer: Buffer) -> Lines | None:
    address, x = buffer.address(image.index), m[-1]
    sizes = {s: extent(s) for s in (*k, x)}
    along = address.coefficient(x)
    if any(not e.is_const for e in sizes.values()) or along is None or not along.is_const or along.value <= 0:
        return None
    size, step = {s: e.value for s, e in sizes.items()}, along.value

    # the terms of a window that lie side by side: up to those that its place in the padding decides
    inner: list[Sym] = []
    run, tap = 1, None
    while tap is None:
        found = next((s for s in k if s not in inner and address.coefficient(s) == run), None)
        asked = [e for e in image.valid if found in e.symbols()]
        if found is None or asked and not all(e.symbols() <= {found, x} for e in asked):
            break
        inner.append(found)
        tap = (found, run) if asked else None
        run *= size[found]
    count = product(sizes[s] for s in k if s not in inner).value
    if not inner or any(address.coefficient(s) is None for s in k) or not 0 < count * run <= WORD * MOST_WORDS \
            or count == 1 and step >= run:    # windows that share nothing
        return None

    low, high, exists = 0, step * (size[x] - 1) + run, []
    for e in image.valid:
        if not e.symbols() & {x, *inner}:
            exists.append(e)
            continue
        if tap is None or not e.symbols() <= {x, tap[0]} or step % tap[1]:
            return None
        sign, rest = e.coefficient(tap[0]), e.substitute({s: sym(s) * 0 for s in (x, tap[0])})
        if sign not in (1, -1) or e.coefficient(x) != sign * (step // tap[1]) or not rest.is_const:
            return None
        # of a column of the image: column + rest >= 0, or rest - column >= 0
        if sign == 1:
            low = max(low, -rest.value * tap[1])
        else:
            high = min(high, (rest.value + 1) * tap[1])

    outer = tuple(s for s in k if s not in inner)
    number = {s: product(sizes[t] for t in k[i + 1:]).value for i, s in enumerate(k)}

    def numbers(variables: tuple[Sym, ...]) -> tuple[int, ...]:
        """The terms that variables run over, the last one innermost."""
        found = [0]
        for s in variables:
            found = [at + number[s] * i for at in found for i in range(size[s])]
        return tuple(found)
    lines = Lines(image, outer, tuple(inner), x, count, size[x], run, step, low, high, tuple(exists),
                  numbers(tuple(reversed(inner))), numbers(outer))
    fits = low < high and lines.words <= MOST_WORDS and lines.count * lines.pitch <= ROOM \
        and lines.positions >= max(ROWS.values())
    return lines if fits else None


def groups_of(columns: int) -> list[int]:
    """The columns that are computed together, group by group."""
    vectors = -(-columns // PANEL)
    each = PANEL * -(-vectors // -(-vectors // MOST_VECTORS))
    return [min(each, columns - at) for at in range(0, columns, each)]


def schedule_of(kernel: ContractionKernel, isa: str) -> Schedule | None:
    """The schedule of a kernel that is computed so; None where the instruction set has no such products."""
    if not multiplies_four(isa) or instruction_set(isa).tiles or image_lines(kernel) is None:
        return None
    widest = -(-max(groups_of(Access.of(kernel).columns.value)) // PANEL)
    made = Schedule(isa, kernel.product.name, ROWS[widest], PANEL * widest, lines=True)
    return made if _four(kernel, made)[1] is not None else None


def _four(kernel: ContractionKernel, schedule: Schedule) -> tuple[Epilogue, Four | None]:
    """What follows the sums, but for a bias that they start from, and how it is stored."""
    bias = bias_of(kernel)
    epilogue = Epilogue(bias[1] if bias else kernel, Access.of(kernel), names_of(kernel), "", True)
    four = epilogue.four(instruction_set(schedule.isa).vectors)
    return epilogue, four if four is not None and four.dtype in ("i8", "u8") else None


def cycles(kernel: ContractionKernel, schedule: Schedule, fmas: float = 0.0) -> float:
    """Modelled time of a row of results, for each window of it. fmas: as of step_cycles."""
    lines, isa = image_lines(kernel), instruction_set(schedule.isa)
    assert lines is not None
    total = lines.count * (COPIED * lines.pitch / VECTOR + (JOINED * lines.positions / 16 if lines.ends else 0.0))
    for columns in groups_of(Access.of(kernel).columns.value):
        width = -(-columns // PANEL) * PANEL
        tile = lines.words * form(schedule.dtype, schedule.isa).pace * step_cycles(isa, schedule.mr, width, fmas)
        total += -(-lines.positions // schedule.mr) * (tile + BEGIN + 3 * schedule.mr * width / PANEL)
    return total / lines.positions


def room(kernel: ContractionKernel) -> int:
    """Words of a thread's scratch."""
    lines = image_lines(kernel)
    assert lines is not None
    return _lines_at(kernel, lines) + lines.count * lines.pitch // 4


def _ends_at(kernel: ContractionKernel, lines: Lines) -> int:
    """Where ends begin, behind the weights."""
    return -(-Access.of(kernel).columns.value // PANEL) * PANEL * (1 + lines.words)


def _end_room(lines: Lines) -> int:
    return -(-lines.positions // PANEL) * PANEL


def _lines_at(kernel: ContractionKernel, lines: Lines) -> int:
    return _ends_at(kernel, lines) + len(lines.joined) * _end_room(lines)


def emit_lines(kernel: ContractionKernel, schedule: Schedule, own: str) -> str:
    """The text of everything but the function that the driver calls."""
    lines, access, isa, names = image_lines(kernel), Access.of(kernel), instruction_set(schedule.isa), names_of(kernel)
    epilogue, four = _four(kernel, schedule)
    assert lines is not None and four is not None
    epilogue = replace(epilogue, own=own)
    names |= {s: f"q{i}" for i, s in enumerate(lines.outer)}

    def text(e: Expr, more: dict[Sym, str] | None = None) -> str:
        return c_index(e, names | more if more else names)
    number = {p.name: i for i, p in enumerate(kernel.params)}
    buffers = {p.name: p for p in kernel.params}
    start = {s: sym(s) * 0 for s in (lines.x, *lines.inner)}
    base = buffers[lines.image.buffer].address(lines.image.index).substitute(start) + lines.low
    *outer_m, _ = range(len(kernel.m))
    items = [*kernel.batch, *kernel.m[:-1]]
    held = [f"t.b{i} = b{i};" for i in range(len(kernel.batch))] + [f"t.m{i}[0] = m{i};" for i in outer_m]
    rows, bias, other = schedule.mr, bias_of(kernel), lines.image.other
    (store,), panel = kernel.stores, PANEL * (1 + lines.words)
    to_step = buffers[store.buffer].address(store.index).coefficient(lines.x)
    assert to_step is not None
    signed = kernel.product.a == "i8"
    columns = groups_of(access.columns.value)
    starts = [sum(columns[:i]) for i in range(len(columns))]
    x_name = f"m{len(kernel.m) - 1}"
    pointers = ", ".join(f"p[{i}]" for i in range(len(kernel.params)))
    values: dict[str, object] = {
        "schedule": schedule.name, "own": own, "rows": rows, "words": lines.words, "positions": lines.positions,
        "m_text": text(product(extent(s) for s in kernel.m[:-1])), "n_text": text(access.columns),
        "batch_text": text(access.batches), "batch_names": [f"b{i}" for i in range(len(kernel.batch))],
        "m_names": [f"m{i}" for i in range(len(kernel.m))], "x_name": x_name,
        "places": "\n".join(f"t->m{i}[r] = t->m{i}[0];" for i in outer_m),
        "terms": ", ".join("{" + ", ".join(map(str, word)) + "}" for word in lines.terms),
        "turn": "0x80" if signed else "0", "b_turn": "0x80" if kernel.product.b == "u8" else "0", "panel": panel,
        "b": number[kernel.b[0].buffer], "b_offset": text(access.b_offset, {access.column: "j"}),
        "bias": f"_mm512_loadu_si512((const int32_t *)p[{number[bias[0]]}] + j)" if bias else "_mm512_setzero_si512()",
        "first": f"tc_min(done, {lines.positions - rows})" if lines.positions % rows else "done",
        "step": lines.step, "pitch": lines.pitch, "low": lines.low, "high": lines.high, "line_bytes": lines.bytes,
        "padding": f"({constant(other) if other is not None else '0'}) ^ {'0x80' if signed else '0'}",
        "a": number[lines.image.buffer], "a_c": C_TYPE[lines.image.dtype], "ends_at": _ends_at(kernel, lines),
        "lines_at": _lines_at(kernel, lines), "exists": " && ".join(f"({text(e)}) >= 0" for e in lines.exists) or "1",
        "base": text(base),
        "decode": "\n".join([*positions([(names[s], text(extent(s))) for s in items], "item"), *held]),
        "loops": [{"name": names[s], "extent": text(extent(s))} for s in lines.outer],
        "end_bytes": lines.ends, "joined_ends": [
            {"at": i * _end_room(lines), "from": some[0] * lines.pitch + WORD * lines.in_line, "lines": len(some)}
            for i, some in enumerate(lines.joined)],
        "pointers": pointers, "four": four.dtype, "four_zero": four.zero,
        "groups": [_group(lines, isa, four, rows, exist, to_step.value, own) for exist in dict.fromkeys(columns)],
        "calls": [{"exist": exist, "j": j, "weights": j // PANEL * panel} for j, exist in zip(starts, columns)]}
    values["store"] = expand_file("contraction/store.c.in", values | _store(epilogue, four, own, pointers)).rstrip("\n")
    return expand_file("contraction/lines.c.in", values).rstrip("\n")


def _group(lines: Lines, isa: InstructionSet, four: Four, rows: int, exist: int, to_step: int,
           own: str) -> dict[str, object]:
    """Of the function that computes the columns of a group, the first `exist` of its vectors."""
    vectors = -(-exist // PANEL)

    def value(r: int, v: int, lanes: str = "") -> str:
        partial = f", {lanes}" if lanes else ""
        return f"{own}value{'_partial' if lanes else ''}(q, d, t, 0, j + {PANEL * v}, (tcv_i32){{c{r}_{v}}}{partial})"
    stored = stored_rows(isa.vectors, rows, exist, value, lambda r: f"to + {r * to_step}")
    kept = [f"tct_store_i32(sums + {(r * vectors + v) * PANEL}, c{r}_{v});"
            for r in range(rows) for v in range(vectors)]
    return {"exist": exist, "width": vectors * PANEL, "sums": rows * vectors * PANEL, "kept": "\n".join(kept),
            "products": "\n".join(_products(lines, rows, vectors)), "joined": stored.joined,
            "pieces": [piece | {"at": piece["r"] * to_step + piece["at"]} for piece in stored.pieces],
            "ends": [piece | {"at": piece["r"] * to_step + piece["at"]} for piece in stored.ends]}


def _products(lines: Lines, rows: int, vectors: int) -> list[str]:
    """The sums of a tile. window: its first one in the first line; b: the weights of the first word."""
    panel = PANEL * (1 + lines.words)
    sums = [(r, v) for r in range(rows) for v in range(vectors)]
    out = [f"tct_i32 c{r}_{v} = tct_load_i32(weights + {v * panel});" for r, v in sums]

    def word(number: int, base: str, first: int, step: int) -> list[str]:
        made = [f"const tct_i32 y{v} = tct_load_i32(b + {v * panel + PANEL * number});" for v in range(vectors)]
        for r in range(rows):
            made.append(f"const tct_i32 s{r} = tct_word_splat((const tc_word *)({base} + {first + r * step}));")
            made += [f"c{r}_{v} = tct_fma_u8xi8(s{r}, y{v}, c{r}_{v});" for v in range(vectors)]
        return ["{", *(f"    {line}" for line in made), "}"]

    number = 0
    if lines.words <= UNROLLED:
        for line in range(lines.count):
            for i in range(lines.in_line):
                out += word(number, "window", line * lines.pitch + WORD * i, lines.step)
                number += 1
    else:
        body = [text for i in range(lines.in_line) for text in word(i, "window", WORD * i, lines.step)]
        out += [f"for (tc_index line = 0; line < {lines.count}; ++line, window += {lines.pitch}, "
                f"b += {PANEL * lines.in_line}) {{", *(f"    {text}" for text in body), "}"]
    for i in range(len(lines.joined)):
        out += word(number + i, "ends + x", i * _end_room(lines), 1)
    behind = "else GCC begins the epilogue before the products"
    return out + [f"TC_UNKNOWN_VECTOR(c{r}_{v}); /* {behind} */" for r, v in sums]


def _store(epilogue: Epilogue, four: Four, own: str, pointers: str) -> dict[str, object]:
    """Of contraction/store.c.in: sums that are large wait in memory."""
    return {"finishes": epilogue.finishes(1), "across": False, "stores_across": False, "started": "",
            "partial": not epilogue.whole_panels,
            "library": True, "four_value": "\n".join(four.value), "four_partial": "\n".join(four.partial),
            "four_place": "\n".join(four.place), "four_factors": four.factors, "most": f"{MOST_FACTOR}f",
            "four_narrow": False, "four_late": False, "later": False, "starts_parameter": "", "sum_c": "int32_t",
            "vector": True, "integer": True, "whole_accs": "tcv_load_i32(acc + c)",
            **{f"four_acc{i}": f"tcv_load_i32(acc + (c + {16 * i}))" for i in range(4)}}
