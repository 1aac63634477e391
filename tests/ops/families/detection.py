# SPDX-License-Identifier: Apache-2.0
"""Boxes in images, convolutions at places that are data."""
from __future__ import annotations

SIZES = [{"n": n, "r": r} for n, r in [(1, 1), (2, 3), (17, 5), (5, 12), (40, 2)]]

SPECIALIZED = {"n": (2,), "r": (5,)}

FLOATS = ("f32", "f16", "bf16", "f64")
