# SPDX-License-Identifier: Apache-2.0
"""Sampling at grids, boxes in images, deformable convolutions, sums of windows, middles of axes, determinants."""
from __future__ import annotations

import math
from typing import NamedTuple

from ...symbolic import Expr, IntLike, equal, floordiv, product, wrap
from ..problems import Malformed
from .registry import Node, op

_PADDING = {"zeros": "", "border": "TC_GRID_BORDER", "reflection": "TC_GRID_REFLECTION"}


@op("GridSample", since=16)
def grid_sample(n: Node) -> None:
    x, grid = n.input(0), n.input(1)
    n.floats_only(x)
    mode, padding = n.text("mode", "linear"), n.text("padding_mode", "zeros")
    corners = n.integer("align_corners", 0)
    if padding not in _PADDING or mode not in ("linear", "bilinear", "nearest", "cubic", "bicubic"):
        raise Malformed(f"mode {mode!r}, padding {padding!r}")
    if x.rank not in (4, 5) or grid.rank != x.rank or mode in ("cubic", "bicubic") and x.rank != 4:
        n.refuse(f"{mode} of an input of rank {x.rank} at a grid of rank {grid.rank}")
    at = f"{grid}" if grid.dtype == x.dtype else f"tc_cast({grid}, TC_{x.dtype.upper()})"
    text = f"tc_grid_sample({x}, {at}" + (f", .padding = {_PADDING[padding]}" if _PADDING[padding] else "")
    text += ", .nearest = true" if mode == "nearest" else ", .cubic = true" if "cubic" in mode else ""
    n.result(text + (", .align_corners = true)" if corners else ")"), x.dtype, (*x.shape[:2], *grid.shape[1:-1]))


@op("AffineGrid", since=20)
def affine_grid(n: Node) -> None:
    theta, sizes = n.input(0), n.sizes(n.input(1), "the size")
    n.floats_only(theta)
    if len(sizes) not in (4, 5):
        raise Malformed(f"a size of {len(sizes)} axes")
    corners = ", .align_corners = true" if n.integer("align_corners", 0) else ""
    n.result(f"tc_affine_grid({theta}, TC_SIZES({n.dim_list(sizes[2:])}){corners})", theta.dtype,
             (sizes[0], *sizes[2:], len(sizes) - 2))


@op("RoiAlign", since=10)
def roi_align(n: Node) -> None:
    x, rois, images = (n.input(i) for i in range(3))
    n.floats_only(x)
    how = n.text("coordinate_transformation_mode", "half_pixel" if n.opset >= 16 else "output_half_pixel")
    mode, samples = n.text("mode", "avg"), n.integer("sampling_ratio", 0)
    height, width, scale = n.integer("output_height", 1), n.integer("output_width", 1), n.real("spatial_scale", 1.0)
    if how not in ("half_pixel", "output_half_pixel") or mode not in ("avg", "max"):
        raise Malformed(f"mode {mode!r}, {how!r}")
    text = f"tc_roi_align({x}, {rois}, {images}, .height = {height}, .width = {width}, .scale = {scale}"
    text += f", .samples = {samples}" if samples else ""
    text += ", .half_pixel = true" if how == "half_pixel" else ""
    n.result(text + (", .max = true)" if mode == "max" else ")"), x.dtype, (rois.shape[0], x.shape[1], height, width))


@op("MaxRoiPool")
def roi_pool(n: Node) -> None:
    x, rois, shape, scale = n.input(0), n.input(1), n.ints("pooled_shape"), n.real("spatial_scale", 1.0)
    n.floats_only(x)
    if shape is None or len(shape) != 2:
        raise Malformed(f"the shape {shape} of parts")
    n.result(f"tc_roi_pool({x}, {rois}, {shape[0]}, {shape[1]}, {scale})", x.dtype, (rois.shape[0], x.shape[1], *shape))


def _pairs(n: Node, name: str, default: int) -> list[int]:
    found = n.ints(name) or [default, default]
    if len(found) != 2:
        n.refuse(f"{len(found)} axes of windows")
    return found


@op("DeformConv", since=19)
def deform_conv(n: Node) -> None:
    x, weight, offset, bias, mask = n.input(0), n.input(1), n.input(2), n.optional(3), n.optional(4)
    n.floats_only(x)
    if x.rank != 4:
        n.refuse(f"an input of rank {x.rank}")
    stride, dilation, pads = _pairs(n, "strides", 1), _pairs(n, "dilations", 1), n.ints("pads") or [0] * 4
    kernel, groups = n.ints("kernel_shape"), n.integer("group", 1)
    n.integer("offset_group", 1)
    if len(pads) != 4 or kernel is not None and not all(equal(k, s) for k, s in zip(kernel, weight.shape[2:])):
        raise Malformed(f"pads {pads}, a kernel of {kernel}")
    text = f"tc_deform_conv2d({x}, {weight}, {offset}"
    text += f", {bias if bias is not None else 'NULL'}" if bias is not None or mask is not None else ""
    text += f", {mask}" if mask is not None else ""
    for name, values, default in (("stride", stride, 1), ("dilation", dilation, 1), ("low", pads[:2], 0),
                                  ("high", pads[2:], 0)):
        if values != [default, default]:
            text += f", .{name} = {{{values[0]}, {values[1]}}}"
    text += f", .groups = {groups})" if groups != 1 else ")"
    n.result(text, x.dtype, (x.shape[0], weight.shape[0], *offset.shape[2:]))


class Axis(NamedTuple):
    """One axis of an image, and the windows along it."""

    size: Expr
    kernel: int
    stride: int = 1
    dilation: int = 1
    low: int = 0
    high: int = 0

    @property
    def windows(self) -> Expr:
        return floordiv(self.size + self.low + self.high - (self.kernel - 1) * self.dilation - 1, wrap(self.stride)) + 1


def _fold(n: Node, columns: str, height: Axis, width: Axis) -> str:
    """tc_fold of [images, kernels, windows]."""
    text = f"tc_fold({columns}, {n.dim_list([height.size, width.size])}, .kernel = {{{height.kernel}, {width.kernel}}}"
    for name, default in (("stride", 1), ("dilation", 1), ("low", 0), ("high", 0)):
        both = getattr(height, name), getattr(width, name)
        if both != (default, default):
            text += f", .{name} = {{{both[0]}, {both[1]}}}"
    return text + ")"


@op("Col2Im", since=18)
def col2im(n: Node) -> None:
    x, image, block = n.input(0), n.sizes(n.input(1), "the image's shape"), n.whole(n.input(2), "the block's shape")
    rank, taps = len(image), math.prod(block)
    stride, dilation = n.ints("strides") or [1] * rank, n.ints("dilations") or [1] * rank
    pads = n.ints("pads") or [0] * (2 * rank)
    if not 0 < rank == len(block) == len(stride) == len(dilation) == len(pads) // 2 or any(k < 1 for k in block) \
            or x.rank != 3 or not x.shape[1].is_const:
        raise Malformed(f"pads {pads}, a block of {block}")
    axes = list(map(Axis, image, block, stride, dilation, pads[:rank], pads[rank:]))
    shape: list[IntLike] = [x.shape[0], x.shape[1].value // taps, *image]
    if rank == 2:
        n.result(_fold(n, f"{x}", *axes), x.dtype, shape)
        return
    # Of other ranks axis by axis, the last one first: its taps and windows become its places.
    outer, made = x.shape[0] * x.shape[1], wrap(1)
    for i in range(rank - 1, -1, -1):
        outer, before, axis = floordiv(outer, wrap(block[i])), product(a.windows for a in axes[:i]), axes[i]
        parts = f"tc_reshape({x}, {n.dim_list([outer, axis.kernel, before, axis.windows, made])})"
        rows = n.let(f"tc_permute({parts}, 0, 2, 4, 1, 3)", x.dtype, [outer, before, made, axis.kernel, axis.windows])
        columns = f"tc_reshape({rows}, {n.dim_list([outer * before * made, axis.kernel, axis.windows])})"
        places = f"tc_reshape({_fold(n, columns, axis, Axis(wrap(1), 1))}, " \
                 f"{n.dim_list([outer, before, made, axis.size])})"
        x = n.let(f"tc_permute({places}, 0, 1, 3, 2)", x.dtype, [outer, before, axis.size, made])
        made = axis.size * made
    n.result(f"tc_reshape({x}, {n.dim_list(shape)})", x.dtype, shape)


@op("CenterCropPad", since=18)
def center_crop_pad(n: Node) -> None:
    x, sizes, given = n.input(0), n.sizes(n.input(1), "the shape"), n.ints("axes")
    axes = list(range(x.rank)) if given is None else n.axes(given, x.rank)
    if len(axes) != len(sizes):
        raise Malformed(f"{len(sizes)} sizes of {len(axes)} axes")
    shape: list[IntLike] = list(x.shape)
    changed = [(axis, size) for axis, size in zip(axes, sizes) if not equal(size, x.shape[axis])]
    for i, (axis, size) in enumerate(changed):
        shape[axis] = size
        text = f"tc_center_crop_pad({x}, {axis}, {n.dim(size)})"
        x = n.result(text, x.dtype, shape) if i == len(changed) - 1 else n.let(text, x.dtype, shape)
    if not changed:
        n.give(x)


@op("Det", since=11)
def det(n: Node) -> None:
    x = n.input(0)
    n.floats_only(x)
    n.result(f"tc_det({x})", x.dtype, x.shape[:-2])


@op("ImageDecoder", since=20)
def image_decoder(n: Node) -> None:
    n.refuse("files of images (JPEG, PNG, …)", "decode them in your program, and make the pixels the model's input")
