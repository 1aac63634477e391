# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for views.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random


def functions(rng: Random) -> dict:
    x, a, b = rng.normal(3, 17, 6), rng.normal(3, 17), rng.normal(3, 20)
    size = "n=3,m=17"
    return {
        "reshape": ({"x": x}, lambda i: {"rows": i["x"].reshape(-1, 6), "flat": i["x"].exp().flatten(1),
                                         "split": i["x"].reshape(3, 17, 2, 3),
                                         "mixed": -i["x"].permute(1, 0, 2).reshape(17, -1)}, size),
        "permute": ({"x": x}, lambda i: {"reversed": i["x"].permute(2, 1, 0), "swapped": i["x"].transpose(0, 1).abs(),
                                         "sum": i["x"].permute(0, 2, 1) - i["x"].permute(0, 2, 1)}, size),
        "slice": ({"x": x}, lambda i: {"head": i["x"][..., :4], "odd": i["x"][..., 1::2], "last": i["x"][..., -1],
                                       "first": i["x"][0] * 3, "inner": i["x"][..., 1:6][..., 1:-1]}, size),
        "expand": ({"x": a[:, :1].contiguous(), "row": a[0].contiguous()},
                   lambda i: {"wide": i["x"].expand(-1, 17), "deep": i["row"].expand(3, 3, 17),
                              "back": i["x"].unsqueeze(0).squeeze(2)}, size),
        "concat": ({"a": a, "b": b}, lambda i: {"joined": torch.cat([i["a"], i["b"], i["a"]], 1),
                                                "computed": torch.cat([i["a"].exp(), i["b"] * 2], 1),
                                                "rows": torch.cat([i["a"], -i["a"]], 0).sum(1)}, "n=3,m=17,p=20"),
        "split": ({"x": x}, lambda i: {"product": i["x"][..., :2] * i["x"][..., 2:4] * i["x"][..., 4:],
                                       "small": i["x"][..., :2], "large": F.relu(i["x"][..., 2:])}, size),
        "pad": ({"x": x}, lambda i: {"zeros": F.pad(i["x"], (2, 3, 1, 0, 0, 1)),
                                     "ones": F.pad(i["x"].tanh(), (0, 0, 2, 2, 0, 0), value=1.0),
                                     "sums": F.pad(i["x"], (0, 0, 3, 5), value=0.5).sum(1)}, size),
        "triangle": ({"x": a}, lambda i: {"lower": i["x"].tril(0), "upper": i["x"].exp().triu(-1)}, size),
        "update": ({"x": rng.normal(64, 67), "y": a}, lambda i: {"z": torch.cat([
            torch.cat([i["x"][:3, :20], i["y"] * 2, i["x"][:3, 37:]], 1), i["x"][3:]], 0)}, "n=3,m=17,p=20"),
    }
