# SPDX-License-Identifier: Apache-2.0
"""A sum of a contraction with a predicate that came out as NaN: it is computed again, of its terms alone.

Where the predicate is false the first operand is a zero (loop_ir.Contraction), which adds nothing while the second one
is finite. So tiles need no predicate; a sum that is no NaN had no factor that is infinite or NaN beside such a zero.
"""
from __future__ import annotations

from ...loops.loop_ir import ContractionKernel
from ...loops.scalar_ir import Apply
from ..scalar import ScalarEmitter


def add_again(e: ScalarEmitter, kernel: ContractionKernel, place: str) -> None:
    """Appends statements that compute the sum at a point anew, if it is NaN. place: C text of where it stands."""
    (b,), where = kernel.b, kernel.where
    outside = {s: e.names[s] for s in kernel.k if s in e.names}
    assert where is not None
    e.open((*kernel.batch, *kernel.m, *kernel.n))
    again = e.fresh("again")
    e.lines.append(f"float {again} = 0.0f;")
    heads = [e.loop(s) for s in kernel.k]
    holds = e.scalar(where)
    e.open(guard=True)
    factors = [e.scalar(x if x.dtype == "f32" else Apply("cast", "f32", (x,))) for x in (kernel.a, b)]
    e.lines.append(f"{again} = {e.function('fma_f32')}({factors[0]}, {factors[1]}, {again});")
    e.close(f"if ({holds})")
    for head in reversed(heads):
        e.close(head)
    e.lines.append(f"{place} = {again} + 0.0f;")
    e.names.update(outside)
    e.close(f"if ({place} != {place})")
