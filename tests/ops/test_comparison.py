# SPDX-License-Identifier: Apache-2.0
"""The bound of comparison.py: one rounding to 16 bits passes, two do not."""
from __future__ import annotations

import math

from comparison import Wanted, st, unit
from tap import done, equal

inf, nan = math.inf, math.nan


def misses(dtype: str, got: list, want: list, given: str = "F32", roundings: int = 0) -> list[int]:
    return Wanted(given, want, roundings).misses(dtype, got)


equal([unit("F16", x) for x in (1.0, 1.5, 2.0, -1024.0, 0.0, 2.0**-20, 65504.0, inf)],
      [2.0**-10, 2.0**-10, 2.0**-9, 1.0, 2.0**-24, 2.0**-24, 32.0, 2.0**-24], "units of f16, denormal ones too")
equal(unit("BF16", 256.0), 2.0, "a unit of bf16")
equal(misses("F16", [1024.0, 1025.0, 1024.0], [1024.49, 1024.51, 1024.6]), [2], "f16: half a unit and the error of f32")
equal(misses("BF16", [256.0, 258.0, 260.0], [257.0, 257.0, 257.0]), [2], "bf16: the nearer ones")
equal(misses("F16", [1025.0, 1026.0], [1024.0, 1024.0], "F16"), [1],
      "a neighbour, where what is wanted is rounded, too")
equal(misses("F16", [0.0, 3.0], [1.0, 1024.0], roundings=1), [1], "a rounding within: a unit of the largest value")
equal(misses("F16", [inf, inf, -inf, 65504.0, inf], [65520.0, 1e9, 1e9, 65519.0, 60000.0]), [2, 4], "overflow")
equal(misses("F32", [1.0, nan, nan, inf, 0.0], [1.00003, nan, 1.0, inf, -0.0]), [2], "f32, NaN and infinities")
equal(misses("F64", [1.0, 1.0], [1.0 + 1e-14, 1.0 + 1e-12], "F64"), [1], "f64")
equal(misses("I64", [1, 2], [1, 3], "I64"), [1], "integers are equal")
equal(st.of_bf16(st.to_bf16([1.0, -0.5, inf, 2.0**-130])), [1.0, -0.5, inf, 2.0**-130], "bf16 in files")
done()
