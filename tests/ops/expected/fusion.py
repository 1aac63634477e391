# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for fusion.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

SIZE = "n=3,m=17"


def functions(rng: Random) -> dict:
    def siblings(i: dict) -> dict:
        x = i["x"]
        return {"rows": (x * x).sum(2) + x.abs().amax(2), "place": x.argmin(2), "sums": x.sum(0),
                "squares": (x * x).sum(0), "span": x.amax(0) - x.amin(0)}

    def windows(i: dict) -> dict:
        return {"max": F.max_pool2d(i["x"], (3, 2), (2, 2), (1, 1)),
                "mean": F.avg_pool2d(i["x"], (3, 2), (2, 2), (1, 1), divisor_override=6)}

    def parts(i: dict) -> dict:
        shared = i["x"].tanh()
        wide, other = torch.cat((shared, shared.relu()), 2), torch.cat((i["x"].exp(), shared), 2)
        low, high = torch.erf(i["x"]).split(3, 2)
        return {"all": torch.stack((wide, other), 1), "sum": shared.sum(2), "turned": torch.cat((high, -low), 2)}

    def borders(i: dict) -> dict:
        part = F.pad(i["x"].exp(), (1, 1), value=-1)
        return {"padded": F.pad(i["x"].tanh(), (2, 3, 1, 0, 0, 1), value=2), "joined": torch.cat((part, -part), 1)}

    x = {"x": rng.normal(3, 17, 6)}
    return {"siblings": (x, siblings, SIZE), "windows": ({"x": rng.normal(3, 3, 7, 9)}, windows, "n=3"),
            "parts": (x, parts, SIZE), "borders": (x, borders, SIZE)}
