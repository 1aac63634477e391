# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions of bytes, several of which are multiplied and added at once.

With VNNI of AVX-512 the rows of a window are the bytes of one word: a column of the image becomes a word a channel, for
64 channels at a time, or for up to 32 that are left of two rows of windows, and is multiplied with the weights of each
window that it lies in. A window of three rows leaves a byte of the word free. With stride 1 that is the row below: the
same words are those of the next row of windows, too, whose weights begin a byte later. So two rows of windows of an
image are computed at a time, where a thread has both, and half as many words are made: 14 shuffles in place of 22. A
thread with a single row computes it alone, and a few percent slower, as it shifts the weights in vain.

AVX2 multiplies pairs of 16 bits, for 16 channels at a time: of two rows of a column, and of a last row that has no
other, of two columns. Sums of integers wrap, so their order changes no bit. What is rounded to 8 bits behind is one
factor a channel (quantized.py).

A team shares rows, each with all its channels, where there are several for a thread: it mostly wrote them itself, and a
line that another thread wrote takes longer to come than what is made of it. Late layers have many channels and fewer
rows than threads. There a thread takes rows of 64 channels, a line of memory: what it reads above and below them, from
other threads, is the less the narrower its part is. Where channels are no multiple of 64 neighbours would write to the
same lines, so threads share rows alone.
"""
from __future__ import annotations

from typing import Callable

from ...instruction_sets import instruction_set
from ...loops.loop_ir import LoopNestKernel, Store
from ...loops.scalar_ir import Buffer, Const, Load, Reduction, Scalar
from ...records import dataclass
from ...symbolic import Expr, Sym, const, product, sym
from ..halves import is_of
from ..index import c_index
from ..nests.items import positions
from ..quantized import limits, MOST_FACTOR, quantized
from ..constants import constant
from ..scalar import C_TYPE, extent
from ..template import expand_file

WORD = 4            # rows of a window at most
MOST_COLUMNS = 4    # of a window: registers hold the words of all
LANES = 16          # the channels are a multiple of them
CHANNELS = 64       # of a register; half as many are two rows'
MANY_ROWS = 4       # of a thread, or of a piece where it has several; threads then share whole rows
FETCHED_ROWS = 4    # of a thread, whose rows of the image are fetched at once


@dataclass(frozen=True, slots=True)
class ByteWindow:
    """out[row, x, channel] = round(scale[channel] * (bias[channel] + sum of image * weights)) + zero. tap_y, tap_x: the
    variables of the window; x: of the positions of a row; step: of x in columns of the image."""

    store: Store
    zero: int
    scale: Load
    bias: Load | None
    image: Load
    weights: Load
    tap_y: Sym
    tap_x: Sym
    x: Sym
    lane: Sym
    step: int


def byte_window(kernel: LoopNestKernel) -> ByteWindow | None:
    """What the loop nest is, where it is nothing else."""
    if len(kernel.phases) != 1 or not kernel.rows or kernel.phases[0].reduces or len(kernel.phases[0].stores) != 1 \
            or len(kernel.phases[0].vars) != 1 or kernel.phases[0].stores[0].dynamic:
        return None
    (store,), (lane,), x = kernel.phases[0].stores, kernel.phases[0].vars, kernel.rows[-1]
    found = quantized(store.value)
    if found is None or not extent(lane).is_const or extent(lane).value % LANES or not extent(x).is_const:
        return None
    (product_of, zero), buffers = found, {p.name: p for p in kernel.params}
    if not is_of(product_of, "mul", "f32"):
        return None
    scaled, factors = product_of.args
    scale, bias = _a_channel(factors, "f32", lane, buffers), None
    if not is_of(scaled, "cast", "f32") or scale is None:
        return None
    total = scaled.args[0]
    if is_of(total, "add", "i32"):
        bias = _a_channel(total.args[1], "i32", lane, buffers)
        if bias is None:
            return None
        total = total.args[0]
    if not isinstance(total, Reduction) or total.op != "dot" or total.dtype != "i32" \
            or len(total.vars) != 2 or total.order not in ("seq", "free"):
        return None
    image, weights = (_byte(factor) for factor in total.value.children)
    if image is None or weights is None or weights.dtype != "i8" or weights.valid \
            or buffers[weights.buffer].kind != "packed":
        return None
    if total.valid:     # terms that are left out are zeros
        if image.valid:
            return None
        image = Load(image.buffer, image.dtype, image.index, total.valid, Const(image.dtype, 0))
    made = ByteWindow(store, zero, scale, bias, image, weights, *total.vars, x, lane,
                      _step(image, x, total, buffers))
    return made if _fits(made, buffers) else None


def _a_channel(s: Scalar, dtype: str, lane: Sym, buffers: dict[str, Buffer]) -> Load | None:
    """A number for each channel, which lie side by side."""
    if isinstance(s, Load) and s.dtype == dtype and not s.valid and not s.dynamic \
            and buffers[s.buffer].kind == "packed" and buffers[s.buffer].address(s.index) == sym(lane):
        return s
    return None


def _byte(s: Scalar) -> Load | None:
    if is_of(s, "cast", "i32") and isinstance(s.args[0], Load) and s.args[0].dtype in ("i8", "u8") \
            and not s.args[0].dynamic:
        return s.args[0]
    return None


def _step(image: Load, x: Sym, total: Reduction, buffers: dict[str, Buffer]) -> int:
    """Columns from one position to the next; 0 where that is no whole number."""
    address = buffers[image.buffer].address(image.index)
    along, tap = address.coefficient(x), address.coefficient(total.vars[1])
    if along is None or tap is None or not along.is_const or not tap.is_const or tap.value <= 0 \
            or along.value % tap.value:
        return 0
    return along.value // tap.value


def _fits(w: ByteWindow, buffers: dict[str, Buffer]) -> bool:
    if not (extent(w.tap_y).is_const and extent(w.tap_x).is_const) or extent(w.tap_y).value > WORD \
            or not 1 <= w.step <= extent(w.tap_x).value <= MOST_COLUMNS:
        return False
    image, to = (buffers[s.buffer].address(s.index) for s in (w.image, w.store))
    weights = buffers[w.weights.buffer].address(w.weights.index)
    if any(e.coefficient(w.lane) != 1 for e in (image, to, weights)) \
            or not weights.symbols() <= {w.tap_y, w.tap_x, w.lane} or w.store.buffer == w.image.buffer:
        return False
    step = to.coefficient(w.x)
    if step is None or not step.is_const or image.coefficient(w.tap_y) is None:
        return False
    for e in w.image.valid:
        across, along, tap = w.lane in e.symbols(), e.coefficient(w.x), e.coefficient(w.tap_x)
        if across or along is None or tap is None or along != tap * w.step \
                or {w.x, w.tap_x} & e.symbols() and w.tap_y in e.symbols():
            return False
    return True


def _in_columns(e: Expr, w: ByteWindow, column: Expr) -> Expr:
    """What an expression of a position and a tap is of a column of the image."""
    return e.substitute({w.x: const(0), w.tap_x: column})


def found_at(kernel: LoopNestKernel, isa: str) -> ByteWindow | None:
    """What the loop nest is where the instruction set has such products."""
    return byte_window(kernel) if multiplies_words(isa) else None


def emit_byte_window(kernel: LoopNestKernel, isa: str, symbol: str, parameters: list[str]) -> str | None:
    """The kernel's C; None where it is no such window, or the instruction set has no such products."""
    w = found_at(kernel, isa)
    if w is None:
        return None
    names = {s: f"d[{i}]" for i, s in enumerate(kernel.dims)}
    names |= {s: f"i{i}" for i, s in enumerate(kernel.rows)}
    number = {p.name: i for i, p in enumerate(kernel.params)}
    buffers = {p.name: p for p in kernel.params}
    address = buffers[w.image.buffer].address(w.image.index)
    weights = buffers[w.weights.buffer].address(w.weights.index)
    to = buffers[w.store.buffer].address(w.store.index)
    rows, columns = extent(w.tap_y).value, extent(w.tap_x).value
    column = Sym("column", 0, 1 << 30)
    first = {w.x: const(0), w.tap_x: const(0), w.lane: const(0)}
    pitch, to_step = address.coefficient(w.tap_x), to.coefficient(w.x)
    assert pitch is not None and to_step is not None

    def text(e: Expr) -> str:
        return c_index(e, {**names, column: "column"})

    def exists(asked: list[Expr]) -> str:
        return " && ".join(f"({text(e)}) >= 0" for e in asked) or "1"

    def row(r: int) -> dict[str, object]:
        return {"k": r, "exists": exists([e.substitute({w.tap_y: const(r)}) for e in asked_y]),
                "base": text(address.substitute(first | {w.tap_y: const(r)}))}

    def at(r: int, k: int) -> str:
        return text(weights.substitute({w.tap_y: const(r), w.tap_x: const(k), w.lane: const(0)}))

    asked_x = [_in_columns(e, w, sym(column)) for e in w.image.valid if w.tap_x in e.symbols()]
    asked_y = [e for e in w.image.valid if w.tap_x not in e.symbols()]
    low_high, outer = limits(w.store.value), kernel.rows[:-1]
    fill = constant(w.image.other) if w.image.other is not None else "0"
    words = multiplies_four(isa)
    bias = f"(const int32_t *)p[{number[w.bias.buffer]}] + first" if w.bias else ""
    values: dict[str, object] = {
        "symbol": symbol, "label": kernel.label, "parameters": parameters, "taps_y": rows, "taps_x": columns,
        "out": w.store.value.dtype, "out_c": C_TYPE[w.store.value.dtype], "a_c": C_TYPE[w.image.dtype],
        "zero": w.zero, "low": low_high[0], "high": low_high[1], "fill": fill,
        "a": number[w.image.buffer], "w": number[w.weights.buffer], "to": number[w.store.buffer],
        "scale": number[w.scale.buffer],
        "bias": (f"tct_spread({bias}, q, count)" if words else f"tct_spread_pairs({bias})") if bias else
        "none" if words else "{_mm256_setzero_si256(), _mm256_setzero_si256()}",
        "decode": "\n".join(["(void)item;", *positions([(names[s], text(extent(s))) for s in outer], "item")]),
        "rows": [row(r) for r in range(rows)],
        "pitch": text(pitch), "to_base": text(to.substitute(first)), "to_step": text(to_step),
        "positions": text(extent(w.x)), "items": text(product(extent(s) for s in outer)),
        "channels": text(extent(w.lane)), "by_channels": extent(w.lane).value % CHANNELS == 0, "many": MANY_ROWS,
        "most": f"{MOST_FACTOR}f"}
    known = exists(asked_x) if asked_x else ""
    further_rows = _rows_further(outer[-1], address, w.tap_y) if outer else 0
    values |= {"known": known, "fetched": FETCHED_ROWS, "straddles": extent(w.lane).value % CHANNELS != 0,
               "columns": text((extent(w.x) - 1) * w.step + columns),
               "image_rows": [row(r) | {"new": f"(item == begin || {names[outer[-1]]} == 0) && "
                                        if outer and 0 < further_rows <= rows - 1 - r else ""} for r in range(rows)]}
    if words:
        sizes = _sizes(extent(w.lane).value)
        further = _next_row(w, outer[-1], address, to, asked_x, asked_y) if outer and rows < WORD else None
        below = text(further) if further is not None else ""
        another = f"{names[outer[-1]]} + 1 < {text(extent(outer[-1]))}" if below else ""
        held = [row(r) for r in range(rows)]
        if below:
            last = row(rows)
            held.append(last | {"exists": f"each == 2 && {last['exists']}"})
        values |= {"rows": held, "held": len(held), "below": below, "another": another}
        values["blocks"] = [{"count": n, "ending": _ending(n)} for n in sizes]
        values["texts"] = [expand_file("window/words.c.in", values | _words(
            w, rows, columns, below, known, fill, at, text(to_step), ending)).rstrip("\n")
            for ending in dict.fromkeys(map(_ending, sizes))]
    else:
        values |= _pairs(w, rows, columns, known, fill, at)
    parts = ("window/bytes.c.in" if words else "window/pairs.c.in", "window/share.c.in")
    return "\n".join(expand_file(part, values) for part in parts)


def _rows_further(row: Sym, address: Expr, tap: Sym) -> int:
    """How many rows of the image the windows of the next `row` lie lower; 0: not known."""
    along, one = address.coefficient(row), address.coefficient(tap)
    if along is None or one is None or not (along.is_const and one.is_const) or one.value < 1 \
            or along.value % one.value:
        return 0
    return along.value // one.value


def _next_row(w: ByteWindow, row: Sym, address: Expr, to: Expr, asked_x: list[Expr],
              asked_y: list[Expr]) -> Expr | None:
    """How far the results of the next `row` lie behind those of one, where its windows are a row of the image lower."""
    if any(row in e.symbols() for e in asked_x):
        return None
    for e in (address, *asked_y):
        along = e.coefficient(row)
        if along is None or along != e.coefficient(w.tap_y):
            return None
    return to.coefficient(row)


def _sizes(channels: int) -> list[int]:
    """The different numbers of channels that are computed side by side, one register after the other."""
    return [n for n in (CHANNELS if channels >= CHANNELS else 0, channels % CHANNELS) if n]


def _ending(channels: int) -> str:
    """Of the names of the functions that compute so many channels."""
    return "_halves" if channels <= CHANNELS // 2 else ""


def _columns(w: ByteWindow, columns: int, held: list[str], made: Callable[[int], str]) -> dict[str, object]:
    """How the columns of a window are made before the first position and for each, and handed on. held: of the names of
    what is held of a column all but its number, which ends them."""
    kept = range(columns - w.step)
    return {"early": [{"column": made(k + w.step)} for k in kept],
            "late": [{"column": made(k)} for k in range(columns - w.step, columns)],
            "moves": [{"to": f"{name}{k}", "from": f"{name}{k + w.step}"} for k in kept for name in held]}


def _words(w: ByteWindow, rows: int, columns: int, below: str, exists: str, fill: str,
           at: Callable[[int, int], str], to_step: str, ending: str) -> dict[str, object]:
    """Of window/words.c.in. below: how far the next row of results lies, where words have the row of the image below
    the window, too; exists: whether a column does; at: where the weight of a row and a column lies."""
    halves, read = ending != "", range(rows + 1 if below else rows)

    def padded(loaded: list[str]) -> str:
        return ", ".join(loaded + ["none"] * (WORD - len(loaded)))

    def made(k: int) -> str:
        loaded = [f"tct_load_halves((__mmask32)there, row{r}, high{r})" if halves else
                  f"_mm512_maskz_loadu_epi8(there, row{r})" for r in read]
        bytes_of = [f"_mm512_xor_si512({x}, flip)" for x in loaded]
        lines = [f"c{k} = tct_interleave({padded(bytes_of)});"]
        if exists:
            lines = [f"if ({exists})", f"    {lines[0]}", "else",
                     f"    c{k} = tct_interleave({padded(['fill'] * len(read))});"]
        further = [f"row{r} += step{r};" + (f" high{r} += far{r};" if halves else "") for r in read]
        return "\n".join([*lines, *further, "++column;"])

    twice = "tct_twice" if halves else ""
    weights = [[f"{twice}(_mm512_maskz_loadu_epi8(there, w + ({at(r, k)} + first)))" for r in range(rows)]
               for k in range(columns)]
    return {"ending": ending, "halves": halves, "twice": twice, "high_step": f", high += {to_step}" if halves else "",
            "high_below": f", high + {below}" if halves else "",
            "high_parameter": ", void *high" if halves else "", "high_argument": ", high" if halves else "",
            "halves_note": " Two rows at a time, each in a half of a register." if halves else "",
            "each_parameter": ", tc_index each" if below else "",
            "each_note": " each: rows of windows." if below else "",
            "quarters": [{"i": i} for i in range(4)], "flip": "0x80" if w.image.dtype == "i8" else "0",
            "padding": ", ".join([fill] * 64),
            "columns": [{"k": k, "weights": padded(weights[k])} for k in range(columns)],
            "columns_text": ", ".join(f"c{k}" for k in range(columns)), **_columns(w, columns, ["c"], made)}


def _pairs(w: ByteWindow, rows: int, columns: int, exists: str, fill: str,
           at: Callable[[int, int], str]) -> dict[str, object]:
    """The same of window/pairs.c.in."""
    both, odd = rows // 2, rows % 2
    last = f"c{both}_"      # of the last row, which has no other: pairs of a column and the one before

    def weight(r: int, k: int) -> str:
        return f"tct_widen_i8(w + ({at(r, k)} + first))" if k >= 0 else "_mm256_setzero_si256()"

    def made(k: int) -> str:
        loaded = [f"r{r} = tct_widen_{w.image.dtype}(row{r});" for r in range(rows)]
        if exists:
            loaded = [f"if ({exists}) {{", *(f"    {line}" for line in loaded), "} else {",
                      f"    {' = '.join(f'r{r}' for r in range(rows))} = fill;", "}"]
        pairs = [f"c{j}_{k} = tct_pairs(r{2 * j}, r{2 * j + 1});" for j in range(both)]
        pairs += [f"{last}{k} = tct_pairs(before, r{rows - 1});", f"before = r{rows - 1};"] if odd else []
        return "\n".join([*loaded, *pairs, *(f"row{r} += step{r};" for r in range(rows)), "++column;"])

    products = [(f"{j}_{k}", f"c{j}_{k}", weight(2 * j, k), weight(2 * j + 1, k))
                for j in range(both) for k in range(columns)]
    if odd:
        products += [(f"{both}_{k}", f"{last}{k}", weight(rows - 1, k - 1), weight(rows - 1, k))
                     for k in range(1, columns, 2)]
    if odd and columns % 2:
        k = columns - 1
        products.append((f"{both}_{k}", f"{last}{k}", weight(rows - 1, -1), weight(rows - 1, k)))
    held = [f"c{j}_" for j in range(both + odd)]
    return {"odd": odd > 0, "padding": ", ".join([fill] * LANES), "read": ", ".join(f"r{r}" for r in range(rows)),
            "pairs": ", ".join(f"{name}{k}" for name in held for k in range(columns)),
            "weights": [{"name": name, "value": value, "first": one, "second": two}
                        for name, value, one, two in products], **_columns(w, columns, held, made)}


def multiplies_words(isa: str) -> bool:
    """Of several bytes at once."""
    return multiplies_four(isa) or instruction_set(isa).vectors == "AVX2"


def multiplies_four(isa: str) -> bool:
    found = instruction_set(isa)
    return found.vectors == "AVX512" and any(f.name == "AVX512_VNNI" for f in found.features)
