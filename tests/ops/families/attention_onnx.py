# SPDX-License-Identifier: Apache-2.0
"""Attention in ONNX's conventions: steps behind a cache of several lengths."""
from __future__ import annotations

SIZES = [{"l": l, "p": p} for l, p in [(1, 1), (5, 8), (17, 3)]] + [{"l": l} for l in (1, 4, 17)]

SPECIALIZED = {"l": (1,)}
