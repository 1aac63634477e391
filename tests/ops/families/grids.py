# SPDX-License-Identifier: Apache-2.0
"""Sampling at the points of a grid."""
from __future__ import annotations

from itertools import product

SIZES = [{"batch": b, "h": h} for b, h in product((1, 2, 3), (1, 2, 3, 4, 5, 6, 7, 8, 11, 16))]

SPECIALIZED = {"batch": (2,), "h": (4,)}
