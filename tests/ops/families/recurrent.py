# SPDX-License-Identifier: Apache-2.0
"""Sizes at which the functions of recurrent.c run."""
SIZES = [{"t": t, "b": b} for t, b in [(0, 1), (1, 1), (3, 2), (7, 17)]] + [{"b": b} for b in (1, 3, 17)]
SPECIALIZED = {"t": (1,)}
