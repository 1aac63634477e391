# SPDX-License-Identifier: Apache-2.0
"""Integer expressions over symbols: canonical polynomials with floor division, maximum and minimum, and the prover over
them.

Dims of tensors and index expressions of loops are both `Expr`. An `Expr` is kept in canonical form (a sum of integer
multiples of products of atoms), so two equal polynomials are the same object and `==` is identity. An atom is a symbol,
a floor division that could not be reduced, or the larger or smaller of two expressions. `x mod d` is never an atom: it
is written `x - d*floordiv(x, d)`, which makes `d*(x//d) + x mod d` collapse to `x` by itself.

A symbol carries its inclusive range: `lo` an int, `hi` an int or an `Expr` (a loop variable's `extent - 1`), and, for a
dim, a divisor of its value. All values are non-negative unless a range says otherwise.

expressions.py has the data and its arithmetic, division.py the floor division, extrema.py the larger and smaller,
prover.py what can be proved of ranges, guards.py what can be proved where more is known, expression_text.py the parser.
"""
from .expressions import Atom, Expr, Extremum, FloorDiv, IntLike, ONE, Sym, ZERO, const, divisor_of, exact_div, \
    product, sym, wrap
from .division import floordiv
from .extrema import maximum, minimum
from .guards import holds
from .prover import equal, extreme, is_nonnegative, is_zero, never_equal
from .expression_text import parse

__all__ = ["Atom", "Expr", "Extremum", "FloorDiv", "IntLike", "ONE", "Sym", "ZERO", "const", "divisor_of", "equal",
           "exact_div", "extreme", "floordiv", "holds", "is_nonnegative", "is_zero", "maximum", "minimum",
           "never_equal", "parse", "product", "sym", "wrap"]
