# SPDX-License-Identifier: Apache-2.0
"""Second operands whose columns lie term by term in memory, in products of few rows: they need no panels.

A decoder's keys change with every token, so their panels cannot be made in advance. Panels that are made for each
product are written and read once more, and while they are made nothing is multiplied. Here the product reads the
columns where they lie, and turns some terms of 16 of them at a time in registers (emit/contraction/term_by_term.py).
Terms of f16 and bf16 are turned in pairs and widened behind that.
"""
from __future__ import annotations

from typing import Mapping

from ..instruction_sets import CACHE_LINE, instruction_set
from ..graph.dtypes import DTYPES
from ..symbolic import Expr, is_nonnegative, sym, ZERO
from ..target import Target
from .accesses import written
from .kernel_interface import changed
from .loop_ir import ContractionKernel
from .scalar_ir import Buffer, Load
from .scalars import domain_size, extent
from .tile_panels import Panels

TURNED = 16        # bytes of each column that are turned at a time


def most_rows(arch: str) -> int:
    """Each turned column is multiplied by so many rows at most; for more, panels are worth making. NEON multiplies
    panels by lanes of rows, with fewer instructions than columns by one term after the other (9 rows: 0.8 of them)."""
    return 16 if arch == "x86_64" else 8


def without_panels(p: Panels, buffers: Mapping[str, Buffer], target: Target) -> ContractionKernel | str:
    """The product without panels: it reads what `pack` would read. Else the reason why not; "" without vectors."""
    kernel, rows = p.kernel, domain_size(p.kernel.m)
    if not all(instruction_set(isa).has_vectors for isa in target.isas):
        return ""
    if why := many(rows, target.arch):
        return why
    read = _read(p)
    if read is None or kernel.product.integer or read.dtype != kernel.product.b:
        return "the columns are no floats of one buffer"
    if len(kernel.k) != 1 or kernel.where is not None or kernel.a.valid or kernel.a.dynamic:
        return "not all terms are added"
    if read.buffer in written(kernel):
        return "its results would overwrite columns before they are read"
    (k,), (n,) = kernel.k, kernel.n
    address, terms = buffers[read.buffer].address(read.index), extent(k)
    apart, a_step = address.coefficient(n), buffers[kernel.a.buffer].address(kernel.a.index).coefficient(k)
    if address.coefficient(k) != 1 or apart is None or not apart.is_const or a_step is None or not a_step.is_const:
        return "the columns do not lie term by term"
    whole = (TURNED if apart == terms else CACHE_LINE) // DTYPES[read.dtype].bytes
    if not terms.is_const or terms.value % whole or apart.value < terms.value:
        return f"columns of {terms} terms that lie {apart} apart"
    return changed(buffers, kernel, b=(read,), b_panel=0)


def many(rows: Expr, arch: str) -> str:
    """Why columns that so many rows meet are worth panels; "" where they are not."""
    most = most_rows(arch)
    if rows.is_const and rows.value <= most:
        return ""
    shown = rows if all(s.is_dim for s in rows.symbols()) else f"up to {rows.range()[1]}"    # those of a block
    return f"{shown} rows meet the columns, not at most {most}"


def _read(p: Panels) -> Load | None:
    """What is packed of column n, term k and the batch; None where it is no plain element of a buffer."""
    kernel, (store,) = p.kernel, p.pack.phases[0].stores
    value, (b,), (n,) = store.value, kernel.b, kernel.n
    if not isinstance(value, Load) or value.dynamic:
        return None
    walkers, lane = [w for w in p.walkers if w is not None], p.walkers[-1]
    if lane is None or len(set(walkers)) < len(walkers) \
            or any(w is None and (e.symbols() or e != x) for w, e, x in zip(p.walkers, store.index, b.index)):
        return None    # what is no variable is the index of a dim of size 1
    there = {w: ZERO if w is p.panel else x for w, x in zip(p.walkers[:-1], b.index) if w is not None} | {lane: sym(n)}

    def of_column(e: Expr) -> Expr | None:
        """Of column n in place of a lane of a panel."""
        one, panel = e.coefficient(lane), e.coefficient(p.panel)
        return e.substitute(there) if one is not None and panel == one * kernel.b_panel else None

    index, valid = ([of_column(e) for e in of] for of in (value.index, value.valid))
    if None in index or not all(e is not None and is_nonnegative(e) for e in valid):
        return None
    return Load(value.buffer, value.dtype, tuple(e for e in index if e is not None))
