# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gives for more_functions.c."""
from __future__ import annotations

import torch
from make_expected import Random

SIZE = "n=3,m=17"
inf, nan = float("inf"), float("nan")


def logarithms(i: dict) -> dict:
    x, p = i["x"], i["p"]
    return {"log2": x.log2(), "log10": x.log10(), "logit": p.logit(), "limited": p.logit(0.125), "acosh": x.acosh(),
            "atanh": (p - 0.5).atanh()}


def hyperbolic(i: dict) -> dict:
    x = i["x"]
    return {"square": x.square(), "exp2": x.exp2(), "sinh": x.sinh(), "cosh": x.cosh(), "asinh": x.asinh(),
            "sinc": x.sinc(), "radians": x.deg2rad(), "degrees": x.rad2deg()}


def special(i: dict) -> dict:
    x = i["x"]
    return {"frac": x - x.trunc(), "numbers": x.nan_to_num(1, 500, -0.5), "positive": x.isposinf(),
            "negative": x.isneginf(), "sign": x.signbit()}


def pairs(i: dict) -> dict:
    a, b = i["a"], i["b"]
    return {"logaddexp": torch.logaddexp(a, b), "logaddexp2": torch.logaddexp2(a, b), "xlogy": torch.xlogy(a, b.abs()),
            "hypot": torch.hypot(a, b), "fmax": torch.fmax(a, b), "fmin": torch.fmin(a, b),
            "copysign": torch.copysign(a, b), "heaviside": torch.heaviside(a, b),
            "close": torch.isclose(a, b, 0.5, 0.125)}


def three(i: dict) -> dict:
    x, a, b = i["x"], i["a"], i["b"]
    return {"lerp": torch.lerp(x, a, b), "third": torch.lerp(x, a, 0.375), "most": torch.lerp(x, a, 0.875),
            "product": torch.addcmul(x, a, b, value=0.7), "quotient": torch.addcdiv(x, a, b.abs() + 1, value=-3)}


def angles(i: dict) -> dict:
    x, p = i["x"], i["x"] / 16
    return {"asin": p.asin(), "acos": p.acos(), "atan": x.atan(), "atan2": torch.atan2(i["y"], x)}


def functions(rng: Random) -> dict:
    x, a, b = (rng.normal(3, 17) * 3 for _ in range(3))
    sizes = (rng.normal(3, 17) * 3).exp()
    sizes[0, :11] = torch.tensor([1.0, 8.0, 0.125, 1024.0, 1000.0, inf, nan, 0.0, -1.0, 32768.0, 2.0**-14])
    p = rng.rand(3, 17)
    p[0, :3] = torch.tensor([0.0, 1.0, nan])
    x[0, :6] = torch.tensor([0.0, -0.0, 11.0, -11.0, 1e-3, -1e-3])
    odd = x.clone()
    odd[1, :4] = torch.tensor([inf, -inf, nan, 40.0])
    a[0, :9] = torch.tensor([inf, inf, -inf, nan, 3.0, 0.0, 0.0, -0.0, 2.0])
    b[0, :9] = torch.tensor([inf, -inf, -inf, 2.0, nan, 0.0, 5.0, -0.0, 2.0])
    u, v = rng.normal(3, 17) * 6, rng.normal(3, 17) * 6
    u[0, :16] = torch.tensor([0.0, -0.0, 0.0, -0.0, inf, -inf, inf, -inf, nan, 16.0, -16.0, 8.0, -8.0, 2.0, 17.0, 1.0])
    v[0, :16] = torch.tensor([0.0, 0.0, -0.0, -0.0, inf, inf, -inf, 3.0, 1.0, 16.0, 16.0, 0.0, -0.0, nan, inf, -2.0])
    return {
        "angles": ({"x": u, "y": v}, angles, SIZE),
        "logarithms": ({"x": sizes, "p": p}, logarithms, SIZE), "hyperbolic": ({"x": x}, hyperbolic, SIZE),
        "special": ({"x": odd}, special, SIZE), "pairs": ({"a": a, "b": b}, pairs, SIZE),
        "three": ({"x": x, "a": rng.normal(3, 17), "b": rng.rand(3, 17)}, three, SIZE),
    }
