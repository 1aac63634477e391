# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for parts.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

H = 5


def parts(i: dict) -> dict:
    x = i["x"]
    chunks, every = x.chunk(4, -1), x.split(5, 1)
    return {"narrow": x.narrow(3, H, H), "chunk": torch.cat((chunks[-1], chunks[0]), -1),
            "every": torch.cat((every[-1], every[0]), 1)}


def sliding(i: dict) -> dict:
    return {"rows": i["x"].unfold(1, 3, 2), "columns": i["x"].unfold(2, 2, 1).sum(-1).to(torch.int32)}


def uneven(i: dict) -> dict:
    x = i["x"]
    parts, pieces = x.tensor_split(4, 2), x.tensor_split((1, -2), -1)
    every = x.clone()
    every[..., 0:5:2] = x[..., :3].exp()
    return {"first": parts[0] * parts[1], "last": parts[2] + parts[3], "middle": pieces[1],
            "selected": x.select_scatter(i["z"], 1, -1), "sliced": (-x).slice_scatter(i["y"][:, :1], 1, 0, 1),
            "every": every}


def functions(rng: Random) -> dict:
    x, a, b = rng.normal(3, 17, 6), rng.normal(3, 17), rng.normal(3, 20)
    size, small = "n=3,m=17", f"batch=2,h={H}"
    return {
        "slice": ({"x": x}, lambda i: {"head": i["x"][..., :4], "odd": i["x"][..., 1::2], "last": i["x"][..., -1],
                                       "first": i["x"][0] * 3, "inner": i["x"][..., 1:6][..., 1:-1]}, size),
        "concat": ({"a": a, "b": b}, lambda i: {"joined": torch.cat([i["a"], i["b"], i["a"]], 1),
                                                "computed": torch.cat([i["a"].exp(), i["b"] * 2], 1),
                                                "rows": torch.cat([i["a"], -i["a"]], 0).sum(1)}, "n=3,m=17,p=20"),
        "split": ({"x": x}, lambda i: {"product": i["x"][..., :2] * i["x"][..., 2:4] * i["x"][..., 4:],
                                       "small": i["x"][..., :2], "large": F.relu(i["x"][..., 2:])}, size),
        "pad": ({"x": x}, lambda i: {"zeros": F.pad(i["x"], (2, 3, 1, 0, 0, 1)),
                                     "ones": F.pad(i["x"].tanh(), (0, 0, 2, 2, 0, 0), value=1.0),
                                     "sums": F.pad(i["x"], (0, 0, 3, 5), value=0.5).sum(1)}, size),
        "update": ({"x": rng.normal(64, 67), "y": a}, lambda i: {"z": torch.cat([
            torch.cat([i["x"][:3, :20], i["y"] * 2, i["x"][:3, 37:]], 1), i["x"][3:]], 0)}, "n=3,m=17,p=20"),
        "uneven": ({"x": x, "y": rng.normal(3, 2, 6), "z": rng.normal(3, 6)}, uneven, size),
        "parts": ({"x": rng.normal(2, 12, 1, 2 * H, 7)}, parts, small),
        "sliding": ({"x": rng.integers(torch.int32, 2, H + 3, 7)}, sliding, small),
    }
