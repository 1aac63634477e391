# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, windows, mel bands."""
from __future__ import annotations

SIZES = [{"n": n, "l": l} for n, l in [(1, 1), (1, 2), (2, 3), (3, 7), (2, 16), (5, 33), (8, 70)]]

SPECIALIZED = {"n": (3,), "l": (7,)}

FLOATS = ("f32", "f16", "bf16", "f64")
