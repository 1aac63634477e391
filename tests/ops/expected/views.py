# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for views.c."""
from __future__ import annotations

from make_expected import Random

H = 5


def axes(i: dict) -> dict:
    x = i["x"]
    return {"squeezed": x.squeeze(2), "flat": x.flatten(1, -2), "split": x.unflatten(1, (3, -1)),
            "moved": x.movedim(1, -1),
            "back": x.movedim(-1, 1), "swapped": x.swapaxes(1, 4), "expanded": x + x[:, :1].expand_as(x),
            "shaped": x.swapaxes(1, 4).reshape(x.shape)}


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
    }
