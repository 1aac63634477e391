# SPDX-License-Identifier: Apache-2.0
"""What kernels of attention are known by: softmax of a buffer's rows, and scores that a mask makes -inf."""
from __future__ import annotations

from ..symbolic import Expr, Sym
from .loop_ir import LoopNestKernel, RowReduce
from .scalar_ir import Apply, Const, IndexValue, Load, Local, Scalar

LOWEST = Const("f32", 0xff800000)


def holds_where(s: Scalar) -> Expr | None:
    """A comparison of indices as the expression that is >= 0 where it holds."""
    if not isinstance(s, Apply) or s.op not in ("le", "lt", "ge", "gt"):
        return None
    low, high = s.args if s.op in ("le", "lt") else s.args[::-1]
    if not isinstance(low, IndexValue) or not isinstance(high, IndexValue):
        return None
    return high.expr - low.expr if s.op in ("le", "ge") else high.expr - low.expr - 1


def is_lowest(value: Scalar, false: Scalar) -> bool:
    """The value is -inf where `false` is."""
    if not isinstance(value, Apply) or value.op != "select":
        return value is LOWEST
    condition, yes, no = value.args
    return is_lowest(no, false) and (_is_false(condition, false) or is_lowest(yes, false))


def _is_false(condition: Scalar, false: Scalar) -> bool:
    return condition is false or isinstance(condition, Apply) and condition.op == "logical_and" \
        and any(_is_false(a, false) for a in condition.args)


def softmax_columns(kernel: LoopNestKernel, scores: str) -> Sym | None:
    """The variable over which the kernel is the softmax of a buffer; None where it is anything else."""
    if len(kernel.phases) != 3 or any(len(s.vars) != 1 or s.vars != kernel.phases[0].vars for s in kernel.phases):
        return None
    top, total, result = kernel.phases
    shape = [(len(s.reduces), len(s.stores)) for s in kernel.phases]
    if shape != [(1, 0), (1, 1), (0, 1)]:
        return None
    most, sums, kept, out = top.reduces[0], total.reduces[0], total.stores[0], result.stores[0]
    if not isinstance(most, RowReduce) or not isinstance(sums, RowReduce):
        return None
    x = most.value
    if not isinstance(x, Load) or x.buffer != scores or x.valid or (most.op, most.dtype, sums.op, sums.order) != (
            "max", "f32", "sum", "lanes"):
        return None
    e = Apply("exp", "f32", (Apply("sub", "f32", (x, Local(most.name, "f32"))),))
    quotient = Apply("div", "f32", (Load(kept.buffer, "f32", kept.index), Local(sums.name, "f32")))
    right = sums.value is e and kept.value is e and out.value is quotient
    return top.vars[0] if right else None
