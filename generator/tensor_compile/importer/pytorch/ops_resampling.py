# SPDX-License-Identifier: Apache-2.0
"""Interpolation and sampling by coordinates."""
from __future__ import annotations

from .registry import Node, op

_MODES = {"nearest": "TC_NEAREST", "_nearest_exact": "TC_NEAREST_EXACT", "nearest_exact": "TC_NEAREST_EXACT",
          "linear": "TC_LINEAR", "bilinear": "TC_LINEAR", "trilinear": "TC_LINEAR", "bicubic": "TC_CUBIC"}


@op(*(f"aten.upsample_{kind}.{form}"
      for kind in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d",
                                                  "bicubic2d") for form in ("default", "vec")),
    *(f"aten._upsample_nearest_exact{a}d.{form}" for a in (1, 2, 3) for form in ("default", "vec")),
    *(f"aten._upsample_{kind}2d_aa.{form}" for kind in ("bilinear", "bicubic") for form in ("default", "vec")))
def upsample(n: Node) -> None:
    """The archive says the sizes; factors count where they are given, since places are computed from them."""
    x = n.tensor("self") if "self" in n.arguments else n.tensor("input")
    axes = x.rank - 2
    name = n.target.split(".")[1].removeprefix("_")
    kind = name.removeprefix("upsample_").removesuffix("_aa")[:-2]
    names = ("scales",) if axes == 1 else ("scales_d", "scales_h", "scales_w")[3 - axes:]
    factors = n.argument("scale_factors") or [n.argument(key) for key in names]
    n.ignore("output_size", "size")
    words = f".mode = {_MODES[kind]}"
    if isinstance(factors, list) and all(isinstance(f, (int, float)) for f in factors):
        words += f", .scale = {{{', '.join(repr(float(f)) for f in factors)}}}"
    else:
        words += f", TC_SIZES({n.dim_list(n.type.shape[2:])})"
    if n.flag("align_corners"):
        words += ", .align_corners = true"
    if n.target.split(".")[1].endswith("_aa"):
        words += ", .antialias = true"
    n.result(f"tc_interpolate({x}, {words})")


@op("aten.grid_sampler_2d.default", "aten.grid_sampler.default", "aten.grid_sampler_3d.default")
def grid_sampler(n: Node) -> None:
    x, grid = n.tensor("input"), n.tensor("grid")
    modes, borders = ("", ", .nearest = true", ", .cubic = true"), ("", "TC_GRID_BORDER", "TC_GRID_REFLECTION")
    mode, border = n.integer("interpolation_mode"), n.integer("padding_mode")
    if not 0 <= mode < 3 or not 0 <= border < 3:
        n.refuse("a mode of sampling")
    words = modes[mode] + (f", .padding = {borders[border]}" if border else "")
    words += ", .align_corners = true" if n.flag("align_corners") else ""
    n.result(f"tc_grid_sample({x}, {grid}{words})")


@op("aten.affine_grid_generator.default")
def affine_grid(n: Node) -> None:
    sizes = n.sizes("size")
    corners = ", .align_corners = true" if n.flag("align_corners") else ""
    n.result(f"tc_affine_grid({n.tensor('theta')}, TC_SIZES({n.dim_list(sizes[2:])}){corners})")
