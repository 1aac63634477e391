# SPDX-License-Identifier: Apache-2.0
"""Pooling."""
from __future__ import annotations

SIZES = [{"batch": b, "h": h} for b, h in
         [(1, 4), (1, 7), (1, 9), (1, 16), (1, 33), (2, 5), (2, 6), (2, 7), (2, 13), (2, 17), (3, 4), (3, 5), (3, 7),
          (3, 8),
          (3, 9)]]

SPECIALIZED = {"batch": (2,), "h": (7,)}

FLOATS = ("f16", "bf16", "f64")
