# SPDX-License-Identifier: Apache-2.0
"""Windows of convolutions that lie in the padding: graphs before and after, and every place counted."""
from __future__ import annotations

import random

from passes import case, stays
from tap import done, note, ok
from tensor_compile.graph.windows import _axis, windows

WEIGHT = '%1 = weight() {name="conv"} : f32[4,2,3,3]'


def convolution(x: str, out: str, stride: str, low: str, high: str, dilation: str = "1, 1") -> str:
    return f"""{WEIGHT}
%2 = convolution({x}, %1) {{stride=[{stride}], low=[{low}], high=[{high}], dilation=[{dilation}], groups=1}} : {out}"""


case(windows, "windows: of an image of one row and two columns a row is left, and all columns", '%0 "x" : f32[1,2,1,2]',
     convolution("%0", "f32[1,4,1,2]", "1, 1", "1, 1", "1, 1"), f"""{WEIGHT}
%2 = slice(%1) {{start=[0, 0, 1, 0], size=[4, 2, 1, 3], stride=[1, 1, 1, 1]}} : f32[4,2,1,3]
%3 = convolution(%0, %2) {{stride=[1, 1], low=[0, 1], high=[0, 1], dilation=[1, 1], groups=1}} : f32[1,4,1,2]""")
case(windows, "windows: a window that jumps over the end, of any number of images", '%0 "x" : f32[n,2,1,2]',
     convolution("%0", "f32[n,4,1,1]", "2, 2", "1, 1", "1, 1"), f"""{WEIGHT}
%2 = slice(%1) {{start=[0, 0, 1, 1], size=[4, 2, 1, 2], stride=[1, 1, 1, 1]}} : f32[4,2,1,2]
%3 = convolution(%0, %2) {{stride=[2, 2], low=[0, 0], high=[0, 0], dilation=[1, 1], groups=1}} : f32[n,4,1,1]""")
for why, parameters, body in (
        ("every element meets the image", '%0 "x" : f32[1,2,2,2]',
         convolution("%0", "f32[1,4,2,2]", "1, 1", "1, 1", "1, 1")),
        ("a size is not known", '%0 "x" : f32[1,2,1,n]', convolution("%0", "f32[1,4,1,n]", "1, 1", "1, 1", "1, 1")),
        ("what is left begins behind the image's first element", '%0 "x" : f32[1,2,3,3]',
         convolution("%0", "f32[1,4,1,1]", "1, 1", "1, 1", "3, 3", "3, 3"))):
    stays(windows, f"windows: not where {why}", parameters, body)
stays(windows, "windows: not of weights that a call may give", '%0 "x" : f32[1,2,1,1], %1 "w" : f32[4,2,3,3]',
      convolution("%0", "f32[1,4,1,1]", "1, 1", "1, 1", "1, 1").split("\n", 1)[1])

# -- each axis, beside all pairs of a place and an element that it meets
rng, wrong, smaller = random.Random(1), [], 0
for _ in range(4000):
    image, window, stride, low, high, dilation = (rng.randint(*ends) for ends in (
        (1, 5), (1, 5), (1, 3), (0, 5), (0, 5), (1, 3)))
    room = image + low + high - (window - 1) * dilation - 1
    if room < 0:
        continue
    count = room // stride + 1

    def pairs(first: int, size: int, before: int) -> set[tuple[int, int, int]]:
        """Place, element of the whole window, element of the image."""
        return {(p, e + first, at) for p in range(count) for e in range(size)
                if 0 <= (at := p * stride + e * dilation - before) < image}

    left = _axis(image, window, count, stride, low, high, dilation)
    behind = (image + left.low + left.high - (left.size - 1) * dilation - 1) // stride + 1
    if pairs(left.first, left.size, left.low) != pairs(0, window, low) or behind != count:
        wrong.append((image, window, stride, low, high, dilation, left))
    smaller += left.size < window
if not ok(not wrong and smaller > 500, "windows: smaller ones of random axes meet the same elements"):
    note(f"{smaller} are smaller; {wrong[:3]}")
done()
