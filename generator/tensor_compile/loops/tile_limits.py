# SPDX-License-Identifier: Apache-2.0
"""What a tile of an exact product on a GPU need not compute, as a mask leaves it out in all rows of the tile: terms
whose predicate is false, and columns that are -inf whatever their sums are. Causal attention does half of the work."""
from __future__ import annotations

from ..symbolic import Expr
from .loop_ir import ContractionKernel
from .masks import conjuncts, false_from, is_lowest
from .scalars import walk


def of_terms(part: ContractionKernel) -> Expr | None:
    """In the row of the variable and all rows before it, terms from here on are left out: first operands are zeros
    there, and a sum that is NaN by what it is multiplied with is computed again without them
    (emit/contraction/again.py)."""
    if part.where is None or len(part.k) != 1:
        return None
    return next((x for s in conjuncts(part.where) if (x := false_from(s, part.k[0], part.m)) is not None), None)


def of_columns(part: ContractionKernel) -> Expr | None:
    """The same of columns all of whose results are -inf."""
    if len(part.n) != 1 or len(part.stores) != 1:
        return None
    value = part.stores[0].value
    return next((x for s in walk(value) if is_lowest(value, s)
                 and (x := false_from(s, part.n[0], part.m)) is not None), None)
