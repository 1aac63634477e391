# SPDX-License-Identifier: Apache-2.0
"""A ContractionKernel as CUDA C, from templates/cuda/contraction.cu.in.

A block brings the operands' part of its tile to shared memory, some terms at a time. Where an element lies is computed
for each by the operands' own index expressions, so every contraction of the loop IR fits: packed or in place, several
loops over rows, columns and terms, padding."""
from __future__ import annotations

import re
from typing import Any

from ..loops import schedule_cuda
from ..loops.ir import ContractionKernel, Load, SiblingsKernel
from ..symbolic import Expr, Sym, product
from .contraction import whole
from .cuda import decode, emitter, pointers, prologue
from .nest import parameters
from .scalar import extent
from .template import expand_file


def emit_contraction(kernel: ContractionKernel | SiblingsKernel, symbol: str) -> str:
    tile = schedule_cuda.tile(kernel)
    parts = [_part(part) for part in whole(kernel)]
    used = {word for part in parts for text in part.values() if isinstance(text, str) for word in re.findall(r"\w+", text)}
    used |= {word for part in parts for s in part["sums"] for word in re.findall(r"\w+", s["b"])}
    return expand_file("cuda/contraction.cu.in", {
        "label": kernel.label, "symbol": symbol, "parameters": parameters(kernel), "pointers": pointers(kernel),
        "dims": len(kernel.dims), "prologue": "\n".join(prologue(kernel, used, frozenset(s.buffer for s in kernel.stores))),
        "parts": parts, "many": len(parts) > 1, "most_sums": max(len(part["sums"]) for part in parts),
        "rows": tile.rows, "columns": tile.columns, "depth": tile.depth, "height": tile.height, "width": tile.width,
        "threads": tile.threads})


def _part(kernel: ContractionKernel) -> dict[str, Any]:
    assert all(x.dtype == "f32" and not x.dynamic for x in (kernel.a, *kernel.b)), "contractions are of f32"
    assert not any(b.valid for b in kernel.b), "operands are read as they lie"
    e = emitter(kernel, {s.buffer for s in kernel.stores}, [f"sum{i}" for i in range(len(kernel.b))])
    decoded = {f"{name}_decode": "\n".join(decode(e, flat, variables)) for name, flat, variables in
               (("batch", "batch", kernel.batch), ("m", "row", kernel.m), ("n", "column", kernel.n),
                ("k", "k", kernel.k))}

    def points(variables: tuple[Sym, ...]) -> str:
        return f"({e.index(product(extent(s) for s in variables))})"

    def element(load: Load) -> str:
        return f"{e.pointers[load.buffer]}[{e.index(e.address(load.buffer, load.index))}]"

    operands = {"a": element(kernel.a), "sums": [{"i": i, "b": element(b)} for i, b in enumerate(kernel.b)],
                "sum_count": len(kernel.b), "valid": " && ".join(f"{e.index(x)} >= 0" for x in kernel.a.valid) or "true"}
    e.open(kernel.batch + kernel.m + kernel.n)
    e.stores(kernel.stores)
    epilogue = e.scopes.pop().lines
    return {**decoded, **operands, "epilogue": "\n".join(epilogue), "prologue": "\n".join(e.lines),
            "m_text": points(kernel.m), "n_text": points(kernel.n), "k_text": points(kernel.k),
            "batch_text": points(kernel.batch)}
