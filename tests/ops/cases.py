# SPDX-License-Identifier: Apache-2.0
"""Sizes at which the functions of the models in this folder are run, and the inputs that need a range of their own."""
from __future__ import annotations

from itertools import product

# family -> list of dims; a function takes those sizes whose dims it has (all of its own, none besides), once each.
SIZES: dict[str, list[dict[str, int]]] = {
    "elementwise": [{"n": n, "m": m} for n, m in
                    [(0, 5), (5, 0), (1, 1), (1, 15), (1, 16), (3, 17), (7, 33), (2, 100), (64, 8), (3, 512)]],
    "integers": [{"n": n, "m": m} for n, m in [(0, 5), (4, 0), (1, 1), (2, 16), (3, 17), (5, 100)]],
    "reductions": [{"a": a, "b": b, "c": c} for a, b, c in
                   [(0, 3, 4), (2, 0, 5), (3, 2, 0), (1, 1, 1), (2, 3, 15), (3, 5, 17), (4, 16, 16), (2, 33, 7),
                    (1, 2, 4097), (1, 1, 10000)]]
    + [{"a1": a, "b1": b, "c1": c} for a, b, c in
       [(1, 1, 1), (2, 3, 15), (3, 5, 17), (4, 16, 16), (16, 33, 7), (1, 2, 4097), (1, 1, 10000)]]
    + [{"n": n, "m": m} for n, m in
       [(0, 3), (1, 1), (2, 16), (3, 17), (5, 100), (2, 384), (1, 4095), (1, 4096), (2, 4097), (1, 10000)]]
    + [{"n1": n, "m": m} for n, m in [(1, 1), (3, 17), (20, 33), (17, 100)]],
    "contractions": [{"m": m, "n": n, "k": k} for m, n, k in
                     [(1, 1, 1), (1, 16, 7), (2, 15, 33), (5, 17, 64), (13, 40, 100), (33, 129, 257), (1, 300, 600)]]
    + [{"m": m, "k": k} for m, k in [(1, 1), (1, 600), (2, 15), (7, 17), (13, 64), (33, 257), (1, 4096 // 8)]]
    + [{"batch": b, "h": h, "w": w} for b, h, w in [(1, 7, 7), (2, 8, 8), (1, 9, 17), (3, 14, 10), (1, 33, 40)]],
    "attention": [{"batch": b, "l": l, "s": s} for b, l, s in
                  [(1, 1, 1), (1, 1, 17), (2, 5, 16), (1, 16, 33), (3, 33, 33), (1, 130, 127)]]
    + [{"batch": b, "l": l} for b, l in [(1, 1), (2, 7), (1, 16), (3, 33), (1, 130)]]
    + [{"l": l} for l in (1, 2, 16, 17, 100)],
    "views": [{"n": n, "m": m} for n, m in [(1, 1), (1, 7), (2, 16), (3, 17), (16, 5), (64, 33)]]
    + [{"n": n, "m": m, "p": p} for (n, m), p in product([(1, 1), (2, 16), (3, 17), (33, 5)], [0, 1, 20])],
}

# Integer inputs that index something: the exclusive bound.
INDEX_BOUNDS = {"index": 50}


def sizes_for(family: str, dims: set[str]) -> list[dict[str, int]]:
    if not dims:
        return [{}]
    return [s for s in SIZES[family] if set(s) == dims]
