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

    def pattern(out: int, inner: int, number: int) -> torch.Tensor:
        return ((torch.arange(out * inner) * (number + 3)) % 17 - 8).double().view(out, inner) / 32

    def behind(i: dict) -> dict:
        outer = [i["x"] @ pattern(40, 24, n).T + (i["b"] if n == 1 else 0) for n in range(4)]
        gate = [i["h"] @ pattern(40, 40, n + 4).T + outer[n] for n in range(4)]
        after = torch.sigmoid(gate[1]) * i["c"] + torch.sigmoid(gate[0]) * torch.tanh(gate[2])
        return {"outer": outer[3], "h_next": torch.sigmoid(gate[3]) * torch.tanh(after), "c_next": after}

    def behind_two(i: dict) -> dict:
        first = torch.tanh(i["x"] @ pattern(100, 24, 0).T)
        return {"y": i["z"] @ pattern(100, 33, 2).T + first - first * (i["h"] @ pattern(100, 40, 1).T)}

    return {"split": (weights(), split, "rows=7"),
            "grouped": (weights(wq=(64, 24), bq=(64,), wk=(16, 24), wv=(20, 24), bv=(20,)), grouped, "rows=7"),
            "gated": (weights(wg=(40, 24), bg=(40,), wu=(40, 24), wd=(24, 40)), gated, "rows=7"),
            "met": (weights(**{f"w{n}": (24, 33) for n in range(4)}, w4=(24, 48)), met, "rows=7"),
            "behind": (weights(h=(7, 40), c=(7, 40), b=(40,)), behind, "rows=7"),
            "behind_two": (weights(h=(7, 40), z=(7, 33)), behind_two, "rows=7")}
