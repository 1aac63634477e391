# SPDX-License-Identifier: Apache-2.0
"""Resampling as ONNX has it."""
from __future__ import annotations

SIZES = [{"batch": b, "h": h} for b, h in
         [(1, 1), (1, 4), (1, 16), (2, 1), (2, 2), (2, 4), (2, 5), (2, 11), (3, 3), (3, 4), (3, 7), (3, 8)]]

SPECIALIZED = {"batch": (2,), "h": (4,)}

FLOATS = ("f32", "f16", "bf16", "f64")
