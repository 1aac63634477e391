# SPDX-License-Identifier: Apache-2.0
"""Scales from ranges, and ranges without outliers from counts of the upper bits of floats."""
import math
import random
import struct

from tap import done, equal, ok
from tensor_compile.quantize.observe import BIN_COUNT, PLACES, Range, scale_of


def bins(values: list[float]) -> list[int]:
    found = [0] * BIN_COUNT
    for v in values:
        found[struct.unpack("<I", struct.pack("<f", v))[0] >> PLACES] += 1
    return found


for dtype, least in (("i8", -128), ("u8", 0)):
    most = least + 255
    for low, high in ((-1.0, 1.0), (0.0, 6.0), (-3.7, 0.2), (2.0, 5.0), (-8.0, -1.0), (-1e-30, 1e-30), (-3e38, 3e38)):
        s = scale_of(low, high, dtype)
        at_low, at_high = ((q - s.zero) * s.scale for q in (least, most))
        ok(least <= s.zero <= most and at_low <= min(low, 0) + s.scale * 0.51
           and at_high >= max(high, 0) - s.scale * 0.51, f"{dtype} {low:g} to {high:g}: both ends and 0 are integers")
        equal(struct.unpack("<f", struct.pack("<f", s.scale))[0], s.scale, "and the scale is a number of f32")
        equal([s.integer(x) for x in (0, low, high, -math.inf, math.inf)],
              [s.zero, *(max(least, min(most, round(x / s.scale) + s.zero)) for x in (low, high)), least, most],
              "numbers are the nearest integers, infinities the ends")
    equal((scale_of(0, 0, dtype).scale, scale_of(0, 0, dtype).zero), (1.0, least), "what is always 0 has a scale")
    equal(scale_of(0.0, 6.0, dtype).zero, least, "what is never negative uses all integers")

rng = random.Random(5)
values = [rng.gauss(0, 1) for _ in range(20000)] + [1000.0, -500.0]
r = Range()
r.add(min(values[:100]), max(values[:100]), bins(values[:100]))
r.add(min(values[100:]), max(values[100:]), bins(values[100:]))
equal((r.low, r.high), (-500.0, 1000.0), "the ends of all that was added")
equal(r.without_outliers(100), (-500.0, 1000.0), "100 % are all elements")
ordered = sorted(values)
for percent in (99.9, 99.0, 90.0, 60.0):
    low, high = r.without_outliers(percent)
    spare = len(ordered) * (100 - percent) / 200
    want = ordered[math.floor(spare)], ordered[-1 - math.floor(spare)]
    ok(all(abs(a - b) <= 0.07 * abs(b) + 1e-3 for a, b in zip((low, high), want, strict=True)),
       f"{percent} %: the ends are those of the sorted elements, within a bin ({low:.3f} to {high:.3f})")
one = Range()
one.add(2.5, 2.5, bins([2.5] * 50))
low, high = one.without_outliers(99)
ok(2.5 <= low < 2.51 and high == 2.5, "elements that are all alike: within their bin")
some = Range()
some.add(-1.0, 4.0, None)
equal(some.without_outliers(90), (-1.0, 4.0), "without counts: the whole range")
done()
