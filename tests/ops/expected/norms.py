# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for norms.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

H = 7


def norms(i: dict) -> dict:
    norm, x = torch.linalg.vector_norm, i["x"]
    return {"two": norm(x, 2, (1, 3)), "one": norm(x, 1), "largest": norm(x, torch.inf, 2, keepdim=True),
            "smallest": norm(x, -torch.inf, -1), "count": norm(x, 0, 1), "three": norm(x, 3, (1, 2))}


def functions(rng: Random) -> dict:
    x, weight, bias = rng.normal(2, 6, H, 3), rng.normal(6), rng.normal(6)
    x[1, :, 2] = 0
    y, z = rng.normal(6, H, 3), rng.normal(2, 1, 5, 3)
    cases = {
        "group": ({"x": x, "weight": weight, "bias": bias}, lambda i: {
            "y": F.group_norm(i["x"], 3, i["weight"], i["bias"], 1e-3), "plain": F.group_norm(i["x"].flatten(2), 1)}),
        "instance": ({"x": x, "weight": weight, "bias": bias}, lambda i: {
            "y": F.instance_norm(i["x"], weight=i["weight"], bias=i["bias"])}),
        "response": ({"x": x}, lambda i: {
            "y": F.local_response_norm(i["x"], 3, 0.5, k=2.0),
            "even": F.local_response_norm(i["x"].flatten(2), 4, 0.2, 0.5)}),
        "norm": ({"x": x}, norms),
        "normalize": ({"x": x}, lambda i: {
            "y": F.normalize(i["x"]), "one": F.normalize(i["x"], 1, -1, 0.5)}),
        "similarity": ({"x": x, "y": y}, lambda i: {"cosine": F.cosine_similarity(i["x"], i["y"][None], 1)}),
        "cdist": ({"x": x, "y": z}, lambda i: {
            "two": torch.cdist(i["x"], i["y"], 2, "donot_use_mm_for_euclid_dist"),
            "one": torch.cdist(i["x"], i["y"], 1),
            "largest": torch.cdist(i["x"], i["y"], torch.inf)}),
    }
    return {name: (inputs, f, f"batch=2,h={H}") for name, (inputs, f) in cases.items()}
