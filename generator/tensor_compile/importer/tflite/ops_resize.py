# SPDX-License-Identifier: Apache-2.0
"""Pictures of another size."""
from __future__ import annotations

from ...symbolic import wrap
from ..problems import Malformed
from ..values import FLOATS
from .registry import Node, op


@op("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", versions=4)
def resize(n: Node) -> None:
    x, sizes = n.first(0), n.integers(1, "the size")
    if len(sizes) != 2 or x.rank != 4 or any(s < 1 for s in sizes):
        raise Malformed(f"{len(sizes)} sizes of a tensor of rank {x.rank}")
    corners, half = n.option("align_corners"), n.option("half_pixel_centers")
    linear = n.name == "RESIZE_BILINEAR"
    if linear and x.dtype not in FLOATS:
        n.refuse(f"interpolation of {x.dtype}")
    n.same_scale()
    if corners and half:
        raise Malformed("both align_corners and half_pixel_centers")
    places = "TC_ALIGN_CORNERS" if corners else "TC_HALF_PIXEL" if half else "TC_ASYMMETRIC"
    words = ".mode = TC_LINEAR" if linear else ".mode = TC_NEAREST"
    if not linear:
        places = "TC_HALF_PIXEL_FOR_NEAREST" if half else places
        words += ", .rounding = " + ("TC_ROUND_HALF_UP" if corners else "TC_ROUND_DOWN")
    words += f", .places = {places}" if places != "TC_HALF_PIXEL" else ""
    shape = (*x.shape[:2], wrap(sizes[0]), wrap(sizes[1]))
    n.give_first(f"tc_resize({x}, {words}, TC_RESIZE_AXES(2, 3), TC_SIZES({sizes[0]}, {sizes[1]}))", x.dtype, shape)
