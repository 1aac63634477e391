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

    def neighbours(i: dict) -> dict:
        a, b, c, d = i["x"].tanh(), i["x"].exp(), i["x"].relu(), i["x"].abs()
        return {"padded": torch.cat((a, F.pad(a, (1, 2), value=1)), 2),
                "pooled": torch.cat((F.max_pool1d(b, 3, 1, 1), b), 2),
                "convolved": torch.cat((c, F.conv1d(c, i["w"], stride=2, padding=1), -c), 2),
                "deeper": torch.cat((F.pad(d, (0, 0, 1, 0), value=3), d), 1)}

    def window_views(i: dict) -> dict:
        large = i["x"].repeat_interleave(2, 2).repeat_interleave(3, 3)
        whole = i["blocks"].permute(0, 5, 1, 3, 2, 4).reshape(3, 3, 6, 8)
        return {"enlarged": F.conv2d(large, i["w"], padding=1), "strided": F.conv2d(large, i["w"], stride=2),
                "together": F.conv2d(whole, i["w"], padding=1),
                "rows": whole.reshape(3, 144)[:, ::4] @ i["w"][:, :1].reshape(36, 1)}

    x = {"x": rng.normal(3, 17, 6)}
    views = {"x": rng.normal(3, 3, 7, 9), "w": rng.normal(4, 3, 3, 3), "blocks": rng.normal(3, 2, 2, 3, 4, 3)}
    return {"siblings": (x, siblings, SIZE), "windows": ({"x": rng.normal(3, 3, 7, 9)}, windows, "n=3"),
            "parts": (x, parts, SIZE), "borders": (x, borders, SIZE),
            "window_views": (views, window_views, "n=3"),
            "neighbours": ({"x": rng.normal(3, 2, 17), "w": rng.normal(2, 2, 3)}, neighbours, SIZE)}
