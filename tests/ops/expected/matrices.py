# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for matrices.c."""
from __future__ import annotations

import torch
from make_expected import Random

N, M = 3, 17
SIZE = f"n={N},m={M}"


def turned(i: dict) -> dict:
    x = i["x"]
    backwards = x.clone()
    for row, length in enumerate(i["lengths"].clamp(0, M).tolist()):
        backwards[:, row, :length] = x[:, row, :length].flip(-1)
    return {"left": x.rot90(1, (1, 2)), "half": x.rot90(-2, (-1, 0)), "right": x.rot90(3, (1, 2)),
            "tiled": x[0].tile(2, 1, 3), "last": x.tile(2), "backwards": backwards}


def blocks(i: dict) -> dict:
    x, y, square, line = i["x"], i["y"], i["square"], i["line"]
    return {"kron": torch.kron(x, y), "blocks": torch.block_diag(x, y[:, None], x.exp()), "trace": square.trace(),
            "middle": square.diagonal_scatter(line), "above": square.tile(2, 1).diagonal_scatter(line, -1)}


def depth(i: dict) -> dict:
    x, y = i["x"], i["y"]
    space = x.reshape(2, 2, 2, 2, N, M).permute(0, 3, 4, 1, 5, 2).reshape(2, 2, 2 * N, 2 * M)
    return {"space": space, "depth": y.reshape(3, 2, 2, 3, 2).permute(2, 4, 0, 1, 3).reshape(12, 2, 3)}


def functions(rng: Random) -> dict:
    x = rng.normal(2, N, M)
    return {"turned": ({"x": x, "lengths": torch.tensor([4, 0, M])}, turned, SIZE),
            "blocks": ({"x": x[0].clone(), "y": rng.normal(3), "square": rng.normal(N, N), "line": rng.normal(N)},
                       blocks, SIZE),
            "depth": ({"x": rng.normal(2, 8, N, M), "y": rng.normal(3, 4, 6)}, depth, SIZE)}
