# SPDX-License-Identifier: Apache-2.0
"""What kernels of attention are known by: softmax of rows, and scores that a mask makes -inf."""
from __future__ import annotations

from ..symbolic import Expr, Sym, sym
from .loop_ir import LoopNestKernel, RowReduce
from .scalar_ir import Apply, Const, IndexValue, Load, Local, Scalar
from .scalars import walk

LOWEST = Const("f32", 0xff800000)
LEAST = Const("f32", 0xff7fffff)      # of the finite numbers
ONE = Const("f32", 0x3f800000)


def holds_where(s: Scalar) -> Expr | None:
    """A comparison of indices as the expression that is >= 0 where it holds."""
    if not isinstance(s, Apply) or s.op not in ("le", "lt", "ge", "gt"):
        return None
    low, high = s.args if s.op in ("le", "lt") else s.args[::-1]
    if not isinstance(low, IndexValue) or not isinstance(high, IndexValue):
        return None
    return high.expr - low.expr if s.op in ("le", "ge") else high.expr - low.expr - 1


def false_from(s: Scalar, variable: Sym, rows: tuple[Sym, ...]) -> Expr | None:
    """A comparison of indices is false for values of the variable from here on, in the row of the one variable of rows
    and all rows before it; None where that is not known."""
    left = holds_where(s)
    if left is None or len(rows) != 1 or left.coefficient(variable) != -1:
        return None
    rest = left + sym(variable)
    step = rest.coefficient(rows[0])
    others = {v for v in rest.symbols() if not v.is_dim} - {rows[0]}
    known = step is not None and not step.symbols() and step.is_const and step.value >= 0 and not others
    return rest + 1 if known else None


def is_lowest(value: Scalar, false: Scalar) -> bool:
    """The value is -inf where `false` is."""
    if not isinstance(value, Apply) or value.op != "select":
        return value is LOWEST
    condition, yes, no = value.args
    return is_lowest(no, false) and (_is_false(condition, false) or is_lowest(yes, false))


def _is_false(condition: Scalar, false: Scalar) -> bool:
    return any(s is false for s in conjuncts(condition))


def conjuncts(s: Scalar) -> list[Scalar]:
    """What all has to be true where s is."""
    return [x for a in s.args for x in conjuncts(a)] if isinstance(s, Apply) and s.op == "logical_and" else [s]


def softmax_columns(kernel: LoopNestKernel, scores: str) -> Sym | None:
    """The variable over which the kernel is the softmax of a buffer, where a maximum of -inf may count as the least
    finite number and a sum of 0 as 1; None where it is anything else."""
    x = _softmax_of(kernel)
    return kernel.phases[0].vars[0] if isinstance(x, Load) and x.buffer == scores and not x.valid else None


def spreads_nan(kernel: LoopNestKernel) -> bool:
    """Of a kernel with a maximum: it is a softmax that leaves nothing but its quotients, or nothing but their
    logarithms. A NaN among its scores makes the sum NaN and so all results, whether the maximum is NaN or that of the
    others; nor does the sign of a maximum of zero change an exp, or a logarithm: with zeros of both signs the sum is 2
    or more."""
    if _is_log_softmax(kernel):
        return True
    if _softmax_of(kernel) is None:
        return False
    (kept,), (out,) = kernel.phases[1].stores, kernel.phases[2].stores
    return (kept.buffer, kept.index) == (out.buffer, out.index)


def _is_log_softmax(kernel: LoopNestKernel) -> bool:
    if len(kernel.phases) != 3 or any(len(s.vars) != 1 or s.vars != kernel.phases[0].vars for s in kernel.phases):
        return False
    if [(len(s.reduces), len(s.stores)) for s in kernel.phases] != [(1, 0), (1, 0), (0, 1)]:
        return False
    (most,), (sums,), (out,) = kernel.phases[0].reduces, kernel.phases[1].reduces, kernel.phases[2].stores
    if not isinstance(most, RowReduce) or not isinstance(sums, RowReduce) \
            or (most.op, most.dtype, sums.op, sums.order) != ("max", "f32", "sum", "lanes"):
        return False
    moved = Apply("sub", "f32", (most.value, Local(most.name, "f32")))
    return sums.value is Apply("exp", "f32", (moved,)) \
        and out.value is Apply("sub", "f32", (moved, Apply("log", "f32", (Local(sums.name, "f32"),))))


def _softmax_of(kernel: LoopNestKernel) -> Scalar | None:
    """What the kernel is the softmax of."""
    if len(kernel.phases) != 3 or any(len(s.vars) != 1 or s.vars != kernel.phases[0].vars for s in kernel.phases):
        return None
    top, total, result = kernel.phases
    shape = [(len(s.reduces), len(s.stores)) for s in kernel.phases]
    if shape != [(1, 0), (1, 1), (0, 1)]:
        return None
    most, sums, kept, out = top.reduces[0], total.reduces[0], total.stores[0], result.stores[0]
    if not isinstance(most, RowReduce) or not isinstance(sums, RowReduce) \
            or (most.op, most.dtype, sums.op, sums.order) != ("max", "f32", "sum", "lanes"):
        return None
    x, largest, whole = most.value, Local(most.name, "f32"), Local(sums.name, "f32")
    value = Load(kept.buffer, "f32", kept.index)
    for least, one in ((largest, whole), (Apply("maximum", "f32", (largest, LEAST)),
                                          Apply("maximum", "f32", (whole, ONE)))):
        e = Apply("exp", "f32", (Apply("sub", "f32", (x, least)),))
        if sums.value is e and kept.value is e and out.value is Apply("div", "f32", (value, one)):
            return x
    return None


def has_zeros(kernel: LoopNestKernel) -> bool:
    """Of a softmax: a row of scores that are all -inf becomes a row of zeros, not of NaN."""
    return any(s is ONE for s in walk(kernel.phases[-1].stores[0].value))
