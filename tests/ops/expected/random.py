# SPDX-License-Identifier: Apache-2.0
"""What philox.py gives for random.c. test_philox.py compares that with the published vectors."""
from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
from make_expected import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from philox import words

SIZE = "n=3,m=17"


def uniform(i: dict) -> torch.Tensor:
    return torch.tensor([(w >> 8) * 2.0**-24 for w in words(int(i["seed"]), int(i["offset"]), 52)], dtype=torch.float64)


def normal(i: dict) -> torch.Tensor:
    u = uniform(i).tolist()
    out = []
    for a, b in zip(u[::2], u[1::2]):
        radius = math.sqrt(-2 * math.log(a + 2.0**-24))
        out += [radius * math.cos(2 * math.pi * b), radius * math.sin(2 * math.pi * b)]
    return torch.tensor(out[:51], dtype=torch.float64).reshape(3, 17)


def some(i: dict, count: int) -> list[int]:
    return words(int(i["seed"]), int(i["offset"]), count)


def drawn(i: dict) -> dict:
    u, p = uniform(i)[:51].reshape(3, 17), uniform({"seed": 1, "offset": 2})[:51].reshape(3, 17) / 2
    return {"integers": torch.tensor([(w * 1003 >> 32) - 3 for w in some(i, 51)]).reshape(3, 17),
            "order": torch.tensor(some(i, 17)).argsort(stable=True), "times": -torch.log1p(-u),
            "heads": (u < p).double()}


def multinomial(i: dict) -> dict:
    shares, u = i["x"].clamp(-4, 4).exp(), uniform(i)
    sums = shares.cumsum(1)
    return {"several": torch.searchsorted(sums, u[:36].reshape(3, 12) * sums[:, -1:], right=True),
            "apart": (shares / -torch.log1p(-u[:27].reshape(3, 9))).topk(4, 1).indices}


def least(i: dict) -> dict:
    """The number 3 is 0: its time is 0, its rate infinite, its class the first unless the share is 0."""
    u = torch.tensor([(w >> 8) * 2.0**-24 for w in words(1343428, 0, 4)], dtype=torch.float64)
    times = torch.log1p(-u).abs()
    assert u[3] == 0
    whole, without = i["p"]
    race = torch.where(without > 0, without / times, 0.0)
    return {"rates": 1 / times, "whole": (whole / times).topk(2).indices,
            "without": race.sort(descending=True, stable=True).indices}


def functions(rng: Random) -> dict:
    cases = {"fixed": ({}, lambda i: {"y": torch.tensor(words(0, 0, 51)).reshape(3, 17)}, SIZE)}
    arguments = {"seed": torch.tensor(-0x123456789ABCDEF), "offset": torch.tensor([0x2A0000001F])}
    cases["bits"] = (arguments, lambda i: {
        "y": torch.tensor(words(int(i["seed"]), int(i["offset"]), 51)).reshape(3, 17)}, SIZE)
    cases["uniform"] = (arguments, lambda i: {"y": uniform(i)[:51].reshape(3, 17)}, SIZE)
    cases["normal"] = (arguments, lambda i: {"y": normal(i)}, SIZE)
    cases["dropout"] = ({"x": rng.normal(3, 17), **arguments}, lambda i: {
        "y": torch.where(uniform(i)[:51].reshape(3, 17) >= 0.3, i["x"] / 0.7, 0.0)}, SIZE)
    cases["drawn"] = (arguments, drawn, SIZE)
    cases["multinomial"] = ({"x": rng.normal(3, 9), **arguments}, multinomial, "n=3")
    cases["least"] = ({"p": torch.tensor([[1.0, 2, 3, 4], [2.0, 0, 1, 0]])}, least, "")
    return cases
