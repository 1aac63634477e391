# SPDX-License-Identifier: Apache-2.0
"""Resize and Upsample."""
from __future__ import annotations

import math
from fractions import Fraction

from ...symbolic import Expr, equal, floordiv, wrap
from ..problems import Malformed
from ..values import Value
from .registry import Node, op

_MODES = {"nearest": "TC_NEAREST", "linear": "TC_LINEAR", "cubic": "TC_CUBIC", "bilinear": "TC_LINEAR"}
_PLACES = {"half_pixel": "", "half_pixel_symmetric": "TC_HALF_PIXEL_SYMMETRIC",
           "pytorch_half_pixel": "TC_PYTORCH_HALF_PIXEL", "align_corners": "TC_ALIGN_CORNERS",
           "asymmetric": "TC_ASYMMETRIC", "tf_half_pixel_for_nn": "TC_HALF_PIXEL_FOR_NEAREST",
           "tf_crop_and_resize": "TC_CROP"}
_ROUNDING = {"round_prefer_floor": "", "round_prefer_ceil": "TC_ROUND_HALF_UP", "floor": "TC_ROUND_DOWN",
             "ceil": "TC_ROUND_UP"}


def _scales(n: Node, value: Value | None) -> list[float]:
    """The scales, [] where they are left out."""
    if value is None or value.rank == 1 and equal(value.shape[0], 0):
        return []
    found = n.elements(value, "the scales")
    if any(isinstance(e, Expr) and not e.is_const for e in found):
        n.refuse("scales that depend on dims", "give the sizes instead")
    numbers = [float(e.value if isinstance(e, Expr) else e) for e in found]
    if any(not s > 0 or math.isinf(s) for s in numbers):
        raise Malformed(f"a scale of {min(numbers)}")
    return numbers


def scaled(size: Expr, scale: float) -> Expr:
    """floor(size * scale)."""
    if size.is_const:
        return wrap(math.floor(size.value * scale))
    exact = Fraction(scale)
    return floordiv(size * exact.numerator, wrap(exact.denominator))


def _kept(n: Node, policy: str, x: Value, axes: list[int], sizes: list[Expr]) -> tuple[list[Expr], float]:
    """The sizes that keep the ratio of the axes, and their scale."""
    if not all(s.is_const and x.shape[a].is_const for a, s in zip(axes, sizes)):
        n.refuse(f"keep_aspect_ratio_policy={policy!r} of dynamic sizes")
    ratios = [s.value / x.shape[a].value for a, s in zip(axes, sizes)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [wrap(math.floor(x.shape[a].value * scale + 0.5)) for a in axes], scale


@op("Resize", since=10)
def resize(n: Node) -> None:
    x = n.input(0)
    mode, how = n.text("mode", "nearest"), n.text("coordinate_transformation_mode", "half_pixel")
    rounding, policy = n.text("nearest_mode", "round_prefer_floor"), n.text("keep_aspect_ratio_policy", "stretch")
    a, outside = n.real("cubic_coeff_a", -0.75), n.real("extrapolation_value", 0.0)
    exclude, antialias = n.integer("exclude_outside", 0), n.integer("antialias", 0)
    roi: Value | None = None
    sizes: list[Expr] = []
    given = n.ints("axes")
    axes = list(range(x.rank)) if given is None else n.axes(given, x.rank)
    if n.opset < 11:
        how, rounding = "asymmetric", "floor"
        scales = _scales(n, n.input(1))
    else:
        roi = n.optional(1)
        scales = _scales(n, n.optional(2))
        target = n.optional(3)
        sizes = n.sizes(target, "the sizes") if target is not None else []
    if mode not in _MODES or how not in _PLACES or rounding not in _ROUNDING:
        raise Malformed(f"mode {mode!r}, {how!r}, {rounding!r}")
    if len(sizes or scales) != len(axes):
        raise Malformed(f"{len(sizes or scales)} sizes or scales of {len(axes)} axes")
    same = 0.0
    if sizes and policy != "stretch":
        sizes, same = _kept(n, policy, x, axes, sizes)
    crops = how == "tf_crop_and_resize"
    out = list(x.shape)
    for i, axis in enumerate(axes):
        out[axis] = sizes[i] if sizes else scaled(x.shape[axis], scales[i])
    chosen = [i for i, axis in enumerate(axes) if crops or not (equal(out[axis], x.shape[axis])
                                                                  and (not scales or scales[i] == 1))]
    if not chosen:
        n.give(x)
        return
    text = f"tc_resize({x}, .mode = {_MODES[mode]}"
    text += f", .places = {_PLACES[how]}" if _PLACES[how] else ""
    text += f", .rounding = {_ROUNDING[rounding]}" if _ROUNDING[rounding] and mode == "nearest" else ""
    text += f", .a = {a}" if mode == "cubic" and a != -0.75 else ""
    text += ", .exclude_outside = true" if exclude and mode == "cubic" else ""
    text += ", .antialias = true" if antialias and mode != "nearest" else ""
    text += f", TC_RESIZE_AXES({', '.join(str(axes[i]) for i in chosen)})"
    if sizes:
        text += f", TC_SIZES({n.dim_list([sizes[i] for i in chosen])})"
    if same or not sizes:
        text += f", .scale = {{{', '.join(repr(same or scales[i]) for i in chosen)}}}"
    if crops:
        text += f", .outside = {outside}{_region(n, roi, axes, chosen)}"
    n.result(text + ")", x.dtype, out)


def _region(n: Node, roi: Value | None, axes: list[int], chosen: list[int]) -> str:
    if roi is None:
        raise Malformed("the region is missing")
    found = roi.known
    if found is None:
        return f", .roi = {roi}"
    if len(found) != 2 * len(axes):
        raise Malformed(f"a region of {len(found)} numbers of {len(axes)} axes")
    starts = ", ".join(str(found[i]) for i in chosen)
    ends = ", ".join(str(found[i + len(axes)]) for i in chosen)
    return f", .start = {{{starts}}}, .end = {{{ends}}}"


@op("Upsample")
def upsample(n: Node) -> None:
    """Resize as it was: asymmetric, rounded down."""
    x = n.input(0)
    mode = n.text("mode", "nearest")
    if n.opset < 7:
        scales = [1.0, 1.0, n.real("height_scale"), n.real("width_scale")]
    else:
        scales = n.reals("scales") or [] if n.opset < 9 else _scales(n, n.input(1))
    if len(scales) != x.rank or mode not in _MODES:
        raise Malformed(f"{len(scales)} scales of {x.rank} axes, mode {mode!r}")
    chosen = [i for i, s in enumerate(scales) if s != 1]
    out = [scaled(s, scale) for s, scale in zip(x.shape, scales)]
    if not chosen:
        n.give(x)
        return
    rounding = ", .rounding = TC_ROUND_DOWN" if mode == "nearest" else ""
    n.result(f"tc_resize({x}, .mode = {_MODES[mode]}, .places = TC_ASYMMETRIC{rounding}, "
             f"TC_RESIZE_AXES({', '.join(map(str, chosen))}), "
             f".scale = {{{', '.join(repr(scales[i]) for i in chosen)}}})", x.dtype, out)
