# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for ordering.c."""
from __future__ import annotations

import torch
from make_expected import Random

SIZE = "n=3,m=17"
NAN = float("nan")


def functions(rng: Random) -> dict:
    cases = {}
    x = rng.normal(3, 2, 17)
    for axis in range(3):
        cases[f"prefixes_{axis}"] = ({"x": x}, lambda i, axis=axis: {
            "sums": i["x"].cumsum(axis), "products": i["x"].cumprod(axis),
            "backwards": i["x"].flip(axis).cumsum(axis).flip(axis), "least": i["x"].cummin(axis).values}, SIZE)
    integers = rng.integers(torch.int64, 3, 2, 17)
    cases["prefix_integers"] = ({"x": integers}, lambda i: {
        "sums": i["x"].cumsum(2), "products": i["x"].cumprod(0), "most": i["x"].cummax(2).values}, SIZE)
    ties = rng.randint(-4, 4, (3, 2, 17)).float()
    ties[0, 1, 5] = ties[2, 0, 9] = ties[2, 0, 12] = NAN

    def extremes(i: dict) -> dict:
        most, least = i["x"].cummax(2), i["x"].cummin(0)
        return {"y": most.values, "places": most.indices, "z": least.values, "low": least.indices}
    cases["cummax"] = ({"x": ties}, extremes, SIZE)
    cases["logcumsumexp"] = ({"x": rng.normal(5, 100)}, lambda i: {
        "y": i["x"].logcumsumexp(1), "steep": (i["x"] * 300).logcumsumexp(0)}, "n=5,m1=100")
    cases["cumulative_share"] = ({"x": rng.normal(3, 17)}, lambda i: {
        "y": i["x"].exp().cumsum(1) / i["x"].exp().sum(1, keepdim=True) * 2}, SIZE)

    def sort(i: dict) -> dict:
        up, down = i["x"].sort(dim=-1, stable=True), i["x"].sort(dim=0, descending=True, stable=True)
        return {"y": up.values, "up": up.indices, "z": down.values, "down": down.indices}
    cases["sort"] = ({"x": ties}, sort, SIZE)
    i32, i64 = rng.randint(-5, 5, (3, 17)).to(torch.int32), rng.integers(torch.int64, 3, 17) * 10**15
    cases["sort_integers"] = ({"i": i32, "j": i64, "b": rng.rand(3, 17) < 0.5}, lambda i: {
        "i_sorted": i["i"].sort(dim=1, descending=True).values, "j_sorted": i["j"].sort(1).values,
        "b_places": i["b"].sort(dim=1, descending=True, stable=True).indices,
        "j_places": i["j"].sort(dim=0, descending=True, stable=True).indices}, SIZE)

    def topk(i: dict) -> dict:
        most, least = i["x"].topk(3, 1), i["x"].exp().topk(2, 1, largest=False)
        return {"y": most.values, "places": most.indices, "z": least.values * 2, "least": least.indices,
                "alone": i["one"]}
    apart = rng.rand(5, 100).argsort(1).float() / 8 - 6  # no two alike, in 16 bits either
    cases["topk"] = ({"x": apart, "one": torch.ones(1)}, topk, "n=5,m3=100")

    def median(i: dict) -> dict:
        middle, third = i["x"].median(1), i["x"].kthvalue(3, 1)
        return {"median": middle.values, "place": middle.indices, "third": third.values, "third_place": third.indices}
    rows = rng.normal(5, 100)
    rows[1, 7] = rows[1, 50] = NAN
    cases["median"] = ({"x": rows}, median, "n=5,m3=100")
    cases["searchsorted"] = ({"sorted": torch.tensor([-1.0, 0.5, 0.5]), "values": torch.cat([
        rng.normal(12), torch.tensor([0.5, -1.0, NAN, float("inf"), -0.0])]), "rows": rng.normal(3, 4),
        "marks": rng.rand(3, 17) * 8}, lambda i: {
            "left": torch.searchsorted(i["sorted"], i["values"]),
            "right": torch.bucketize(i["values"], i["sorted"], right=True),
            "each": torch.searchsorted(i["rows"].exp().cumsum(1), i["marks"], right=True)}, SIZE)
    return cases
