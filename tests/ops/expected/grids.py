# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for grids.c."""
from __future__ import annotations

import torch.nn.functional as F
from make_expected import Random

H = 4
SAMPLES = {
    "zeros": dict(padding_mode="zeros", align_corners=False),
    "zeros_corners": dict(mode="nearest", align_corners=True),
    "border": dict(padding_mode="border", align_corners=True),
    "border_nearest": dict(padding_mode="border", mode="nearest", align_corners=False),
    "reflection": dict(padding_mode="reflection", align_corners=False),
    "reflection_corners": dict(padding_mode="reflection", align_corners=True),
    "cubic": dict(padding_mode="reflection", mode="bicubic", align_corners=False),
    "cubic_zeros": dict(mode="bicubic", align_corners=True),
}
VOLUMES = {"volume": dict(align_corners=False),
           "volume_nearest": dict(padding_mode="reflection", mode="nearest", align_corners=False)}


def affine(i: dict) -> dict:
    f = F.affine_grid
    return {"image": f(i["theta"], (2, 1, H, 5), align_corners=False),
            "corners": f(i["theta"], (2, 1, 1, H), align_corners=True),
            "volume": f(i["map"], (2, 1, 2, H, 3), align_corners=False)}


def functions(rng: Random) -> dict:
    inputs = {"x": rng.normal(2, 3, H, 5), "grid": rng.normal(2, 4, H, 2)}
    volume = {"x": rng.normal(2, 2, 3, H, 4), "grid": rng.normal(2, 2, 3, H, 3)}
    cases = {name: (inputs if name in SAMPLES else volume,
                    lambda i, options=options: {"y": F.grid_sample(i["x"], i["grid"], **options)}, f"batch=2,h={H}")
             for name, options in (SAMPLES | VOLUMES).items()}
    single = {"x": rng.normal(2, 3, 1, 5), "grid": rng.normal(2, 4, 1, 2)}
    cases["reflection_single"] = (single,
                                  lambda i: {"y": F.grid_sample(i["x"], i["grid"], **SAMPLES["reflection_corners"])},
                                  "batch=2,h=1")
    maps = {"theta": rng.normal(2, 2, 3), "map": rng.normal(2, 3, 4)}
    return cases | {"affine": (maps, affine, f"batch=2,h={H}")}
