# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for convolutions.c."""
from __future__ import annotations

import torch.nn.functional as F
from make_expected import Random

H = 7


def twice(x, weight, bias, **options):
    return F.conv2d(F.conv2d(x, weight, bias, **options), weight, bias, **options)


def transposed_twice(x, weight, bias, active=F.relu, **options):
    once = active(F.conv_transpose2d(x, weight, bias, **options))
    return F.conv_transpose2d(once, weight, bias, **options)


# label -> function, channels, outputs, groups, spatial sizes, window, options
CONVOLUTIONS = {
    "conv1d": (F.conv1d, 6, 20, 1, (H,), (3,), dict(padding=1)),
    "conv1d_strided": (F.conv1d, 4, 8, 2, (H,), (4,), dict(stride=2, before=(3, 0))),
    "conv1d_depthwise": (F.conv1d, 20, 20, 20, (H,), (4,), dict(before=(3, 0))),
    "conv3d": (F.conv3d, 3, 18, 1, (5, H, 6), (3, 2, 3), dict(stride=(1, 2, 1), padding=(1, 0, 1))),
    "conv3d_grouped": (F.conv3d, 4, 8, 4, (4, 5, H), (2, 3, 3), dict(dilation=(2, 1, 1), padding=(1, 1, 2))),
    "conv2d_same": (F.conv2d, 3, 16, 1, (H, 7), (2, 5), dict(dilation=(3, 1), padding="same")),
    "conv2d_same_strided": (F.conv2d, 3, 16, 1, (H, 7), (3, 2), dict(stride=2, before=(0, 1, 1, 1))),
    "conv1d_same_lower": (F.conv1d, 4, 6, 2, (H,), (4,), dict(stride=3, before=(2, 1))),
    "conv2d_uneven": (F.conv2d, 3, 5, 1, (7, H), (3, 3), dict(stride=2, before=(1, 2, 0, 1))),
}
GROUPED = {   # some groups to 16 lanes, and one
    "conv2d_groups_of_four": (twice, 36, 36, 9, (H, 9), (3, 3), dict(padding=1)),
    "conv2d_groups_of_two": (F.conv2d, 10, 20, 10, (H, 10), (3, 3), dict(stride=2, padding=1)),
    "conv2d_groups_of_twelve": (F.conv2d, 16, 24, 2, (H, 6), (3, 2), dict(padding=(1, 0))),
}
TRANSPOSED = {
    "transpose1d": (F.conv_transpose1d, 6, 20, 1, (H,), (4,), dict(stride=2, padding=1)),
    "transpose1d_wide": (F.conv_transpose1d, 4, 6, 2, (H,), (2,), dict(stride=3, output_padding=2)),
    "transpose1d_cut": (F.conv_transpose1d, 3, 2, 1, (H,), (3,), dict(cut=slice(3, -1))),
    "transpose2d": (F.conv_transpose2d, 4, 17, 1, (H, 5), (3, 3), dict(stride=2, padding=1, output_padding=1)),
    "transpose2d_doubling": (F.conv_transpose2d, 6, 16, 1, (5, H), (2, 2), dict(stride=2)),
    "transpose2d_dilated": (F.conv_transpose2d, 6, 8, 2, (H, 4), (3, 2),
                            dict(stride=(3, 2), dilation=(2, 3), padding=(2, 1), output_padding=(1, 0))),
    "transpose3d": (F.conv_transpose3d, 3, 4, 1, (3, H, 4), (3, 2, 2),
                    dict(stride=(2, 1, 2), padding=(1, 0, 0), output_padding=(0, 0, 1))),
}
TRANSPOSED_TWICE = {
    "transpose2d_doubling_twice": (transposed_twice, 20, 20, 1, (H, 3), (2, 2), dict(stride=2)),
    "transpose2d_groups_twice": (transposed_twice, 32, 32, 2, (H, 1), (4, 4),
                                 dict(active=F.silu, stride=2, padding=1)),
    "transpose2d_cut_twice": (transposed_twice, 12, 12, 1, (H, 2), (3, 3), dict(stride=2, padding=1)),
    "transpose2d_apart_twice": (transposed_twice, 17, 17, 1, (H, 2), (1, 3), dict(stride=2, output_padding=1)),
}


def run(i: dict, f, groups: int, options: dict) -> dict:
    options = dict(options)
    x, cut = F.pad(i["x"], options.pop("before", (0, 0))), options.pop("cut", slice(None))
    return {"y": f(x, i["weight"], i["bias"], groups=groups, **options)[..., cut]}


def functions(rng: Random) -> dict:
    cases = {}
    for table, swap in (CONVOLUTIONS, False), (TRANSPOSED, True), (GROUPED, False), (TRANSPOSED_TWICE, True):
        for label, (f, c, o, groups, spatial, window, options) in table.items():
            weight = (c, o // groups) if swap else (o, c // groups)
            inputs = {"x": rng.normal(2, c, *spatial), "weight": rng.normal(*weight, *window), "bias": rng.normal(o)}
            cases[label] = (inputs, lambda i, f=f, groups=groups, options=options: run(i, f, groups, options),
                            f"batch=2,h={H}")
    return cases
