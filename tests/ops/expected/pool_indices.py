# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for pool_indices.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

H = 7
POOLS = {
    "max1d": ((H,), F.max_pool1d, dict(kernel_size=3, stride=2, padding=1)),
    "max2d": ((H, 6), F.max_pool2d, dict(kernel_size=2)),
    "max2d_padded": ((6, H), F.max_pool2d, dict(kernel_size=3, stride=(2, 1), padding=1)),
    "max2d_dilated": ((7, H), F.max_pool2d, dict(kernel_size=(3, 2), stride=(1, 2), padding=1, dilation=(2, 3),
                                                 ceil_mode=True)),
    "max3d": ((4, H, 5), F.max_pool3d, dict(kernel_size=2, ceil_mode=True)),
    "adaptive2d": ((H, 6), F.adaptive_max_pool2d, dict(output_size=(5, 4))),
    "adaptive2d_even": ((2 * H, 6), F.adaptive_max_pool2d, dict(output_size=(H, None))),
    "adaptive3d": ((2, 3, H), F.adaptive_max_pool3d, dict(output_size=(1, 2, 3))),
}


def run(i: dict, f, options: dict) -> dict:
    x = i["x"]
    y, at = f(x.double(), return_indices=True, **options)
    return {"y": y.to(x.dtype), "at": at}


def unpool(i: dict) -> dict:
    x = i["x"]
    y, at = F.max_pool2d(x, (3, 2), (2, 2), (1, 0), return_indices=True)
    pairs, of_pairs = F.max_pool3d(x[:, :, None], (1, 1, 2), return_indices=True)
    return {"y": F.max_unpool2d(y, at, (3, 2), (2, 2), (1, 0), (H, 6)),
            "pairs": F.max_unpool3d(pairs, of_pairs, (1, 1, 2)), "anywhere": F.max_unpool1d(i["v"], i["at"], 3, 2, 1)}


def functions(rng: Random) -> dict:
    cases = {}
    for label, (spatial, f, options) in POOLS.items():
        x = rng.integers(torch.int32, 2, 5, *spatial) if label == "max2d_dilated" else rng.normal(2, 5, *spatial)
        # equal elements, and planes of nothing but the smallest
        x = (x * 2).round() / 2 if x.is_floating_point() else x // 100
        x[0, 0] = -torch.inf if x.is_floating_point() else torch.iinfo(torch.int32).min
        cases[label] = ({"x": x}, lambda i, f=f, options=options: run(i, f, options), f"batch=2,h={H}")
    places = torch.stack([torch.randperm(2 * H - 1, generator=rng.generator)[:H] for _ in range(4)]).reshape(2, 2, H)
    cases["unpool"] = ({"x": rng.normal(2, 5, H, 6), "v": rng.normal(2, 2, H), "at": places}, unpool, f"batch=2,h={H}")
    return cases
