# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for siblings.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random


def functions(rng: Random) -> dict:
    def weights(**shapes: tuple[int, ...]) -> dict:
        return {"x": rng.normal(7, 24)} | {name: rng.normal(*shape) / 5 for name, shape in shapes.items()}

    def grouped(i: dict) -> dict:
        q, k, v = F.linear(i["x"], i["wq"], i["bq"]), F.linear(i["x"], i["wk"]), F.linear(i["x"], i["wv"], i["bv"])
        return {"q": (q * 0.25).view(7, 4, 16).transpose(0, 1), "k": k.T, "v": v.relu()}

    def gated(i: dict) -> dict:
        h = F.silu(F.linear(i["x"], i["wg"], i["bg"])) * F.linear(i["x"], i["wu"])
        return {"y": i["x"] + F.linear(h, i["wd"])}

    def met(i: dict) -> dict:
        p = [i["x"] @ i[f"w{n}"] for n in range(4)]
        return {"y": torch.sigmoid(p[0]) * p[1] + torch.tanh(p[2]) * p[3], "first": p[0], "beside": i["x"] @ i["w4"]}

    def split(i: dict) -> dict:
        w, b = (torch.arange(24 * 584).double() % 17 - 8).view(24, 584) / 32, torch.arange(584).double() % 5
        first, second, third = (i["x"] @ w + b).split([192, 192, 200], 1)
        return {"met": F.silu(first) * second, "turned": third.T}

    return {"split": (weights(), split, "rows=7"),
            "grouped": (weights(wq=(64, 24), bq=(64,), wk=(16, 24), wv=(20, 24), bv=(20,)), grouped, "rows=7"),
            "gated": (weights(wg=(40, 24), bg=(40,), wu=(40, 24), wd=(24, 40)), gated, "rows=7"),
            "met": (weights(**{f"w{n}": (24, 33) for n in range(4)}, w4=(24, 48)), met, "rows=7")}
