# SPDX-License-Identifier: Apache-2.0
"""Makes the coefficients of generator/capture/functions_inverse.c. Needs mpmath; run by hand: `python3 fit_inverse.py`.

atan(t) = t + t z q(z) and asin(t) = t + t z q(z) of z = t^2; weighted by z, so that the error is relative.
"""
from __future__ import annotations

import mpmath as mp
from fit_f64 import remez

mp.mp.dps = 40
FUNCTIONS = {"atan": (mp.atan, mp.tan(mp.pi / 8) ** 2, -mp.mpf(1) / 3), "asin": (mp.asin, mp.mpf(1) / 4, mp.mpf(1) / 6)}
DEGREES = {"atan": (4, 10), "asin": (5, 12)}

if __name__ == "__main__":
    for name, (f, most, at_zero) in FUNCTIONS.items():
        def rest(z: mp.mpf) -> mp.mpf:
            t = mp.sqrt(z)
            return (f(t) / t - 1) / z if z > mp.mpf("1e-12") else at_zero

        for dtype, degree in zip(("f32", "f64"), DEGREES[name]):
            coefficients, error = remez(rest, lambda z: max(z, mp.mpf("1e-6")), 0, most, degree)
            print(f"{name} {dtype}: error 2^{mp.nstr(mp.log(error, 2), 4)}")
            print(", ".join(mp.nstr(c, 17) for c in coefficients))
