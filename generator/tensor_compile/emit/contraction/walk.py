# SPDX-License-Identifier: Apache-2.0
"""C text that both forms of a contraction share: where a tile stands, and what of the results an item is."""
from __future__ import annotations

from typing import Mapping

from ...loops.loop_ir import ContractionKernel
from ...symbolic import Expr, Sym, ZERO
from .access import Access
from .epilogue import decode
from ..index import c_index
from ..scalar import extent


def batch_names(kernel: ContractionKernel, prefix: str) -> dict[Sym, str]:
    return {s: f"{prefix}b{i}" for i, s in enumerate(kernel.batch)}


def batch_decode(kernel: ContractionKernel, names: Mapping[Sym, str]) -> str:
    """Statements that take `at`, the number of an item of all batches, apart."""
    batch = kernel.batch
    if not batch:
        return ""
    lines = ["tc_index batch = at / items;"]
    for i in reversed(range(1, len(batch))):
        size = c_index(extent(batch[i]), names)
        lines += [f"t.b{i} = batch % ({size});", f"batch /= {size};" if size.isdigit() else f"batch /= ({size});"]
    return "\n".join([*lines, "t.b0 = batch;"])


def even_offset(kernel: ContractionKernel, access: Access, names: Mapping[Sym, str]) -> str:
    """Where the first row of a tile begins, if rows lie evenly apart: by no division, for which loads would wait."""
    assert access.evenly is not None
    first = c_index(access.a_offset.substitute({s: ZERO for s in kernel.m}), {**names, **batch_names(kernel, "t->")})
    return f"{first} + {access.evenly} * row"


def row_begins(access: Access, r: int) -> str:
    """Where row r of a tile begins in a."""
    if access.row_stride_known:
        return f"t->a[0] + {access.evenly * r}" if r and access.evenly is not None else "t->a[0]"
    return f"t->a[{r}]"


def row_at(access: Access, r: str) -> str:
    """The same of a row that C text counts."""
    if access.row_stride_known:
        return f"t->a[0] + {r} * {access.evenly}"
    return f"t->a[{r}]"


def place(kernel: ContractionKernel, access: Access, names: Mapping[Sym, str]) -> tuple[str, str]:
    """What makes t the tile whose rows begin at `row`: statements before a loop over r, and in it."""
    def text(e: Expr) -> str:
        return c_index(e, {**names, **batch_names(kernel, "t->")})

    offset = text(access.a_offset)
    single = len(kernel.m) == 1
    if access.row_stride_known and len(kernel.m) < 2:
        head = ["const tc_index m0 = row;"] if kernel.m else []
        return "\n".join([*head, f"t->a[0] = {offset};"]), ""
    sizes = [text(extent(s)) for s in kernel.m]
    whole = bool(access.bounds) and not access.product.integer    # rows that are copied are looked at one by one
    first = ["t->inside = 1;"] if whole else []
    row = []
    if single:
        row.append("const tc_index m0 = row + r;")
    elif kernel.m:
        first += [line.replace("const ", "", 1) for line in decode("row", "m", sizes)]
        row += [f"t->m{i}[r] = m{i};" for i in range(len(sizes))]
    if access.evenly and len(kernel.m) > 1:
        offset = f"{even_offset(kernel, access, names)} + {access.evenly} * r"
    row.append(f"t->a[r] = {offset};")
    for e, bound in enumerate(access.bounds):
        row.append(f"t->bound[r][{e}] = {text(bound.row)};")
        if whole:
            row.append("t->inside = 0;" if bound.least is None
                       else f"t->inside &= t->bound[r][{e}] + ({text(bound.least)}) >= 0;")
    for i in reversed(range(1, len(sizes))):
        row += [f"if (++m{i} < {sizes[i]})", "    continue;", f"m{i} = 0;"]
    if len(sizes) > 1:
        row.append("++m0;")
    return "\n".join(first), "\n".join(row)
