# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for resampling.c."""
from __future__ import annotations

import torch.nn.functional as F
from make_expected import Random

H = 4
I = F.interpolate


def nearest(i: dict) -> dict:
    x = i["x"].float()
    return {"twice": I(x, scale_factor=(2, 3)), "sizes": I(x, (7, 13)), "half": I(x, scale_factor=(1.5, 0.5)),
            "exact": I(x, (H, 8), mode="nearest-exact"), "exact_twice": I(x, scale_factor=2, mode="nearest-exact")}


def linear(i: dict) -> dict:
    return {"twice": I(i["x"], scale_factor=2, mode="bilinear"), "sizes": I(i["x"], (3, 11), mode="bilinear")}


def corners(i: dict) -> dict:
    return {"twice": I(i["x"], scale_factor=2, mode="bilinear", align_corners=True),
            "one": I(i["x"], (1, 5), mode="bilinear", align_corners=True)}


def dims(i: dict) -> dict:
    return {"line": I(i["x"], 9, mode="linear"), "volume": I(i["y"], scale_factor=(1.5, 1, 2), mode="trilinear"),
            "blocks": I(i["y"], scale_factor=(2, 3, 1))}


def cubic(i: dict) -> dict:
    return {"y": I(i["x"], (6, 9), mode="bicubic"), "corners": I(i["x"], (H, 3), mode="bicubic", align_corners=True)}


def antialias(i: dict) -> dict:
    x = i["x"]
    return {"linear": I(x, (3, 2), mode="bilinear", antialias=True),
            "scale": I(x, scale_factor=(2, 0.4), mode="bilinear", antialias=True),
            "cubic": I(x, (H, 3), mode="bicubic", antialias=True)}


def antialias_constant(i: dict) -> dict:
    return {"cubic": I(i["x"], (4, 5), mode="bicubic", antialias=True),
            "corners": I(i["x"], (4, 2), mode="bilinear", antialias=True, align_corners=True)}


def area(i: dict) -> dict:
    return {"y": I(i["x"], (3, 2), mode="area"), "scale": I(i["x"], scale_factor=(2, 0.6), mode="area")}


def ratios(i: dict) -> dict:
    x = i["x"]
    return {"sizes": I(x, scale_factor=(1.5, 1.9), mode="bilinear", recompute_scale_factor=True),
            "scale": I(x, scale_factor=(1, 1.2), mode="bicubic"), "kept": I(x, scale_factor=(2, 1.2), mode="bilinear")}


def constant(i: dict) -> dict:
    y = I(I(i["x"], scale_factor=2, mode="bilinear").exp(), (9, 24))
    return {"y": y + i["z"]}


def last(i: dict) -> dict:
    x = i["x"].permute(0, 3, 1, 2)
    found = {"large": I(x, scale_factor=2, mode="bilinear").relu(),
             "small": I(x, (3, 4), mode="bilinear", align_corners=True),
             "near": I(F.max_pool2d(x, 3, 1, 1), (7, 8))}
    return {name: y.permute(0, 2, 3, 1).contiguous() for name, y in found.items()}


def functions(rng: Random) -> dict:
    n = rng.normal
    image = {"x": n(2, 3, H, 5)}
    cases = {"nearest": (image, nearest), "linear": (image, linear), "corners": (image, corners),
             "dims": ({"x": n(2, 3, H), "y": n(2, 2, 3, H, 2)}, dims), "cubic": ({"x": n(2, 2, H, 5)}, cubic),
             "antialias": ({"x": n(2, 2, H, 5)}, antialias), "area": ({"x": n(2, 2, H, 5)}, area),
             "antialias_constant": ({"x": n(2, H, 9, 11)}, antialias_constant),
             "ratios": ({"x": n(2, 2, H, 3)}, ratios),
             "constant": ({"x": n(2, 17, 6, 8), "z": n(H, 1, 1, 1, 1)}, constant),
             "last": ({"x": n(2, H, 5, 21)}, last)}
    return {name: (inputs, f, f"batch=2,h={H}") for name, (inputs, f) in cases.items()}
