# SPDX-License-Identifier: Apache-2.0
"""What `explain --summary` says of chains of kernels over images: how many run in stripes, and how many only a tuning
lock may run so (loops/stripe_gains.py)."""
from __future__ import annotations

from ..loops.program_ir import leaves, Program, regions, Tiles
from ..loops.stripe_gains import STRIPES, TUNED
from .numbers import number_of


def stripes(program: Program) -> list[str]:
    """No line where there are neither."""
    made = [len(list(leaves([r]))) for r in regions(program.steps) if isinstance(r, Tiles) and r.windows]
    tuned = sum(what.endswith(STRIPES) and why.endswith(TUNED) for what, why in program.refusals)
    said = [f"{number_of(len(made), 'chain')} of {number_of(sum(made), 'kernel')}"] if made else []
    said += [f"{number_of(tuned, 'chain')} that only `tune` may choose"] if tuned else []
    return [f"in stripes: {'; '.join(said)}"] if said else []
