# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for views.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

H = 5


def axes(i: dict) -> dict:
    x = i["x"]
    return {"squeezed": x.squeeze(2), "flat": x.flatten(1, -2), "split": x.unflatten(1, (3, -1)),
            "moved": x.movedim(1, -1),
            "back": x.movedim(-1, 1), "swapped": x.swapaxes(1, 4), "expanded": x + x[:, :1].expand_as(x),
            "shaped": x.swapaxes(1, 4).reshape(x.shape)}


def backwards(i: dict) -> dict:
    def steps(*shape: int) -> torch.Tensor:
        count = torch.Size(shape).numel()
        return torch.linspace(-1, 1, count, dtype=torch.float64).view(shape)
    taken = torch.take_along_dim(i["deep"].permute(1, 2, 0), i["at"], 1)
    shares = i["cube"].softmax(0)
    wide = torch.take_along_dim(i["line"].diag(-1), i["square_at"], 0)
    flat = torch.take_along_dim(i["box"], i["box_at"], 2).flip(1).flatten()
    rows = torch.take_along_dim(i["brief"], i["brief_at"], 0)
    return {"rows": F.pad(i["row"], (0, 0, 2, 1)).flip(1) @ steps(20, 33),
            "windows": F.conv1d(i["channels"].flip(1), steps(4, 2, 3), padding=1), "taken": taken,
            "turned": taken.permute(2, 1, 0).contiguous(),
            "framed": F.pad(torch.cat((i["first"], shares, shares), 1).flatten(), (2, 1), value=-2),
            "gram": wide @ wide.T, "added": i["none"] + 0, "flat": flat, "norm": flat @ flat,
            "edges": F.pad(i["pairs"].tile(1, 3).flatten(), (1, 1), value=-2),
            "diagonals": F.pad(rows, (0, 0, 2, 2)).diag_embed(-1)}


def functions(rng: Random) -> dict:
    x, a = rng.normal(3, 17, 6), rng.normal(3, 17)
    size = "n=3,m=17"
    return {
        "reshape": ({"x": x}, lambda i: {"rows": i["x"].reshape(-1, 6), "flat": i["x"].exp().flatten(1),
                                         "split": i["x"].reshape(3, 17, 2, 3),
                                         "mixed": -i["x"].permute(1, 0, 2).reshape(17, -1)}, size),
        "permute": ({"x": x}, lambda i: {"reversed": i["x"].permute(2, 1, 0), "swapped": i["x"].transpose(0, 1).abs(),
                                         "sum": i["x"].permute(0, 2, 1) - i["x"].permute(0, 2, 1)}, size),
        "expand": ({"x": a[:, :1].contiguous(), "row": a[0].contiguous()},
                   lambda i: {"wide": i["x"].expand(-1, 17), "deep": i["row"].expand(3, 3, 17),
                              "back": i["x"].unsqueeze(0).squeeze(2)}, size),
        "axes": ({"x": rng.normal(2, 12, 1, 2 * H, 7)}, axes, f"batch=2,h={H}"),
        "backwards": ({"row": rng.normal(1, 20), "channels": rng.normal(1, 2, 20), "deep": rng.normal(3, 3, 2),
                       "at": rng.randint(0, 2, (3, 2, 3)), "cube": rng.normal(5, 4, 5), "first": rng.normal(5, 4, 5),
                       "line": rng.normal(17), "square_at": rng.randint(0, 18, (18, 18)), "none": rng.normal(3, 8, 0),
                       "nowhere": rng.randint(0, 1, (0,)), "what": rng.normal(3, 8, 0),
                       "box": rng.normal(4, 3, 3), "box_at": rng.randint(0, 3, (4, 3, 3)), "pairs": rng.normal(17, 3),
                       "brief": rng.normal(3, 5), "brief_at": rng.randint(0, 3, (3, 5))}, backwards, size),
    }
