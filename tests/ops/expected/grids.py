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
}


def functions(rng: Random) -> dict:
    inputs = {"x": rng.normal(2, 3, H, 5), "grid": rng.normal(2, 4, H, 2)}
    return {name: (inputs, lambda i, options=options: {"y": F.grid_sample(i["x"], i["grid"], **options)}, f"batch=2,h={H}")
            for name, options in SAMPLES.items()}
