# SPDX-License-Identifier: Apache-2.0
"""What follows the sums of an exact contraction's tile: all that some rows of a thread load, then what they store. So
loads do not wait for stores in front of them, which the compiler may not exchange."""
from __future__ import annotations

from ...loops.scalar_ir import Load, Scalar
from ...loops.scalars import domain_size, walk
from ...symbolic import Sym
from .part import Part
from ..scalar import C_TYPE, indent

AT_ONCE = 64   # registers that what is loaded may take


def epilogue(part: Part, rows: int, columns: int, height: int, width: int) -> list[str]:
    """Statements for the accumulators acc[sum][height][width] of a thread that is `down` and `across` in a tile."""
    kernel, e = part.kernel, part.e
    known = {*kernel.batch, *kernel.m}
    loads = [n for n in dict.fromkeys(walk(*(s.value for s in kernel.stores)))
             if isinstance(n, Load) and not n.dynamic and not n.valid and
             all(s.is_dim or s in known or s in kernel.n for x in n.index for s in x.symbols())    # no sum's terms
             ] if kernel.where is None else []
    of_rows = [n for n in loads if any(known & set(x.symbols()) for x in n.index)]
    of_columns = [n for n in loads if n not in of_rows]
    at_once = max(1, min(height, AT_ONCE // (width * max(1, len(of_rows)))))
    while height % at_once:
        at_once -= 1
    names = {n: e.fresh("ahead") for n in loads}
    row = [f"const tc_index row = m_first + tc_tile_place<{height}, {rows}>(down, i);", *part.decoded["m"]]
    column = [f"const tc_index column = n_first + tc_tile_place<{width}, {columns}>(across, j);", *part.decoded["n"]]
    there = " && ".join([*(["row < m_size"] if _ragged(kernel.m, rows) else []),
                         *(["column < n_size"] if _ragged(kernel.n, columns) else [])])
    column_there = "column < n_size" if _ragged(kernel.n, columns) else ""

    def loop(name: str, until: int, inside: list[str], first: str = "0") -> list[str]:
        return ["#pragma unroll", f"for (int {name} = {first}; {name} < {until}; ++{name}) {{", *indent(inside), "}"]

    def guarded(test: str, inside: list[str]) -> list[str]:
        return [f"if ({test}) {{", *indent(inside), "}"] if test else inside

    def fetched(of: list[Load], index: str) -> list[str]:
        e.open(kernel.batch + kernel.m + kernel.n)
        texts = [f"{names[n]}{index} = {e.scalar(n)};" for n in of]
        return [*e.scopes.pop().lines, *texts]

    lines = [f"{C_TYPE[n.dtype]} {names[n]}[{width}];" for n in of_columns]
    if of_columns:
        lines += loop("j", width, [*column, *guarded(column_there, fetched(of_columns, "[j]"))])
    inside = [f"{C_TYPE[n.dtype]} {names[n]}[{at_once}][{width}];" for n in of_rows]
    each = "const int i = i0 + u;"
    if of_rows:
        body = [*row, *loop("j", width, [*column, *guarded(there, fetched(of_rows, "[u][j]"))])]
        inside += loop("u", at_once, [each, *body])
    kept: dict[Scalar, str] = {n: f"{names[n]}[j]" for n in of_columns}
    kept |= {n: f"{names[n]}[u][j]" for n in of_rows}
    e.open(kernel.batch + kernel.m + kernel.n)
    e.kept = kept
    part.repair("sum0")
    e.stores(kernel.stores)
    e.kept = {}
    stored = [*(f"float sum{s} = tc_add_f32(acc[{s}][i][j], 0.0f);" for s in range(len(kernel.b))),
              *e.scopes.pop().lines]
    inside += loop("u", at_once, [each, *row, *loop("j", width, [*column, *guarded(there, stored)])])
    return [*lines, "#pragma unroll", f"for (int i0 = 0; i0 < {height}; i0 += {at_once}) {{", *indent(inside), "}"]


def _ragged(variables: tuple[Sym, ...], step: int) -> bool:
    """Whether the last tile may go over the end."""
    count = domain_size(variables)
    return not count.is_const or count.value % step != 0
