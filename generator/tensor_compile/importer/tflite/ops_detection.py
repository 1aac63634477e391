# SPDX-License-Identifier: Apache-2.0
"""Boxes in images: which of them stay."""
from __future__ import annotations

import struct

from ...symbolic import wrap
from ..problems import Malformed
from ..program import Statement
from ..values import number
from .registry import Node, op


@op("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", versions=1)
def nms(n: Node) -> None:
    """Inputs: boxes [n, 4], their scores, how many stay at most, thresholds of the overlap and the score; of V5 sigma.
    Gives the places of those that stay, with zeros behind them; of V5 their scores; and how many there are."""
    boxes, scores = n.input(0), n.input(1)
    most = n.integers(2, "how many boxes stay")
    overlap, least = (_number(n, i, "a threshold") for i in (3, 4))
    scored = n.name.endswith("V5")
    if boxes.dtype != "f32" or scores.dtype != "f32":
        n.refuse(f"boxes of {boxes.dtype} with scores of {scores.dtype}")
    if scored and _number(n, 5, "sigma"):
        n.refuse("boxes that lower the scores of others (a sigma that is not 0)")
    if boxes.rank != 2 or scores.rank != 1 or len(most) != 1 or most[0] < 0 or not 0 <= overlap <= 1:
        raise Malformed(f"boxes of the shape {list(boxes.shape)}, {most} of them, an overlap of {overlap}")
    count = n.constant_sizes(boxes.shape[:1])[0]
    if n.constant_sizes((*boxes.shape[1:], *scores.shape)) != [4, count]:
        raise Malformed(f"boxes of the shape {list(boxes.shape)} with scores of {list(scores.shape)}")
    size = min(most[0], count)
    rows, found = n.value("i64", (wrap(size), wrap(3)), "rows"), n.value("i64", (), "count")
    words = f".iou_threshold = {_below(overlap)}, .score_threshold = {number(least, 'f32')}, .scored = true"
    n.emit(Statement(f"tc_nms(tc_reshape({boxes}, 1, {count}, 4), tc_reshape({scores}, 1, 1, {count}), "
                     f"TC_SIZES({size}), {words}, .count = &{found})", rows, declared=(found,)))
    places = n.let(f"tc_cast(tc_select({rows}, 1, 2), TC_I32)", "i32", (wrap(size),), "places")
    rest = most[0] - size
    n.give(f"tc_pad_axis({places}, 0, 0, {rest}, 0)" if rest else f"{places}", "i32", most)
    if scored:
        text = f"tc_where(tc_lt(tc_arange(g, TC_I64, {size}), {found}), tc_gather({scores}, {places}, 0), 0)"
        n.give(f"tc_pad_axis({text}, 0, 0, {rest}, 0)" if rest else text, "f32", most, 1)
    n.give(f"tc_cast({found}, TC_I32)", "i32", (), 1 + scored)


def _number(n: Node, i: int, what: str) -> float:
    x = n.input(i)
    if x.dtype != "f32" or not isinstance(x.single, float):
        n.refuse(f"{what} that is known at run time only")
    return x.single


def _below(threshold: float) -> str | None:
    """The next number of f32 below: a box goes whose overlap is the threshold, too; that of tc_nms is above it."""
    bits = struct.unpack("<i", struct.pack("<f", threshold))[0]
    return number(struct.unpack("<f", struct.pack("<i", bits - 1))[0] if bits > 0 else -1.0, "f32")
