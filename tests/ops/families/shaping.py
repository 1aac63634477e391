# SPDX-License-Identifier: Apache-2.0
"""Prefixes, middles of axes, determinants and activations that ONNX has."""
from __future__ import annotations

SIZES = [{"n": n, "m": m} for n, m in [(1, 1), (2, 3), (7, 5), (16, 4), (33, 1), (1, 33)]]

SPECIALIZED = {"n": (7,), "m": (5,)}

FLOATS = ("f32", "f16", "bf16", "f64")
