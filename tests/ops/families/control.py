# SPDX-License-Identifier: Apache-2.0
"""Sizes at which the functions of control.c run."""
SIZES = [{"n": n, "m": m} for n, m in [(0, 1), (1, 2), (2, 17), (5, 3)]] + \
    [{"m": m} for m in (1, 5, 17)] + [{"n": n} for n in (0, 1, 4, 11)]
SPECIALIZED = {"n": (1,)}
