# SPDX-License-Identifier: Apache-2.0
"""Steps of optimizers."""
from __future__ import annotations

SIZES = [{"n": n} for n in (0, 1, 17)]

SPECIALIZED = {"n": (17,)}

FLOATS = ("f16", "bf16")
