# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one to three dims, transposed ones."""
from __future__ import annotations

SIZES = [{"batch": b, "h": h} for b, h in
         [(1, 4), (1, 6), (1, 7), (1, 9), (1, 13), (2, 5), (2, 7), (2, 8), (2, 10), (2, 17), (3, 4), (3, 5), (3, 6),
          (3, 7),
          (3, 11)]]

SPECIALIZED = {"batch": (2,), "h": (7,)}

FLOATS = ("f16", "bf16", "f64")
