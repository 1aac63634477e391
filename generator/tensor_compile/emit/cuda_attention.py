# SPDX-License-Identifier: Apache-2.0
"""An AttentionKernel as CUDA C, from templates/cuda/attention.cu.in."""
from __future__ import annotations

from ..loops import schedule_cuda
from ..loops.loop_ir import AttentionKernel
from ..loops.scalar_ir import Load
from ..loops.schedule_cuda import Units
from ..symbolic import Sym, product, sym
from . import cuda_vectors
from .cuda_kernels import decode, emitter, pointers, positions_header, prologue, rounded
from .loop_nest import parameters
from .scalar import C_TYPE, extent, indent
from .template import expand_file


def emit_attention(kernel: AttentionKernel, symbol: str, units: Units) -> str:
    """Its products are of operands of the units' precision."""
    launch, dtype = schedule_cuda.launch(kernel, units=units), units.precision
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
                      launch.threads)

    keys = ["const tc_index key = (block_first + block) * 64 + line;"]
    deep, wide = extent(depth).value // 8, extent(last).value // 8
    fields = {**copied(kernel.a, "q", "(ROWS * 128)", launch.unroll, deep,
                       ["const tc_index row = m_first + line;", *m_decode], "row < m_size"),
              **copied(kernel.second, "k", "(64 * 128)", 64, deep, keys, "key < key_size"),
              **copied(kernel.b[0], "v", "(64 * 128)", 64, wide, keys, "key < key_size")}
    e.open(kernel.batch + kernel.m)
    e.open((key,))
    text = e.scalar(kernel.score)
    lines = e.scopes.pop().lines
    score = [*e.scopes.pop().lines, *lines, f"s[j][e] = number < key_size ? {text} : -TC_INFINITY;"]
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
        "dims": len(kernel.dims), "prologue": "\n".join(head), "rows": launch.unroll,
        "threads": launch.threads, "least_blocks": ", 4" if schedule_cuda.crowded(kernel) else "",
        "zeros": kernel.zeros, "positions": positions_header(kernel),
        "depth": extent(depth).value, "columns": extent(last).value, "narrow": dtype,
        "split": launch.cluster, "clustered": launch.cluster > 1, **sizes,
        "batch_decode": "\n".join(batch_decode), "m_decode": "\n".join(m_decode), **fields})


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
        return {f"{own}_held": "", f"{own}_fetch": fetch, f"{own}_put": ""}
    element = rounded(f"{own}_from[i][v]", dtype, wanted)
    exists = f" && number < {total}" if total % threads else ""
    return {f"{own}_held": f"{C_TYPE[dtype]} {own}_from[{count}][8];",
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
