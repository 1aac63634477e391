# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for margins.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

SIZE = "n=4,m=10"


def distributions(i: dict) -> dict:
    x, rate, target, variance = i["x"], i["rate"], i["target"], i["variance"]
    return {"poisson": F.poisson_nll_loss(x, target),
            "poisson_full": F.poisson_nll_loss(x, target, full=True, reduction="none"),
            "rates": F.poisson_nll_loss(rate, target, log_input=False, reduction="sum"),
            "gaussian": F.gaussian_nll_loss(x, target, variance),
            "gaussian_full": F.gaussian_nll_loss(x, target, variance, full=True, eps=0.5, reduction="none")}


def probabilities(i: dict) -> dict:
    x, target = i["x"], i["target"]
    return {"mean": F.binary_cross_entropy(x, target),
            "terms": F.binary_cross_entropy(x, target, i["weight"], reduction="none"),
            "batch": F.kl_div(-x, target, reduction="batchmean")}


def sides(i: dict) -> dict:
    x, y, side = i["x"], i["y"], i["side"]
    return {"soft": F.soft_margin_loss(x, side), "hinge": F.hinge_embedding_loss(x, side, reduction="none"),
            "hinge_mean": F.hinge_embedding_loss(x, side, 2.5), "ranking": F.margin_ranking_loss(x, y, side),
            "ranking_sum": F.margin_ranking_loss(x, y, side, 0.5, reduction="sum")}


def vectors(i: dict) -> dict:
    x, y, z, side = i["x"], i["y"], i["z"], i["side"]
    return {"cosine": F.cosine_embedding_loss(x, y, side, 0.125, reduction="none"),
            "cosine_mean": F.cosine_embedding_loss(x, y, side), "triplet": F.triplet_margin_loss(x, y, z),
            "swapped": F.triplet_margin_loss(x, y, z, 2, 1, swap=True, reduction="none")}


def classes(i: dict) -> dict:
    x, target, weight, labels = i["x"], i["target"], i["weight"], i["labels"]
    return {"margin": F.multi_margin_loss(x, target),
            "squares": F.multi_margin_loss(x, target, 2, 0.5, weight, reduction="none"),
            "listed": F.multilabel_margin_loss(x, i["list"].long(), reduction="none"),
            "listed_mean": F.multilabel_margin_loss(x, i["list"].long()),
            "soft": F.multilabel_soft_margin_loss(x, labels, weight),
            "soft_terms": F.multilabel_soft_margin_loss(x, labels, reduction="none")}


def row(i: dict) -> dict:
    return {"margin": F.multi_margin_loss(i["x"], i["target"].long()),
            "listed": F.multilabel_margin_loss(i["x"], i["list"])}


def ctc(i: dict) -> dict:
    x, target, lengths, labels = i["x"], i["target"], i["lengths"], i["labels"]
    return {"mean": F.ctc_loss(x, target, lengths, labels, zero_infinity=True),
            "terms": F.ctc_loss(x, target, lengths, labels, 5, "none")}


def unknown(i: dict) -> dict:
    """The first of each has a label that is no class, the others only behind their ends."""
    nan = torch.tensor([float("nan")])
    listed = F.multilabel_margin_loss(i["x"][1:], i["list"][1:].clamp(-1, 3).long(), reduction="none")
    ctc = F.ctc_loss(i["steps"][:, 1:], i["target"][1:].clamp(0, 3), i["lengths"][1:], i["labels"][1:], 0, "none")
    return {"listed": torch.cat([nan, listed]), "ctc": torch.cat([nan, ctc])}


def functions(rng: Random) -> dict:
    def n() -> torch.Tensor:
        return rng.normal(4, 10) * 2

    side = torch.where(rng.rand(4, 10) > 0.5, 1.0, -1.0)
    x = n()
    x[0, :2] = torch.tensor([60.0, -60.0])
    chances = rng.rand(4, 10)
    chances[0, :2] = torch.tensor([0.0, 1.0])
    lists = torch.stack([torch.randperm(10, generator=rng.generator) for _ in range(4)])
    for k, length in enumerate((3, 0, 10, 1)):
        lists[k, length:length + 1] = -1
    weight = rng.rand(10) + 0.5
    return {
        "distributions": ({"x": n(), "rate": rng.rand(4, 10), "target": rng.randint(0, 6, (4, 10)).float(),
                           "variance": rng.rand(4, 10)}, distributions, SIZE),
        "probabilities": ({"x": chances, "target": rng.rand(4, 10), "weight": weight}, probabilities, SIZE),
        "sides": ({"x": x, "y": n(), "side": side}, sides, SIZE),
        "vectors": ({"x": n(), "y": n(), "z": n(), "side": side[:, 0]}, vectors, SIZE),
        "classes": ({"x": x, "target": torch.tensor([9, 3, 0, 5]), "list": lists.to(torch.int32), "weight": weight,
                     "labels": (rng.rand(4, 10) > 0.5).float()}, classes, SIZE),
        "ctc": ({"x": (rng.normal(9, 5, 6) * 2).log_softmax(2), "lengths": torch.tensor([9, 8, 3, 6, 2]),
                 "target": torch.tensor([[1, 2, 3, 4], [1, 1, 2, 2], [3, 4, 0, 0], [2, 0, 0, 0], [1, 1, 3, -7]]),
                 "labels": torch.tensor([4, 4, 2, 0, 3])}, ctc, "t=9,n=5"),
        "row": ({"x": x[1], "target": torch.tensor(4, dtype=torch.int32), "list": lists[0]}, row, "m=10"),
        "unknown": ({"x": rng.normal(3, 4), "steps": (rng.normal(5, 3, 4) * 2).log_softmax(2),
                     "list": torch.tensor([[1, 4, -1, 0], [2, 0, -1, 9], [3, -1, 7, 8]], dtype=torch.int32),
                     "target": torch.tensor([[1, 4], [3, 9], [2, -7]]), "lengths": torch.tensor([5, 5, 4]),
                     "labels": torch.tensor([2, 1, 1])}, unknown, ""),
    }
