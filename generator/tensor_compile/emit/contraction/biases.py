# SPDX-License-Identifier: Apache-2.0
"""What the sums of a product of integers start from: a bias that the epilogue would add to them, a number a column."""
from __future__ import annotations

from dataclasses import replace

from ...loops.loop_ir import ContractionKernel
from ...loops.scalar_ir import Acc, Apply, Load, Scalar
from ...loops.scalars import Rewriter, rewritten, walk
from ...symbolic import sym
from .candidate_table import TILE


def bias_of(kernel: ContractionKernel) -> tuple[str, ContractionKernel] | None:
    """The parameter that holds the bias, and the kernel without it; None where there is none. Integers wrap, so that a
    sum may start from any of its terms; the numbers of the last tile's columns must all exist."""
    values = [x.value for x in kernel.stores]
    users = {s for s in walk(*values) if any(isinstance(c, Acc) for c in s.children)}
    if len(kernel.b) != 1 or len(kernel.n) != 1 or len(users) != 1 or any(isinstance(v, Acc) for v in values):
        return None
    (user,) = users
    if not (isinstance(user, Apply) and user.op == "add" and user.dtype == "i32"):
        return None
    acc, bias = user.args if isinstance(user.args[0], Acc) else user.args[::-1]
    if not isinstance(bias, Load) or bias.valid or bias.dynamic:
        return None
    (buffer,) = (p for p in kernel.params if p.name == bias.buffer)
    count = buffer.elements
    if buffer.kind != "packed" or not (count.is_const and count.value % TILE == 0) \
            or buffer.address(bias.index) != sym(kernel.n[0]):
        return None

    def leaf(s: Scalar) -> Scalar | None:
        return acc if s is user else None

    change = Rewriter(leaf=leaf)
    return bias.buffer, replace(kernel, stores=tuple(rewritten(s, change) for s in kernel.stores))
