# SPDX-License-Identifier: Apache-2.0
"""An AttentionKernel as CUDA C, from templates/cuda/attention.cu.in."""
from __future__ import annotations

import struct

from ...loops import schedule_attention, schedule_cuda
from ...loops.loop_ir import AttentionKernel
from ...loops.masks import LOWEST
from ...loops.scalar_ir import Acc, Apply, Const, Load, Scalar
from ...loops.scalars import walk
from ...loops.schedule_cuda import Units
from ...symbolic import Sym, product, sym
from . import vectors as cuda_vectors
from .groups import group_product
from .kernels import decode, emitter, pointers, positions_header, prologue, rounded
from ..nests.loop_nest import parameters
from ..scalar import C_TYPE, extent, indent
from ..template import expand_file

LOG2E = 1.4426950408889634
LEAST_FACTOR = 2.0 ** -40


def emit_attention(kernel: AttentionKernel, symbol: str, units: Units) -> str:
    """Its products are of operands of the units' precision."""
    tile, dtype = schedule_attention.tile(kernel, units.wgmma), units.precision
    e = emitter(kernel, {s.buffer for s in kernel.stores}, ["sum"])
    e.relaxed = True
    assert kernel.second is not None and kernel.score is not None
    depth, key, last = kernel.depth, kernel.key, kernel.n[-1]
    batch_decode = decode(e, "batch", kernel.batch)
    m_decode = decode(e, "row", kernel.m)
    e.names |= {key: "key", depth: "vector * 8", last: "vector * 8"}

    def points(variables: tuple[Sym, ...]) -> str:
        return f"({e.index(product(extent(s) for s in variables))})"

    def at(load: Load) -> str:
        return e.index(e.address(load.buffer, load.index).substitute({depth: 8 * sym(depth), last: 8 * sym(last)}))

    e.names |= {depth: "vector", last: "vector"}
    def copied(load: Load, own: str, size: str, lines: int, across: int, place: list[str],
               there: str) -> dict[str, str]:
        return copies(own, e.pointers[load.buffer], load.dtype, dtype, at(load), size, lines, across, place, there,
                      tile.threads)

    keys = ["const tc_index key = (block_first + block) * KEYS + line;"]
    deep, wide = extent(depth).value // 8, extent(last).value // 8
    fields = {**copied(kernel.a, "q", "(ROWS * 128)", tile.queries, deep,
                       ["const tc_index row = m_first + line;", *m_decode], "row < m_size"),
              **copied(kernel.second, "k", "(KEYS * 128)", tile.keys, deep, keys, "key < key_size"),
              **copied(kernel.b[0], "v", "(KEYS * 128)", tile.keys, wide, keys, "key < key_size")}
    e.open(kernel.batch + kernel.m)
    e.open((key,))
    factor, raw = unscaled(kernel.score)
    text = e.scalar(raw)
    lines = e.scopes.pop().lines
    whole = extent(key).is_const and extent(key).value % tile.keys == 0
    score = [*e.scopes.pop().lines, *lines,
             f"s[j][e] = {text};" if whole else f"s[j][e] = number < key_size ? {text} : -TC_INFINITY;"]
    end = "key_size"
    if kernel.limit is not None:
        (row,) = kernel.m
        name, e.names[row] = e.names[row], "last_row"
        end = f"tc_min((tc_index)({e.index(kernel.limit)}), key_size)"
        e.names[row] = name
    e.accs = ["sum[0][v]"]
    e.scopes[0].values.clear()
    e.names[last] = "column"
    e.open(kernel.batch + kernel.m)
    stored = cuda_vectors.points(e, kernel.stores, last, "first_last", ["const tc_index column = first_last + v;"],
                                 kernel.n)
    epilogue = [*e.scopes.pop().lines, *stored]
    fields |= {"score": "\n".join(score), "end": end, "epilogue": "\n".join(epilogue)}
    groups = {"batch": kernel.batch, "m": kernel.m, "key": (key,)}
    sizes = {f"{name}_text": points(group) for name, group in groups.items()}
    head = [*prologue(kernel, e.used, e.written), *e.lines]
    return expand_file("cuda/attention.cu.in", {
        "label": kernel.label, "symbol": symbol, "parameters": parameters(kernel), "pointers": pointers(kernel),
        "dims": len(kernel.dims), "prologue": "\n".join(head), "rows": tile.queries,
        "keys": tile.keys, "threads": tile.threads,
        "soon": _reads_early(kernel, units),
        "begin": "tc_begin_first" if schedule_cuda.launch(kernel, units=units).leaves_room else "tc_begin",
        "least_blocks": f", {tile.least_blocks}" if tile.least_blocks > 1 else "", "grouped": tile.grouped,
        "scores_text": group_product(f"{symbol}_scores", tile.keys, 0, dtype, fresh=True),
        "values_text": group_product(f"{symbol}_values", tile.columns, 1, dtype, held=True),
        "log2e": f"{LOG2E * factor!r}f", "weights_of": "k" if tile.grouped else "0",
        "key_text_within": "number" if whole else "number < key_size ? number : key_size - 1",
        "zeros": kernel.zeros, "positions": positions_header(kernel),
        "depth": tile.depth, "columns": tile.columns, "narrow": dtype, "split": tile.split, "clustered": tile.split > 1,
        "shares": tile.shares, "combined": tile.split * tile.shares > 1, "both": tile.split > 1 and tile.shares > 1,
        **sizes,
        "batch_decode": "\n".join(batch_decode), "m_decode": "\n".join(m_decode), **fields})


def _reads_early(kernel: AttentionKernel, units: Units) -> bool:
    """Whether the first keys and values are asked for, to the second cache, before the kernel in front has ended: where
    there are few blocks, of what is not rounded, as a call before this one has left it in a state. What the kernel in
    front has just stored is in that cache anyway."""
    assert kernel.second is not None
    return schedule_cuda.launch(kernel, units=units).leaves_room and \
        all(x.dtype != units.precision for x in (kernel.second, *kernel.b))


def unscaled(score: Scalar) -> tuple[float, Scalar]:
    """A factor that all scores share, and scores without it, which the exponentials are multiplied by at no cost."""
    found = _without_factor(score)
    return found if found else (1.0, score)


def _without_factor(score: Scalar) -> tuple[float, Scalar] | None:
    if not isinstance(score, Apply):
        return None
    if score.op == "mul":
        for one, other in (score.args, score.args[::-1]):
            if isinstance(one, Acc) and isinstance(other, Const):
                factor = struct.unpack("<f", struct.pack("<I", other.bits))[0]
                return (factor, one) if LEAST_FACTOR <= factor <= 1 / LEAST_FACTOR else None
        return None
    if score.op == "select" and score.args[2] is LOWEST and not any(isinstance(x, Acc) for x in walk(score.args[0])):
        found = _without_factor(score.args[1])
        return found and (found[0], Apply("select", score.dtype, (score.args[0], found[1], LOWEST)))
    return None


def copies(own: str, pointer: str, dtype: str, wanted: str, at: str, size: str, lines: int, across: int,
           place: list[str], there: str, threads: int) -> dict[str, str]:
    """How lines of `across` vectors each come to the tile OWN_tile, panels of which have `size` bytes: OWN_held
    declares what waits in registers, OWN_fetch begins it, OWN_put ends it. What need not be rounded needs none."""
    total = lines * across
    count = -(-total // threads)
    head = [f"const int number = thread + i * {threads}, line = number / {across}, vector = number % {across};", *place,
            f"const bool there = {there};"]
    target = f"unsigned char *const target = {own}_tile + vector / 8 * {size} + tc_half_place(line, vector % 8);"
    guard = [f"if (number < {total})"] if total % threads else []

    def each(*body: str) -> str:
        return "\n".join(["#pragma unroll", f"for (int i = 0; i < {count}; ++i) {{", *indent([*head, *body]), "}"])

    if dtype == wanted:
        fetch = each(f"const tc_index at = {at};", target, *guard,
                     f"tc_copy16(target, {pointer} + (there ? at : 0), there);")
        return {f"{own}_soon": "", f"{own}_held": "", f"{own}_fetch": fetch, f"{own}_put": ""}
    element = rounded(f"{own}_from[i][v]", dtype, wanted)
    soon = each(f"const tc_index at = {at};", f"tc_soon_line({pointer} + (there ? at : 0));")
    exists = f" && number < {total}" if total % threads else ""
    return {f"{own}_soon": soon, f"{own}_held": f"{C_TYPE[dtype]} {own}_from[{count}][8];",
            f"{own}_fetch": each(f"const tc_index at = {at};",
                                 f"tc_load8({own}_from[i], {pointer} + (there{exists} ? at : 0));"),
            f"{own}_put": each(target, "uint16_t all[8];", "#pragma unroll", "for (int v = 0; v < 8; ++v)",
                               f"    all[v] = there ? {element} : (uint16_t)0;", *guard,
                               "tc_store8((uint16_t *)target, all);")}


def bring(pointer: str, dtype: str, wanted: str) -> list[str]:
    """Eight elements at `at` to the vector `target`, as 16 bits; zeros where not `there`."""
    if dtype == wanted:
        return [f"tc_copy16(target, {pointer} + (there ? at : 0), there);"]
    return [f"{C_TYPE[dtype]} from[8];", "uint16_t all[8];", f"tc_load8(from, {pointer} + (there ? at : 0));",
            "#pragma unroll", "for (int v = 0; v < 8; ++v)",
            f"    all[v] = there ? {rounded('from[v]', dtype, wanted)} : (uint16_t)0;",
            "tc_store8((uint16_t *)target, all);"]
