# SPDX-License-Identifier: Apache-2.0
"""What ONNX's reference implementation gives for resize.c."""
from __future__ import annotations

from typing import Callable

import onnx.reference.ops.op_resize as reference
import torch
from make_expected import Random
from onnx_reference import run

H = 4


def in_double(coefficients: Callable) -> Callable:
    """The attribute arrives as np.float32, which would make all coefficients f32."""
    return lambda ratio, scale, A: coefficients(ratio, scale, A=float(A))


for name in ("_cubic_coeffs", "_cubic_coeffs_antialias"):
    setattr(reference, name, in_double(getattr(reference, name)))


def resize(x: torch.Tensor, axes: tuple[int, ...] | None = None, scale: tuple | None = None, sizes: tuple | None = None,
           roi: torch.Tensor | None = None, **options: object) -> torch.Tensor:
    scales = None if scale is None else torch.tensor(scale, dtype=torch.float32)
    lengths = None if sizes is None else torch.tensor(sizes, dtype=torch.int64)
    if axes is not None:
        options["axes"] = [a % x.ndim for a in axes]
    y, = run("Resize", x.double(), roi, scales, lengths, **options)
    return y.to(x.dtype)


HW = (2, 3)


def nearest(i: dict) -> dict:
    x, n = i["x"].float(), {"mode": "nearest"}
    return {"twice": resize(x, None, (1, 1, 2, 3), **n), "half_down": resize(x, HW, (0.5, 0.5), **n),
            "half_up": resize(x, HW, (0.5, 0.5), nearest_mode="round_prefer_ceil", **n),
            "floor": resize(x, HW, None, (7, 4), nearest_mode="floor", coordinate_transformation_mode="asymmetric",
                            **n),
            "ceil": resize(x, HW, None, (5, 8), nearest_mode="ceil", **n),
            "corners": resize(x, HW, None, (H, 9), coordinate_transformation_mode="align_corners", **n),
            "blocks": resize(x, None, (1, 1, 2, 3), nearest_mode="floor", coordinate_transformation_mode="asymmetric",
                             **n)}


def linear(i: dict) -> dict:
    x, m = i["x"], {"mode": "linear"}
    c = "coordinate_transformation_mode"
    return {"scale": resize(x, None, (1, 1, 2, 0.6), **m),
            "sizes": resize(x, HW, None, (7, 1), **m, **{c: "pytorch_half_pixel"}),
            "corners": resize(x, HW, None, (H, 11), **m, **{c: "align_corners"}),
            "asymmetric": resize(x, HW, None, (3, 8), **m, **{c: "asymmetric"}),
            "symmetric": resize(x, (3,), (0.7,), **m, **{c: "half_pixel_symmetric"}),
            "line": resize(x, (1,), None, (5,), **m)}


def cubic(i: dict) -> dict:
    x, m = i["x"], {"mode": "cubic"}
    return {"up": resize(x, HW, (2, 2), **m), "a": resize(x, HW, (2, 0.8), cubic_coeff_a=-0.5, exclude_outside=1, **m),
            "corners": resize(x, HW, None, (9, 10), coordinate_transformation_mode="align_corners", **m),
            "asymmetric": resize(x, (3,), None, (4,), coordinate_transformation_mode="asymmetric", **m)}


def antialias(i: dict) -> dict:
    x, a = i["x"], {"antialias": 1}
    return {"linear": resize(x, HW, (0.6, 0.6), mode="linear", **a),
            "cubic": resize(x, HW, None, (3, 4), mode="cubic", **a),
            "outside": resize(x, HW, None, (H, 2), mode="cubic", exclude_outside=1, **a),
            "up": resize(x, HW, None, (7, 9), mode="linear", **a)}


def crop(i: dict) -> dict:
    x, c = i["x"], {"coordinate_transformation_mode": "tf_crop_and_resize"}
    roi = torch.tensor([0.4, 0.6, 0.6, 1.7], dtype=torch.float64)
    return {"numbers": resize(x, HW, None, (3, 5), roi, mode="linear", extrapolation_value=10.0, **c),
            "tensor": resize(x, HW, None, (1, 6), i["roi"].double(), mode="linear", **c),
            "nearest": resize(x.float(), (3,), None, (7,), torch.tensor([-0.3, 0.9], dtype=torch.float64),
                              mode="nearest",
                              extrapolation_value=-1.0, **c)}


def volume(i: dict) -> dict:
    x = i["x"]
    return {"linear": resize(x, None, (1, 1, 2, 1.5, 2), mode="linear"),
            "cubic": resize(x, (4, 2), None, (3, 5), mode="cubic")}


def functions(rng: Random) -> dict:
    n = rng.normal
    image = {"x": n(2, 2, H, 6)}
    cases = {"nearest": (image, nearest), "linear": (image, linear), "cubic": (image, cubic),
             "antialias": (image, antialias),
             "crop": (image | {"roi": torch.tensor([0.25, -0.5, 0.75, 1.5])}, crop),
             "volume": ({"x": n(2, 2, 3, H, 2)}, volume)}
    return {name: (inputs, f, f"batch=2,h={H}") for name, (inputs, f) in cases.items()}
