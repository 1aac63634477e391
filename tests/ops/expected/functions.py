# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for functions.c; each input ends with the edges of f32."""
from __future__ import annotations

from itertools import product

import torch
from make_expected import Random

INF, NAN = float("inf"), float("nan")
EDGES = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, INF, -INF, NAN, 1e-45, -1e-45, 1.1754944e-38,
                      3.4028235e38, -3.4028235e38, 8388607.5, 16777216.0, 1e6, -1e20])
SIZE = "n=5,m=21"


def with_edges(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.flatten(), EDGES]).reshape(5, 21)


def pairs(rng: Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Random pairs, and all pairs of a few edges."""
    few = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, INF, -INF, NAN]
    a, b = torch.tensor(list(product(few, few))).T
    more = 105 - len(a)
    return (torch.cat([rng.normal(more) * 4, a]).reshape(5, 21), torch.cat([rng.normal(more) * 3, b]).reshape(5, 21))


def functions(rng: Random) -> dict:
    x = with_edges(rng.normal(4, 21) * 3)
    a, b = pairs(rng)
    return {
        "trigonometry": ({"x": x}, lambda i: {"sin": i["x"].sin(), "cos": i["x"].cos(), "tan": i["x"].tan()}, SIZE),
        "exponential": ({"x": x}, lambda i: {"expm1": i["x"].expm1(), "log1p": i["x"].log1p()}, SIZE),
        "gamma": ({"x": x}, lambda i: {"erfc": torch.special.erfc(i["x"]), "lgamma": i["x"].lgamma()}, SIZE),
        "whole": ({"x": x}, lambda i: {"ceil": i["x"].ceil(), "trunc": i["x"].trunc(), "round": i["x"].round(),
                                       "sign": i["x"].sign()}, SIZE),
        "classes": ({"x": x}, lambda i: {"nan": i["x"].isnan(), "inf": i["x"].isinf(), "finite": i["x"].isfinite(),
                                         "inverse": i["x"].reciprocal()}, SIZE),
        "power": ({"a": a, "b": b}, lambda i: {"y": torch.pow(i["a"], i["b"])}, SIZE),
        "power_number": ({"x": x}, lambda i: {"of_two": torch.pow(2, i["x"]), "to_tenths": i["x"] ** 2.7}, SIZE),
        "remainders": ({"a": a, "b": b}, lambda i: {
            "rem": torch.fmod(i["a"], i["b"]), "remainder": torch.remainder(i["a"], i["b"]),
            "floor": torch.floor_divide(i["a"], i["b"])}, SIZE),
        "remainders_number": ({"x": x}, lambda i: {
            "fmod": torch.fmod(i["x"], -1.5), "remainder": torch.remainder(i["x"], -1.5),
            "floor": torch.floor_divide(torch.tensor(7.0).to(i["x"]), i["x"])}, SIZE),
    }
