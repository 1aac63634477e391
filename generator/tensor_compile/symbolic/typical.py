# SPDX-License-Identifier: Apache-2.0
"""What cost models take for a size that is not known when a model is built."""
from __future__ import annotations

from .expressions import Expr, Sym

UNKNOWN_SIZE = 128    # of a dim without an upper bound


def typical(e: Expr) -> int:
    """A size for cost models: a dim stands for its upper end, at most UNKNOWN_SIZE, and an iteration, which reaches its
    own, for that."""
    def of(symbol: Sym) -> int:
        if isinstance(symbol.hi, Expr):
            return max(symbol.lo, typical(symbol.hi))
        hi = symbol.hi if isinstance(symbol.hi, int) else UNKNOWN_SIZE
        return max(symbol.lo, min(hi, UNKNOWN_SIZE) // symbol.divisor * symbol.divisor)

    return e.evaluate({s: of(s) for s in e.symbols()})
