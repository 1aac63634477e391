# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and ONNX's reference implementation give for shaping.c."""
from __future__ import annotations

import torch
from make_expected import Random
from onnx_reference import run

N, M = 7, 5
SIZE = f"n={N},m={M}"


def one(op: str, *inputs: torch.Tensor | None, **attributes: object) -> torch.Tensor:
    return run(op, *inputs, **attributes)[0]


def axis(number: int) -> torch.Tensor:
    return torch.tensor(number)


def prefixes(i: dict) -> dict:
    x = i["x"]
    return {"sum": one("CumSum", x, axis(0), exclusive=1),
            "sum_back": one("CumSum", x, axis(1), exclusive=1, reverse=1),
            "product": one("CumProd", x, axis(1), exclusive=1),
            "product_back": one("CumProd", x, axis(0), exclusive=1, reverse=1),
            "product_reverse": one("CumProd", x, axis(-1), reverse=1)}


def middles(i: dict) -> dict:
    x = i["x"]

    def middle(*sizes: int) -> torch.Tensor:
        return one("CenterCropPad", x, torch.tensor(sizes))

    return {"both": middle(4, 6), "odd": middle(10, M), "swapped": middle(M, N), "above": one("EyeLike", x, k=2),
            "below": one("EyeLike", x.T.contiguous(), k=-1).int()}


def activations(i: dict) -> dict:
    x = i["x"]
    return {"shrink": one("Shrink", x, lambd=0.75, bias=0.25), "swish": x * (1.5 * x).sigmoid(),
            "hard": one("Hardmax", x.round(), axis=1), "hard_rows": one("Hardmax", x, axis=0)}


def det(i: dict) -> dict:
    return {"batch": torch.linalg.det(i["x"].double()), "one": torch.linalg.det(i["y"][:3, :3].double()),
            "singular": torch.zeros(())}


def functions(rng: Random) -> dict:
    n = rng.normal
    plane = {"x": n(N, M)}
    x = n(N, 2, 5, 5)
    x[0, 0, 0, 0] = 0
    return {"prefixes": (plane, prefixes, SIZE), "middles": (plane, middles, SIZE),
            "activations": (plane, activations, SIZE),
            "det": ({"x": x, "y": n(M, M)}, det, SIZE)}
