# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors: one row, several, more than a vector of them."""
from __future__ import annotations

SIZES = [{"n": n} for n in (0, 1, 3, 17)] + [{"m": m} for m in (0, 1, 300)] + [{"k": k} for k in (1, 3, 17)]

SPECIALIZED = {"n": (3,)}
