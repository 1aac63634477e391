# SPDX-License-Identifier: Apache-2.0
"""A ContractionKernel as CUDA C, from templates/cuda/contraction.cu.in.

A block brings the operands' part of its tile to shared memory, some terms at a time. Where an element lies is computed
for each by the operands' own index expressions, so every contraction of the loop IR fits: packed or in place, several
loops over rows, columns and terms, padding."""
from __future__ import annotations

import re

from ..loops import schedule_cuda
from ..loops.ir import ContractionKernel, Load
from ..symbolic import Expr, Sym, product
from .cuda import decode, emitter, pointers, prologue
from .nest import parameters
from .scalar import extent
from .template import expand_file


def emit_contraction(kernel: ContractionKernel, symbol: str) -> str:
    assert all(x.dtype == "f32" and not x.dynamic for x in (kernel.a, *kernel.b)), "contractions are of f32"
    assert not any(b.valid for b in kernel.b), "operands are read as they lie"
    tile = schedule_cuda.tile(kernel)
    sums = range(len(kernel.b))
    e = emitter(kernel, {s.buffer for s in kernel.stores}, [f"sum{i}" for i in sums])
    decoded = {part: decode(e, flat, variables) for part, flat, variables in
               (("batch", "batch", kernel.batch), ("m", "row", kernel.m), ("n", "column", kernel.n),
                ("k", "k", kernel.k))}

    def points(variables: tuple[Sym, ...]) -> str:
        return f"({e.index(product(extent(s) for s in variables))})"

    def element(load: Load) -> str:
        return f"{e.pointers[load.buffer]}[{e.index(e.address(load.buffer, load.index))}]"

    a, seconds = element(kernel.a), [element(b) for b in kernel.b]
    valid = " && ".join(f"{e.index(x)} >= 0" for x in kernel.a.valid) or "true"
    e.open(kernel.batch + kernel.m + kernel.n)
    e.stores(kernel.stores)
    epilogue = e.scopes.pop().lines
    sizes = {name: points(variables) for name, variables in
             (("m_text", kernel.m), ("n_text", kernel.n), ("k_text", kernel.k), ("batch_text", kernel.batch))}
    lines = [line for part in decoded.values() for line in part]
    body = "\n".join([*e.lines, a, *seconds, valid, *epilogue, *sizes.values(), *lines])
    declared = prologue(kernel, set(re.findall(r"\w+", body)), frozenset(s.buffer for s in kernel.stores))
    return expand_file("cuda/contraction.cu.in", {
        "label": kernel.label, "symbol": symbol, "parameters": parameters(kernel), "pointers": pointers(kernel),
        "dims": len(kernel.dims), "prologue": "\n".join([*declared, *e.lines]), **sizes,
        **{f"{part}_decode": "\n".join(lines) for part, lines in decoded.items()},
        "a": a, "sums": [{"i": i, "b": b} for i, b in zip(sums, seconds)], "sum_count": len(sums), "valid": valid, "epilogue": "\n".join(epilogue),
        "rows": tile.rows, "columns": tile.columns, "depth": tile.depth, "height": tile.height, "width": tile.width,
        "threads": tile.threads})
