# SPDX-License-Identifier: Apache-2.0
"""Sizes at which the functions of recurrent_onnx.c run."""
from __future__ import annotations

SIZES = [{"t": t, "b": b} for t, b in [(1, 1), (3, 2), (7, 17)]]

SPECIALIZED = {"t": (1,)}
