# SPDX-License-Identifier: Apache-2.0
"""Extremes of windows along one axis after the other: graphs before and after, and random ones of every dtype."""
from __future__ import annotations

import random

from oracle.graph import same
from passes import case, evaluated, function, module, stays
from tap import done, equal, note, ok
from tensor_compile.graph.extremes import extremes


def window(op: str, size: str, stride: str, low: str, high: str, dilation: str) -> str:
    return f"{{op={op}, size=[{size}], stride=[{stride}], low=[{low}], high=[{high}], dilation=[{dilation}]}}"


def pooled(op: str, size: str, out: str, stride: str = "1, 1", pad: str = "0, 0", dilation: str = "1, 1") -> str:
    return f"%1 = window_reduce(%0) {window(op, size, stride, pad, pad, dilation)} : {out}"


case(extremes, "extremes: a maximum of lines, then one of columns", '%0 "x" : f32[2,3,20,20]',
     pooled("max", "5, 5", "f32[2,3,20,20]", pad="2, 2"),
     f"""%1 = window_reduce(%0) {window("max", "1, 5", "1, 1", "0, 2", "0, 2", "1, 1")} : f32[2,3,20,20]
%2 = window_reduce(%1) {window("max", "5, 1", "1, 1", "2, 0", "2, 0", "1, 1")} : f32[2,3,20,20]""")
case(extremes, "extremes: the axis that leaves fewer elements comes first; integers", '%0 "x" : i8[3,40,20]',
     pooled("min", "5, 5", "i8[3,18,16]", stride="2, 1"),
     f"""%1 = window_reduce(%0) {window("min", "5, 1", "2, 1", "0, 0", "0, 0", "1, 1")} : i8[3,18,20]
%2 = window_reduce(%1) {window("min", "1, 5", "1, 1", "0, 0", "0, 0", "1, 1")} : i8[3,18,16]""")
case(extremes, "extremes: dilation and sizes that are not known", '%0 "x" : f32[n,m + 9,m + 9]',
     pooled("max", "3, 4", "f32[n,m + 5,m + 3]", dilation="2, 2"),
     f"""%1 = window_reduce(%0) {window("max", "1, 4", "1, 1", "0, 0", "0, 0", "1, 2")} : f32[n,m + 9,m + 3]
%2 = window_reduce(%1) {window("max", "3, 1", "1, 1", "0, 0", "0, 0", "2, 1")} : f32[n,m + 5,m + 3]""")
case(extremes, "extremes: of three axes one is of one element, and goes with the first", '%0 "x" : f32[9,20,20]',
     f'%1 = window_reduce(%0) {window("max", "1, 5, 5", "2, 1, 1", "0, 2, 2", "0, 2, 2", "1, 1, 1")} : f32[5,20,20]',
     f"""%1 = window_reduce(%0) {window("max", "1, 1, 5", "2, 1, 1", "0, 0, 2", "0, 0, 2", "1, 1, 1")} : f32[5,20,20]
%2 = window_reduce(%1) {window("max", "1, 5, 1", "1, 1, 1", "0, 2, 0", "0, 2, 0", "1, 1, 1")} : f32[5,20,20]""")
for why, body in (("sums, whose order is fixed", pooled("sum", "5, 5", "f32[3,16,16]")),
                  ("small windows", pooled("max", "2, 2", "f32[3,19,19]")),
                  ("windows apart from each other", pooled("max", "5, 5", "f32[3,4,4]", stride="5, 5")),
                  ("windows along one axis", pooled("max", "1, 9", "f32[3,20,12]"))):
    stays(extremes, f"extremes: not {why}", '%0 "x" : f32[3,20,20]', body)

# -- what caches do not hold: windows of 5x5 stay whole, larger ones do not
for size, nodes in ((5, 1), (9, 2)):
    out = 1032 - size + 1
    large = function('%0 "x" : f32[3,1032,1032]', pooled("max", f"{size}, {size}", f"f32[3,{out},{out}]"))
    equal(len(extremes(module(large).functions["f"]).nodes), nodes, f"extremes: {size}x{size} of a large image")

# -- random ones, with NaN, infinities and zeros of both signs
rng, wrong, apart = random.Random(1), [], 0
for number in range(300):
    axes = rng.choice((2, 2, 3))
    image = [rng.randint(3, 9) for _ in range(axes)]
    draw = lambda low, high: [rng.randint(low, high) for _ in range(axes)]
    size, stride, dilation = draw(1, 4), draw(1, 2), draw(1, 2)
    low, high = draw(0, 5), draw(0, 5)
    room = [i + a + b - (s - 1) * d - 1 for i, a, b, s, d in zip(image, low, high, size, dilation)]
    if min(room) < 0:
        continue
    out = [r // s + 1 for r, s in zip(room, stride)]
    dtype = rng.choice(("f32", "f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64"))
    text = lambda values: ", ".join(map(str, values))
    attrs = window(rng.choice(("max", "min")), *map(text, (size, stride, low, high, dilation)))
    given = module(function(f'%0 "x" : {dtype}[2,{text(image).replace(" ", "")}]',
                            f"%1 = window_reduce(%0) {attrs} : {dtype}[2,{text(out).replace(' ', '')}]"))
    got = extremes(given.functions["f"])
    apart += len(got.nodes) > 1
    outputs = zip(evaluated(given, given.functions["f"], number), evaluated(given, got, number), strict=True)
    if not all(same(a, b) for a, b in outputs):
        wrong.append(f"{dtype} {image} {attrs}")
if not ok(not wrong and apart > 60, "extremes: random ones have the same bits"):
    note(f"{apart} are apart; {wrong[:3]}")
done()
