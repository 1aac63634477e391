# SPDX-License-Identifier: Apache-2.0
"""Makes the coefficients of templates/include/tc_f64_math.h and tc_f64_trig.h. Needs mpmath; run by hand: `python3
fit_f64.py`.

Minimax polynomials of the weighted error, by Remez' exchange in 40 digits: the error is levelled over degree + 2
points, which then move to where it is largest. Coefficients are rounded to double; those of high degree matter little
and the first ones, which do, are given exactly in the code.
"""
from __future__ import annotations

from typing import Callable

import mpmath as mp

GRID = 600


def remez(function: Callable, weight: Callable, lo: float, hi: float, degree: int) -> tuple[list, mp.mpf]:
    """The polynomial's coefficients and the largest |weight * error| over lo..hi."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    spread = lambda n: [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * k / (n - 1)) for k in range(n)]
    grid = spread(GRID)
    target, weights = [function(x) for x in grid], [weight(x) for x in grid]
    points = [round((GRID - 1) * k / (degree + 1)) for k in range(degree + 2)]
    coeffs: list = []
    worst = mp.inf
    for _ in range(12):
        matrix = mp.matrix(degree + 2, degree + 2)
        rest = mp.matrix(degree + 2, 1)
        for row, at in enumerate(points):
            for d in range(degree + 1):
                matrix[row, d] = grid[at] ** d
            matrix[row, degree + 1] = (-1) ** row / weights[at]
            rest[row] = target[at]
        coeffs = list(mp.lu_solve(matrix, rest))[:degree + 1]
        error = [weights[i] * (mp.polyval(coeffs[::-1], x) - target[i]) for i, x in enumerate(grid)]
        extremes = [0]
        for i in range(1, GRID):
            if (error[i] > 0) == (error[extremes[-1]] > 0):
                if abs(error[i]) > abs(error[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > degree + 2:
            extremes.pop(0 if abs(error[extremes[0]]) < abs(error[extremes[-1]]) else -1)
        now = max(map(abs, error))
        if len(extremes) < degree + 2 or extremes == points or abs(now / worst - 1) < mp.mpf("1e-3"):
            break
        points, worst = extremes, now
    return coeffs, max(map(abs, error))


def show(name: str, coeffs: list, error: mp.mpf) -> None:
    print(f"{name}: error 2^{float(mp.log(error, 2)):.2f}")
    for i, c in enumerate(coeffs):
        print(f"    [{i}] {float(c).hex()}")


def alternating(first: int) -> Callable:
    """-1/first! + z/(first + 2)! - ...: the rest of the series of sin and (negated) cos."""
    return lambda z: mp.nsum(lambda k: (-1) ** (k + 1) * z ** k / mp.factorial(2 * k + first), [0, 20])


def main() -> None:
    mp.mp.dps = 50
    # e^r = 1 + r + r^2 q(r)
    half = float(mp.log(2) / 2 * mp.mpf("1.001"))
    near = lambda r: mp.mpf(1) / 2 if r == 0 else (mp.expm1(r) - r) / r ** 2
    show("expm1", *remez(near, lambda r: abs(r), -half, half, 10))
    # log(1 + f) = f - f^2/2 + s (f^2/2 + z L(z)), s = f / (2 + f), z = s^2, for 1/sqrt(2) <= 1 + f <= sqrt(2)
    most = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.01")
    series = lambda z: mp.nsum(lambda k: 2 * z ** k / (2 * k + 3), [0, 60])
    show("log", *remez(series, lambda z: z if z > 0 else mp.mpf("1e-3"), 0, most, 6))
    # erf(x) = x + x A(x^2) for |x| < 7/8
    small = lambda z: 2 / mp.sqrt(mp.pi) - 1 if z == 0 else mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1
    show("erf", *remez(small, lambda z: mp.mpf(1), 0, mp.mpf("0.766"), 11))
    # 1 - erf(x) = e^(-x^2) B((x - 2)/(x + 2)) from there to 6
    def scaled(t: mp.mpf) -> mp.mpf:
        x = 2 * (1 + t) / (1 - t)
        return mp.erfc(x) * mp.exp(x * x)
    weight = lambda t: mp.exp(-(2 * (1 + t) / (1 - t)) ** 2) + mp.mpf(2) ** -12
    show("erfc", *remez(scaled, weight, (mp.mpf("0.875") - 2) / mp.mpf("2.875"), mp.mpf(1) / 2, 16))
    # erfc(x) = e^(-x^2) B((x - 2)/(x + 2)) / (1 + 2 x) from 1/2 to where it is 0
    def flat(t: mp.mpf) -> mp.mpf:
        x = 2 * (1 + t) / (1 - t)
        return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)
    show("erfc", *remez(flat, lambda t: 1 / flat(t), mp.mpf(-3) / 5, mp.mpf(26) / 30, 23))
    # lgamma(2 + v) = (1 + v) v R(v) from 1 to 3
    def big(v: mp.mpf) -> mp.mpf:
        limits = {0: 1 - mp.euler, -1: mp.euler}
        near = next((limits[at] for at in limits if abs(v - at) < mp.mpf("1e-30")), None)
        return near if near is not None else mp.loggamma(v + 2) / ((v + 1) * v)
    show("lgamma", *remez(big, lambda v: 1 / big(v), -1, 1, 28))
    # lgamma(x) = (x - 1/2)(log(x) - 1) + (log(2 pi) - 1)/2 + w(1/x^2)/x from 8 on
    def stirling(z: mp.mpf) -> mp.mpf:
        if z < mp.mpf("1e-14"):
            return mp.mpf(1) / 12
        x = 1 / mp.sqrt(z)
        return (mp.loggamma(x) - (x - mp.mpf(1) / 2) * (mp.log(x) - 1) - (mp.log(2 * mp.pi) - 1) / 2) * x
    show("lgamma, w", *remez(stirling, lambda z: mp.mpf(1) / 72, 0, mp.mpf(1) / 64, 6))
    # sin(pi r) = pi r C(r^2) up to 1/2
    quotient = lambda z: mp.mpf(1) if z == 0 else mp.sinpi(mp.sqrt(z)) / (mp.pi * mp.sqrt(z))
    show("lgamma, C", *remez(quotient, lambda z: mp.mpf(1), 0, mp.mpf("0.2501"), 8))
    # sin(r) = r + r^3 p(r^2) and cos(r) = 1 - r^2/2 + r^4 q(r^2) up to pi/4
    most = float(mp.pi / 4 * mp.mpf("1.0001")) ** 2
    show("sin", *remez(alternating(3), lambda z: max(z, mp.mpf("1e-6")), 0, most, 6))
    show("cos", *remez(lambda z: -alternating(4)(z), lambda z: max(z * z, mp.mpf("1e-8")), 0, most, 5))
    # 2^r = 1 + r ln(2) + r^2 q(r)
    power = lambda r: mp.nsum(lambda k: mp.log(2) ** (k + 2) * r ** k / mp.factorial(k + 2), [0, 40])
    show("2^r", *remez(power, lambda r: max(r * r, mp.mpf("1e-6")), -0.5001, 0.5001, 10))
    # log2((1 + s) / (1 - s)) = s (A + z (B + z (C + z r(z)))), z = s^2, for 1/sqrt(2) <= (1 + s) / (1 - s) <= sqrt(2)
    most = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")
    leading = 2 / mp.log(2)
    rest = lambda z: leading * mp.nsum(lambda k: z ** k / (2 * k + 7), [0, 60])
    show("log2", *remez(rest, lambda z: max(z ** 3, mp.mpf("1e-12")) / leading, 0, most, 6))


if __name__ == "__main__":
    main()
