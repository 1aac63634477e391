# SPDX-License-Identifier: Apache-2.0
"""What is made of reductions, numbers of 16 bits near their largest."""
from __future__ import annotations

SIZES = (
    [{"batch": b, "h": h} for b, h in ((1, 1), (2, 7), (3, 33))] + [{"n": n} for n in (1, 7, 33)]
    + [{"few": n} for n in (0, 5)])

SPECIALIZED = {"batch": (2,), "h": (7,), "n": (7,)}

FLOATS = ("f32", "f16", "bf16", "f64")
