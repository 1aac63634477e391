# SPDX-License-Identifier: Apache-2.0
"""Views made of others."""
from __future__ import annotations

from itertools import product

SIZES = [{"batch": b, "h": h} for b, h in product((0, 1, 2, 3), (0, 1, 2, 3, 4, 5, 8, 11))]

SPECIALIZED = {"batch": (2,), "h": (5,)}
