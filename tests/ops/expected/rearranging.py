# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for rearranging.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

SIZE = "n=5,m=100"


def pixels(i: dict) -> dict:
    x = i["x"].squeeze(2)
    return {"shuffled": F.pixel_shuffle(x, 2), "unshuffled": F.pixel_unshuffle(x[..., :6], 2),
            "channels": F.channel_shuffle(x, 4)}


def functions(rng: Random) -> dict:
    cases = {}
    x = rng.normal(5, 100)
    cases["flip"] = ({"x": x}, lambda i: {
        "both": i["x"].flip(0, 1), "chain": i["x"].exp().flip(-1) + i["x"], "total": i["x"].sum(1)}, SIZE)
    cases["roll"] = ({"x": x}, lambda i: {"forth": i["x"].roll(2, 1), "back": i["x"].roll(-3, 1) * 2}, SIZE)
    cases["repeat"] = ({"x": x}, lambda i: {
        "tiled": i["x"].repeat(1, 3), "each": i["x"].repeat_interleave(2, 0),
        "stacked": torch.stack([i["x"], -i["x"], i["x"]], 1), "part": -i["x"] * 3}, SIZE)
    cases["diagonal"] = ({"x": rng.normal(2, 5, 5), "y": rng.normal(5, 3), "z": rng.integers(torch.int64, 2, 5)},
                         lambda i: {
        "main": i["x"].diagonal(0, -2, -1), "above": i["y"].diagonal(1), "below": i["y"].diagonal(-3),
        "square": i["z"].diag_embed(), "upper": i["z"].diag_embed(2), "lower": i["z"].diag_embed(-1)}, "n=5")
    cases["triangle"] = ({"x": x}, lambda i: {"lower": i["x"].tril(0), "upper": i["x"].exp().triu(-1)}, SIZE)
    cases["pixels"] = ({"x": rng.normal(2, 12, 1, 10, 7)}, pixels, "batch=2,h=5")
    rows = 1 + rng.normal(2, 5, 100) / 8
    for label, axes in (("2", (2,)), ("0", (0,)), ("02", (0, 2))):
        def statistics(i: dict, axes=axes) -> dict:
            product = i["x"]
            for axis in reversed(axes):
                product = product.prod(axis)
            kept = i["x"].sum(axes, keepdim=True).shape
            return {"product": product, "product_kept": product.reshape(kept),
                    "deviation": i["x"].std(axes, correction=0), "unbiased": i["x"].std(axes, keepdim=True)}
        cases[f"statistics_{label}"] = ({"x": rows}, statistics, SIZE)
    wide = torch.cat([rng.normal(3, 100) * 30, torch.full((1, 100), -float("inf")), rng.normal(1, 100)])
    wide[4, 7] = float("inf")
    cases["logsumexp"] = ({"x": wide}, lambda i: {
        "y": i["x"].logsumexp(1), "kept": i["x"].logsumexp(1, keepdim=True),
        "integers": i["x"].clamp(-1, 3).long().prod(1)}, SIZE)
    return cases
