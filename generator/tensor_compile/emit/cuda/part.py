# SPDX-License-Identifier: Apache-2.0
"""What all forms of contractions as CUDA C have: texts of one contraction of a kernel, and of the kernel itself."""
from __future__ import annotations

from typing import AbstractSet as Set, Any, Iterable, Sequence

from ...loops import tile_limits
from ...loops.loop_ir import ContractionKernel, GroupedContractionKernel
from ...loops.scalars import point_number
from ...records import dataclass
from ...symbolic import Expr, Sym, product
from ..contraction.again import add_again
from .kernels import decode, emitter, pointers, positions_header, prologue
from ..nests.loop_nest import parameters
from ..scalar import extent


@dataclass(frozen=True, slots=True)
class Split:
    """An expression as one of rows (or columns) and batches, and one of terms, whose sum it is."""

    outer: Expr
    inner: Expr


def split(e: Expr, terms: Iterable[Sym]) -> Split | None:
    """None where the two do not part."""
    outer = e.substitute({s: 0 for s in terms})
    inner = e - outer
    return Split(outer, inner) if inner.symbols() <= set(terms) | {s for s in e.symbols() if s.is_dim} else None


class Part:
    """One contraction of a kernel. sums: what its stores know the sums by. decoded: lines that declare the variables of
    its batch, m, n and k by a flattened position."""

    def __init__(self, kernel: ContractionKernel, sums: Sequence[str]):
        self.kernel = kernel
        self.e = emitter(kernel, {s.buffer for s in kernel.stores}, sums)
        self.decoded = {name: decode(self.e, flat, variables) for name, flat, variables in
                        (("batch", "batch", kernel.batch), ("m", "row", kernel.m), ("n", "column", kernel.n),
                         ("k", "k", kernel.k))}

    def texts(self) -> dict[str, Any]:
        """Fields of every template. Asked for last: the prologue is what the others needed. emitter: what it names."""
        kernel = self.kernel
        return {"emitter": self.e, **{f"{name}_decode": "\n".join(lines) for name, lines in self.decoded.items()},
                "sum_count": len(kernel.b), "prologue": "\n".join(self.e.lines), "m_text": self.points(kernel.m),
                "n_text": self.points(kernel.n), "k_text": self.points(kernel.k)}

    def tile_counts(self, rows: int, columns: int) -> list[str]:
        """Sizes, and how many tiles of rows x columns there are."""
        kernel = self.kernel
        return [f"const tc_index m_size = {self.points(kernel.m)}, n_size = {self.points(kernel.n)};",
                f"const tc_index m_tiles = (m_size + {rows - 1}) / {rows};",
                f"const tc_index n_tiles = (n_size + {columns - 1}) / {columns};",
                f"const tc_index tiles = {self.points(kernel.batch)} * m_tiles * n_tiles;"]

    def limits(self, rows: int) -> dict[str, Any]:
        """limited: declares `left_out`, from which on the rows of a tile need no terms or columns
        (loops/tile_limits.py)."""
        terms = tile_limits.of_terms(self.kernel)
        columns = tile_limits.of_columns(self.kernel) if terms is None else None
        limit = columns if terms is None else terms
        if limit is None:
            return {"limited": "", "terms_limited": False, "columns_limited": False}
        lines = ["tc_index left_out;", "{", f"    const tc_index row = tc_min(m_first + {rows}, m_size) - 1;",
                 *(f"    {line}" for line in self.decoded["m"]),
                 f"    left_out = tc_max((tc_index)0, (tc_index)({self.e.index(limit)}));", "}"]
        return {"limited": "\n".join(lines), "terms_limited": terms is not None,
                "columns_limited": columns is not None}

    def is_whole(self, e: Expr) -> bool:
        """Terms are neighbours, over all of them: packed in their order."""
        return e == point_number(self.kernel.k)

    def repair(self, sum_text: str) -> None:
        """Where there is a predicate, appends what computes a sum that is NaN again (again.py), at a point."""
        kernel = self.kernel
        if kernel.where is not None:
            add_again(self.e, kernel, sum_text)

    def points(self, variables: tuple[Sym, ...]) -> str:
        return f"({self.e.index(product(extent(s) for s in variables))})"


def kernel_texts(kernel: ContractionKernel | GroupedContractionKernel, symbol: str,
                 parts: list[dict[str, Any]], more: Set[Sym | str] = frozenset()) -> dict[str, Any]:
    """The fields of a template that are the kernel's; parts: those of its contractions; more: what else it uses."""
    used = {*more, *(x for part in parts for x in part["emitter"].used)}
    written = frozenset(s.buffer for s in kernel.stores)
    return {"label": kernel.label, "symbol": symbol, "parameters": parameters(kernel), "pointers": pointers(kernel),
            "dims": len(kernel.dims), "prologue": "\n".join(prologue(kernel, used, written)), "parts": parts,
            "many": len(parts) > 1, "positions": positions_header(kernel)}
