# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for statistics.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

SIZE = "batch=2,h=33"


def moments(i: dict) -> dict:
    x = i["x"]
    variance, mean = torch.var_mean(x, (1, 3), correction=0)
    deviation, kept = torch.std_mean(x, 2, keepdim=True)
    return {"variance": variance, "mean": mean, "deviation": deviation, "kept": kept, "all": x.std(correction=0),
            "logsumexp": x.logsumexp((1, 2))}


def large(i: dict) -> dict:
    x, norm = i["x"], torch.linalg.vector_norm
    rows = x.flatten(2)
    return {"mean": x.mean(), "deviation": x.std(), "count": norm(x, 0, (1, 2, 3)), "norm": norm(x, 2, 3),
            "cubes": norm(x, 3, (1, 3)), "unit": F.normalize(x), "layer": F.layer_norm(x, (3,)),
            "rms": F.rms_norm(x, x.shape[2:], eps=1e-5), "group": F.group_norm(x, 2), "instance": F.instance_norm(x),
            "response": F.local_response_norm(x, 3, 0.001), "mse": F.mse_loss(x, x.flip(1)),
            "cosine": F.cosine_similarity(x, x.flip(2), 1),
            "pairs": torch.cdist(rows, rows.flip(1), 2, "donot_use_mm_for_euclid_dist"),
            "pair": F.pairwise_distance(x, x.flip(3), 1, keepdim=True)}


def products(i: dict) -> dict:
    a, b, c = i["a"], i["b"], i["c"]
    return {"addmm": torch.addmm(c, a, b, beta=0.5, alpha=3), "linear": F.linear(a, b.T, c), "chain": a @ b @ c,
            "inner": torch.inner(a, a), "outer": torch.outer(c, c), "sum": torch.tensordot(a, b, 1), "cubes": c**3,
            "inverse": c.abs()**-1.5}


def integers(i: dict) -> dict:
    a, b, c, w, d = (i[k].long() for k in "abcwd")
    out = {"addmm": 2 * c - 3 * (a @ b), "linear": a @ b + c, "chain": a @ b @ c, "inner": a @ a.T, "outer": c.outer(c),
           "sum": a @ b, "bilinear": torch.einsum("ni,oij,nj->no", a, w, a) + d, "dot": c @ c, "square": c * c}
    return {k: t.to(torch.int32) for k, t in out.items()}


def empty(i: dict) -> dict:
    x = i["x"]
    return {"variance": x.var(1), "deviation": x.std(1), "mean": x.mean(1), "constant": x.var()}


def functions(rng: Random) -> dict:
    x = rng.normal(2, 6, 33, 3)
    parameters = {"mean": rng.normal(6), "variance": rng.rand(6) + 0.125, "weight": rng.normal(6),
                  "bias": rng.normal(6)}
    small = rng.normal(2, 6, 7, 3) * 4
    return {
        "moments": ({"x": small}, moments, "batch=2,h=7"),
        "large": ({"x": x.clamp(-4, 4) * 100 + 50}, large, SIZE),
        "batch_norm": ({"x": small} | parameters, lambda i: {
            "y": F.batch_norm(i["x"], i["mean"], i["variance"], i["weight"], i["bias"], eps=0.001),
            "plain": F.batch_norm(i["x"], i["mean"], i["variance"])}, "batch=2,h=7"),
        "softmax": ({"x": small}, lambda i: {
            "axes": i["x"].transpose(2, 3).flatten(1, 2).softmax(1).unflatten(1, (6, 3)).transpose(2, 3),
            "all": i["x"].flatten().log_softmax(0).view_as(i["x"]), "least": F.softmin(i["x"], 1)}, "batch=2,h=7"),
        "integers": ({"a": rng.integers(torch.int32, 7, 5), "b": rng.integers(torch.int32, 5, 20),
                      "c": rng.integers(torch.int32, 20), "w": rng.integers(torch.int32, 3, 5, 5),
                      "d": rng.integers(torch.int32, 3)}, integers, "n=7"),
        "products": ({"a": rng.normal(7, 24) * 8, "b": rng.normal(24, 20) * 8, "c": rng.normal(20) * 8}, products,
                     "n=7"),
        "empty": ({"x": torch.zeros(3, 0)}, empty, "few=0"),
    }
