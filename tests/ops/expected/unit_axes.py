# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for unit_axes.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random


def first_of_sorted(i: dict) -> dict:
    x = i["x"]
    most, least = x.topk(1, 1), x.kthvalue(1, 1)
    return {"most": most.values, "most_place": most.indices, "least": least.values, "least_place": least.indices,
            "found": torch.nonzero_static(x > 0.5, size=1)}


def sort_of_one(i: dict) -> dict:
    y, middle = i["x"].sort(1, descending=True), i["x"].median(1)
    return {"y": y.values, "up": y.indices, "order": i["x"].argsort(1), "median": middle.values,
            "middle": middle.indices,
            "sums": i["x"].cumsum(1), "arg": i["x"].argmax(1)}


def sort_columns(i: dict) -> dict:
    y = i["x"].sort(0)
    return {"y": y.values, "places": y.indices, "order": i["i"].argsort(dim=0, descending=True, stable=True)}


def products(i: dict) -> dict:
    one, x, w, e = i["one"], i["x"], i["w"], torch.einsum
    return {"rows": e("abc,adc->bd", one, one), "all": (one * one).sum(), "grams": e("abc,adc->bd", x, x),
            "wide": e("abc,bcd->ad", x, w), "turned": e("abc,bcd->da", x, w), "outer": e("ab,ac->bc", i["u"], i["v"])}


def known_products(i: dict) -> dict:
    def steps(low: float, n: int) -> torch.Tensor:
        return torch.linspace(low, 1, n, dtype=torch.float64)
    waves = torch.arange(256, dtype=torch.float64).sin().view(32, 8)
    return {"y": i["x"] + (steps(0, 128).view(4, 32) @ waves).sum(0),
            "z": F.conv2d(steps(-1, 72).view(1, 2, 6, 6), steps(0, 54).view(3, 2, 3, 3)),
            "ranks": torch.arange(6, dtype=torch.float64).view(2, 3) @ i["w"]}


def tiled(i: dict) -> dict:
    t, d = i["x"].tile(2, 2), i["d"].diag().tile(2, 2)
    least = d.cummin(0)
    return {"shares": t.softmax(0), "logs": t.log_softmax(0), "most": t.log_softmax(0).cummax(0).values,
            "sums": t.cumsum(0), "logsumexp": t.logsumexp(0), "var": t.var(0, correction=0),
            "diagonal": d.log_softmax(0), "diagonals": d.cumsum(0), "ends": least.values, "least": least.indices}


def sums_of_sums(i: dict) -> dict:
    sums = i["x"].sum(0)
    return {"backwards": -sums.flip(0), "weighted": (sums * i["z"]).sum(0), "rows": i["r"] + 1}


def median_of_some(i: dict) -> dict:
    y = i["x"].median(0)
    return {"y": y.values, "place": y.indices}


def walked_twice(i: dict) -> dict:
    x, w, v, none = i["x"], i["w"], i["v"], i["none"]
    return {"a": (x[:, None] * w).sum(0), "b": (x * v).amax(0), "c": (x[:, None] * v).amax(0), "scaled": none + 0,
            "none_plus": none + 1}


def nothing_moved(i: dict) -> dict:
    return {"padded": torch.zeros(6, 2, dtype=i["none"].dtype), "turned": i["deep"].permute(2, 0, 1).contiguous()}


def row_by_columns(i: dict) -> dict:
    return {"y": torch.einsum("ab,bc->c", i["x"], i["x"])}


def rows_backwards(i: dict) -> dict:
    taken = torch.take_along_dim(i["x"], i["i"], 1)
    return {"flipped": taken.flip(1), "whole": taken.trunc().to(torch.int64)}


def nothing_taken(i: dict) -> dict:
    none, deep = i["none"], i["deep"]
    return {"taken": none.T.contiguous(), "soft": deep, "sorted": deep, "product": deep @ deep.transpose(1, 2),
            "sum": none.sum(1)}


def functions(rng: Random) -> dict:
    n = rng.normal
    return {
        "first_of_sorted": ({"x": n(3, 17)}, first_of_sorted, "n=3,m=17"),
        "sort_of_one": ({"x": n(3, 1, 17)}, sort_of_one, "n=3,m=17"),
        "sort_columns": ({"x": n(1, 2, 17), "i": rng.integers(torch.int8, 1, 2, 17)}, sort_columns, "n=1,m=17"),
        "products": ({"one": n(1, 4, 5), "x": n(1, 2, 17), "w": n(2, 17, 24), "u": n(1, 3), "v": n(1, 20)}, products,
                     "n=1,m=17"),
        "known_products": ({"x": n(5, 8), "w": n(3, 5)}, known_products, "m=5"),
        "tiled": ({"x": n(4, 8), "d": n(2)}, tiled, "n=2,m=8"),
        "sums_of_sums": ({"x": n(6, 9), "z": n(6, 9), "r": n(3, 1)}, sums_of_sums, "n=3,m=9"),
        "median_of_some": ({"x": n(7)}, median_of_some, "k=7"),
        "walked_twice": ({"x": n(8), "w": n(8, 8), "v": n(8, 8), "none": n(0, 4, 3)}, walked_twice, ""),
        "nothing_moved": ({"none": n(2, 0), "deep": n(17, 1, 0)}, nothing_moved, "m=17"),
        "rows_backwards": ({"x": n(1, 3, 17), "i": rng.randint(0, 3, (1, 3, 17))}, rows_backwards, "n=3,m=17"),
        "nothing_taken": ({"none": n(2, 0), "i": torch.zeros(2, 0, dtype=torch.int64), "deep": n(0, 17, 7),
                           "one": n(1)},
                          nothing_taken, "m=17"),
        "row_by_columns": ({"x": n(17, 17)}, row_by_columns, "m=17"),
    }
