# SPDX-License-Identifier: Apache-2.0
"""Results whose size is data: as many places as there may be, and how many there are (Value.counted)."""
from __future__ import annotations

from ...symbolic import Expr, IntLike, is_nonnegative, minimum, product
from ..problems import Malformed
from ..values import Value
from .registry import Node, op


@op("NonZero", since=9)
def nonzero(n: Node) -> None:
    x = n.input(0)
    if x.rank == 0:
        n.refuse("an input of rank 0")
    most = product(x.shape)
    places = n.result(f"tc_transpose(tc_nonzero_static({x}, {n.dim(most)}, 0), 0, 1)", "i64", (x.rank, most))
    places.counted = (n.let(f"tc_count_nonzero({x})", "i64", (), "count"), 1)


@op("Compress", since=9)
def compress(n: Node) -> None:
    x, mask = n.input(0), n.input(1)
    if mask.rank != 1:
        raise Malformed(f"a condition of rank {mask.rank}")
    axis = n.axis(n.integer("axis"), x.rank) if n.has("axis") else None
    if axis is None:
        x, axis = n.let(f"tc_reshape({x}, {n.dim(product(x.shape))})", x.dtype, (product(x.shape),)), 0
    shape: list[IntLike] = list(x.shape)
    known = mask.known
    if known is not None and not any(isinstance(e, Expr) for e in known):
        chosen = [i for i, e in enumerate(known) if e]
        shape[axis] = len(chosen)
        index = n.constant(chosen, "i64", (len(chosen),), "places")
        n.result(f"tc_gather({x}, {index}, {axis})", x.dtype, shape)
        return
    most = mask.shape[0]
    if not is_nonnegative(x.shape[axis] - most):
        n.refuse(f"a condition of {most} elements for an axis of {x.shape[axis]}")
    shape[axis] = most
    found = n.result(f"tc_compress({x}, {mask}, {axis}, {n.dim(most)}, 0)", x.dtype, shape)
    found.counted = (n.let(f"tc_count_nonzero({mask})", "i64", (), "count"), axis)


@op("Unique", since=11)
def unique(n: Node) -> None:
    x, ordered = n.input(0), n.integer("sorted", 1)
    along = n.has("axis")
    axis = n.axis(n.integer("axis"), x.rank) if along else 0
    most = x.shape[axis] if along else product(x.shape)
    shape = x.shape if along else (most,)
    text = f"tc_unique({x}" + (f", .along = true, .axis = {axis}" if along else "") + ("" if ordered
                                                                                       else ", .unsorted = true")
    text += ", .first = &{out1}, .inverse = &{out2}, .counts = &{out3}, .count = &{out4})"
    line: tuple[str, tuple[IntLike, ...]] = ("i64", (most,))
    found = n.call(text, x.dtype, shape, {1: line, 2: line, 3: line, 4: ("i64", ())})
    count = n.given.pop(4)
    found.counted = (count, axis)
    for i in (1, 3):
        n.given[i].counted = (count, 0)


def _threshold(n: Node, value: Value | None, name: str) -> str:
    """An option of tc_nms: the number where it is known, else the tensor."""
    if value is None:
        return ""
    number = n.number(value)
    return f", .{name} = {value}" if number is None else f", .{name}_threshold = {float(number)!r}"


@op("NonMaxSuppression", since=10)
def nms(n: Node) -> None:
    boxes, scores, limit, iou, score = n.input(0), n.input(1), n.optional(2), n.optional(3), n.optional(4)
    n.floats_only(boxes)
    if boxes.rank != 3 or scores.rank != 3:
        raise Malformed(f"boxes of rank {boxes.rank}, scores of rank {scores.rank}")
    most: Expr = scores.shape[2]
    given = 0 if limit is None else n.number(limit)
    more = ""
    if given is None:
        more = f", .limit = {limit}"
    else:
        most = minimum(most, max(int(given), 0))
    more += _threshold(n, iou, "iou") + _threshold(n, score, "score")
    more += ", .scored = true" if score is not None and n.number(score) is not None else ""
    more += ", .centers = true" if n.integer("center_point_box", 0) else ""
    text = f"tc_nms({boxes}, {scores}, TC_SIZES({n.dim(most)}){more}, .count = &{{out1}})"
    found = n.call(text, "i64", (scores.shape[0] * scores.shape[1] * most, 3), {1: ("i64", ())})
    count = n.given.pop(1)
    found.counted = (count, 0)
