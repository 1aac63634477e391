# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for losses.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

SIZE = "n=4,m=10"


def functions(rng: Random) -> dict:
    x, y = rng.normal(4, 10) * 2, rng.normal(4, 10) * 2
    p = torch.softmax(rng.normal(4, 10), 1)
    p[1, :3] = 0
    x[0, :2] = torch.tensor([60.0, -60.0])
    weight, positive = rng.rand(10) + 0.5, rng.rand(10) * 3
    target = torch.tensor([9, 3, 0, 5])
    some = torch.tensor([2, -100, 7, 1], dtype=torch.int32)

    def terms(i: dict) -> dict:
        logp, t = F.log_softmax(i["x"], 1), i["target"].long()
        # without .ignore a target that is no class gives NaN
        return {"terms": F.nll_loss(logp, t, reduction="none"), "mean": F.nll_loss(logp, t),
                "smooth": torch.tensor(float("nan"))}

    return {
        "distances": ({"x": x, "y": y}, lambda i: {
            "mse": F.mse_loss(i["x"], i["y"]), "mse_sum": F.mse_loss(i["x"], i["y"], reduction="sum"),
            "l1": F.l1_loss(i["x"], i["y"], reduction="none"), "huber": F.huber_loss(i["x"], i["y"], delta=0.8),
            "smooth": F.smooth_l1_loss(i["x"], i["y"], beta=0.6, reduction="none")}, SIZE),
        "logistic": ({"x": x, "y": rng.rand(4, 10), "weight": weight, "positive": positive}, lambda i: {
            "mean": F.binary_cross_entropy_with_logits(i["x"], i["y"]),
            "terms": F.binary_cross_entropy_with_logits(i["x"], i["y"], i["weight"], pos_weight=i["positive"],
                                                        reduction="none")}, SIZE),
        "divergence": ({"x": x, "y": p}, lambda i: {
            "mean": F.kl_div(F.log_softmax(i["x"], 1), i["y"]),
            "log": F.kl_div(F.log_softmax(i["x"], 1), i["x"], reduction="sum", log_target=True)}, SIZE),
        "classes": ({"x": x, "target": target, "weight": weight}, lambda i: {
            "mean": F.cross_entropy(i["x"], i["target"]),
            "weighted": F.cross_entropy(i["x"], i["target"], i["weight"], label_smoothing=0.2),
            "ignored": F.cross_entropy(i["x"], i["target"], i["weight"], ignore_index=3)}, SIZE),
        "terms": ({"x": x, "target": some}, terms, SIZE),
        "pixels": ({"x": rng.normal(4, 5, 10), "target": rng.randint(0, 5, (4, 10))}, lambda i: {
            "mean": F.cross_entropy(i["x"], i["target"]),
            "terms": F.cross_entropy(i["x"], i["target"], reduction="none")}, SIZE),
        "probabilities": ({"x": x, "y": p, "weight": weight}, lambda i: {
            "mean": F.cross_entropy(i["x"], i["y"]),
            "smooth": F.cross_entropy(i["x"], i["y"], i["weight"], label_smoothing=0.3, reduction="none")}, SIZE),
    }
