# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for index_axes.c."""
from __future__ import annotations

import torch
from make_expected import Random

N, M, I = 7, 17, 11
SIZE = f"n={N},m={M},i={I}"


def later_axes(i: dict) -> dict:
    x, a, b, u, v = i["x"], i["a"], i["b"].long(), i["u"], i["v"]
    last = x.clone()  # one by one: of equal places the last value stays
    for j in range(I):
        last[:, a[j, 0], b] = u[j].expand(3, 2, M)
    return {"read": x[:, a, b], "apart": x[b, :, a], "put": last,
            "added": x.index_put((b[None, :], a), v, accumulate=True),
            "gaps": x.permute(0, 2, 1, 3).index_put((b, b), v[:1], accumulate=True).permute(0, 2, 1, 3)}


def slices(i: dict) -> dict:
    x, index, u = i["x"], i["index"], i["u"]
    return {"filled": x.index_fill(0, index, 0.25), "product": x.index_reduce(0, index, u, "prod"),
            "most": x.index_reduce(0, index, u, "amax"), "taken": x.take(index[:, None] * M)}


def reduce(i: dict) -> dict:
    x, index, u = i["x"], i["index"].long(), i["u"]
    whole = torch.full((N, M), 7, dtype=torch.int32)
    return {"mean": x.scatter_reduce(0, index, u, "mean"),
            "mean_of_values": x.scatter_reduce(0, index, u, "mean", include_self=False),
            "product": x.scatter_reduce(0, index, u, "prod", include_self=False),
            "least": x.scatter_reduce(0, index, u, "amin", include_self=False),
            "whole": whole.scatter_reduce(0, index, i["counts"], "mean")}


def masks(i: dict) -> dict:
    above = i["x"] > 0.5
    return {"scattered": i["x"].masked_scatter(above, i["x"].exp()),
            "places": torch.nonzero_static(above, size=N * M, fill_value=-1),
            "counts": torch.bincount(i["index"], minlength=N), "histogram": torch.histc(i["x"], 8, -1, 2)}


def groups(i: dict) -> dict:
    ends = i["sizes"].long().cumsum(0).clamp(max=N)

    def products(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        begin, parts = 0, []
        for group, end in enumerate(ends.tolist()):
            parts.append(x[begin:end] @ i["matrices"][group])
            begin = end
        return torch.cat([*parts, torch.zeros(x.shape[0] - begin, 6)])

    return {"products": products(i["x"], ends), "long_ends": products(i["many"], 5 * ends)}


def functions(rng: Random) -> dict:
    x, places = rng.normal(N, M), rng.randint(0, N, (I,))
    return {
        "later_axes": ({"x": rng.normal(3, N, 5, M), "a": rng.randint(0, 5, (I, 1)),
                        "b": torch.tensor([2, 0], dtype=torch.int32), "u": rng.normal(I, 2, M), "v": rng.normal(5, M)},
                       later_axes, SIZE),
        "slices": ({"x": x, "index": places, "u": rng.normal(I, M)}, slices, SIZE),
        "reduce": ({"x": x, "index": rng.randint(0, N, (I, M)).to(torch.int32), "u": rng.normal(I, M),
                    "counts": rng.randint(-50, 50, (I, M)).to(torch.int32)}, reduce, SIZE),
        "masks": ({"x": x, "index": places}, masks, SIZE),
        "groups": ({"x": x, "matrices": rng.normal(5, M, 6), "sizes": torch.tensor([2, 0, 1, 3, 0], dtype=torch.int32),
                    "many": rng.normal(40, M)},
                   groups, f"n={N},m={M}")}
