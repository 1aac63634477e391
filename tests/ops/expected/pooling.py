# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for pooling.c."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from make_expected import Random

H = 7


def average_of_rest(x: torch.Tensor, kernel: tuple[int, int], stride: tuple[int, int]) -> torch.Tensor:
    """The means of what is not NaN in each window."""
    return x.unfold(2, kernel[0], stride[0]).unfold(3, kernel[1], stride[1]).nanmean((4, 5))


POOLS = {
    "max1d": ((H,), lambda x: F.max_pool1d(x, 3, 2, 1)),
    "max2d_ceil": ((H, 6), lambda x: F.max_pool2d(x, 3, 2, (0, 1), ceil_mode=True)),
    "max3d": ((4, H, 5), lambda x: F.max_pool3d(x, (2, 3, 2), (2, 1, 2), 0, (1, 1, 2))),
    "average1d": ((H,), lambda x: F.avg_pool1d(x, 4, 3, 2)),
    "average2d_ceil": ((H, 6), lambda x: F.avg_pool2d(x, (3, 2), (2, 3), 1, ceil_mode=True)),
    "average2d_excluding": ((6, H), lambda x: F.avg_pool2d(x, (2, 3), 2, 1, ceil_mode=True, count_include_pad=False)),
    "average2d_divisor": ((6, H), lambda x: F.avg_pool2d(x, (2, 3), divisor_override=4)),
    "average3d": ((4, 5, H), lambda x: F.avg_pool3d(x, (2, 2, 3), (1, 2, 2), (1, 0, 1))),
    "max2d_same": ((H, 6), lambda x: F.max_pool2d(F.pad(x, (0, 1, 1, 1), value=-torch.inf), 3, (1, 2))),
    "average2d_same": ((6, H), lambda x: average_of_rest(F.pad(x, (1, 0, 1, 0), value=torch.nan), (3, 2), (2, 1))),
    "power1d": ((H,), lambda x: F.lp_pool1d(x, 2, 3, 2, ceil_mode=True)),
    "power2d": ((H, 6), lambda x: F.lp_pool2d(x, 4, (2, 3))),
    "adaptive_average1d": ((H,), lambda x: F.adaptive_avg_pool1d(x, 3)),
    "adaptive_average2d": ((H, 7), lambda x: F.adaptive_avg_pool2d(x, (5, 3))),
    "adaptive_max2d": ((H, 7), lambda x: F.adaptive_max_pool2d(x, (3, None))),
    "adaptive_max3d": ((5, H, 6), lambda x: F.adaptive_max_pool3d(x, (2, 3, 2))),
    "adaptive_one": ((H, 6), lambda x: F.adaptive_avg_pool2d(x, 1)),
    "adaptive_even": ((H, 6), lambda x: F.adaptive_avg_pool2d(x, (H, 3))),
}


def cascade(x: torch.Tensor) -> torch.Tensor:
    parts = [x]
    for _ in range(3):
        parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
    return torch.cat(parts, 1)


LARGE = {
    "max2d_large": ((H, 20), lambda x: F.max_pool2d(x, 5, 1, 2)),
    "max2d_dilated": ((H, 18), lambda x: F.max_pool2d(x, (4, 5), (2, 1), (2, 1), (1, 2), ceil_mode=True)),
    "max3d_large": ((4, H, 17), lambda x: F.max_pool3d(x, 3, 1, (1, 1, 0))),
    "cascade": ((H, 16), cascade),
}


def extreme(x: torch.Tensor) -> torch.Tensor:
    """With NaN, infinities and zeros of both signs in the first image; in its second plane none above -1."""
    x[0, 0].view(-1)[::23] = torch.nan
    x[0, 1] = -1 - x[0, 1].abs()
    x[0, 1].view(-1)[:50] = -torch.inf
    x[0, 2] = -x[0, 2].abs()
    x[0, 2].view(-1)[::3] = -0.0
    x[0, 2].view(-1)[::7] = 0.0
    x[0, 3].view(-1)[::31] = torch.inf
    return x


def functions(rng: Random) -> dict:
    cases = {label: ({"x": rng.normal(2, 5, *spatial)}, lambda i, f=f: {"y": f(i["x"])}, f"batch=2,h={H}")
             for label, (spatial, f) in POOLS.items()}
    cases["global"] = ({"x": rng.normal(2, 5, H, 3)},
                       lambda i: {"mean": i["x"].mean((2, 3), keepdim=True), "max": i["x"].amax((2, 3), keepdim=True)},
                       f"batch=2,h={H}")
    for label, (spatial, f) in LARGE.items():
        cases[label] = {"x": extreme(rng.normal(2, 5, *spatial))}, lambda i, f=f: {"y": f(i["x"])}, f"batch=2,h={H}"
    return cases
