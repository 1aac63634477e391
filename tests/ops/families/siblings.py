# SPDX-License-Identifier: Apache-2.0
"""Products of one operand."""
from __future__ import annotations

SIZES = [{"rows": n} for n in (0, 1, 2, 5, 6, 7, 16, 29, 70, 130)]

SPECIALIZED = {"rows": (1, 29)}
