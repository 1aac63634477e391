# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for making.c."""
from __future__ import annotations

import torch
from make_expected import Random

N, M = 3, 17
SIZE = f"n={N},m={M}"


def steps(i: dict) -> dict:
    return {"even": torch.linspace(-1, 2.5, N), "fine": torch.linspace(3, 1, 8, dtype=torch.float64),
            "powers": torch.logspace(-2, 2, M), "down": torch.arange(M, -1, -3), "eye": torch.eye(N, M),
            "same": torch.full_like(torch.eye(M, N, dtype=torch.int32), 7)}


def grids(i: dict) -> dict:
    ij, xy = (torch.meshgrid(i["a"], i["b"], i["a"], indexing=indexing) for indexing in ("ij", "xy"))
    return {"ij": ij[0] + ij[1] * ij[2], "xy": xy[0] + xy[1] * xy[2], "pairs": torch.cartesian_prod(i["a"], i["b"])}


def sizes(i: dict) -> dict:
    both = torch.cat((i["x"], i["y"]))
    return {"sizes": torch.tensor([N, 7, max(N, M), min(N, M), M % 5, -(-M // 5)]),
            "one": torch.tensor([N - max(N, M)]).float(),
            "none": torch.zeros(0, dtype=torch.int64), "head": both[:max(N, M)] * N, "first": i["x"][:min(N, 2 * M)]}


def choices(i: dict) -> dict:
    x = i["x"]
    return {"triples": torch.combinations(x, 3), "repeated": torch.combinations(x, 2, with_replacement=True),
            "none": torch.combinations(x, 6).reshape(0, 6), "lower": torch.tril_indices(4, 5, 1),
            "upper": torch.triu_indices(6, 3, -1)}


def functions(rng: Random) -> dict:
    return {"steps": ({}, steps, SIZE), "grids": ({"a": rng.normal(N), "b": rng.normal(M)}, grids, SIZE),
            "sizes": ({"x": rng.normal(N), "y": rng.normal(M)}, sizes, SIZE),
            "choices": ({"x": rng.normal(5)}, choices, "")}
