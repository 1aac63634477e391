# SPDX-License-Identifier: Apache-2.0
"""Makes the coefficients of templates/include/tc_math.inc and its parts. Needs numpy and mpmath; run by hand: `python3
fit.py`.

Each approximation is a minimax fit of the relative error of the function's result, as that is what ULPs measure:
Lawson's algorithm (least squares whose weights are multiplied by the error until the error is level) over Chebyshev
points. A rational P/Q is fitted as P - t*Q = 0 divided by the Q of the step before. Coefficients are rounded to f32
from the lowest degree on, and those still free are fitted again after each rounding: rounding all of them at the end
would cost a large part of an ULP.
"""
from __future__ import annotations

from typing import Callable, Sequence

import mpmath as mp
import numpy as np

POINTS = 4000


def chebyshev(lo: float, hi: float) -> np.ndarray:
    k = np.arange(POINTS)
    return (lo + hi) / 2 - (hi - lo) / 2 * np.cos(np.pi * (k + 0.5) / POINTS)


def exact(function: Callable, x: np.ndarray) -> np.ndarray:
    """function (of mpmath numbers) at every x, rounded once to double."""
    mp.mp.dps = 40
    return np.array([float(function(mp.mpf(float(v)))) for v in x])


def fit(x: np.ndarray, target: np.ndarray, weight: np.ndarray, p: int, q: int = 0) -> tuple[list, list, float]:
    """P(x)/Q(x) near target, degrees p and q, Q(0) = 1; returns f32 coefficients and the largest |weight * error|."""
    scale = np.abs(x).max()
    powers = np.vander(x / scale, max(p, q) + 1, increasing=True)
    columns = np.hstack([powers[:, :p + 1], -target[:, None] * powers[:, 1:q + 1]])
    scales = np.array([scale ** i for i in range(p + 1)] + [scale ** i for i in range(1, q + 1)])
    fixed: dict[int, float] = {}
    order = sorted(range(p + q + 1), key=lambda j: j if j <= p else j - p - 0.5)
    denominator = np.ones_like(x)
    for step in range(len(order) + 1):
        free = [j for j in range(p + q + 1) if j not in fixed]
        rest = target - sum((columns[:, j] * c for j, c in fixed.items()), np.zeros_like(x))
        lawson = np.ones_like(x)
        best = (np.inf, np.zeros(p + q + 1))
        for iteration in range(150):
            row = np.sqrt(lawson) * weight / denominator
            coeffs = np.zeros(p + q + 1)
            for j, c in fixed.items():
                coeffs[j] = c
            if free:
                coeffs[free] = np.linalg.lstsq(columns[:, free] * row[:, None], rest * row, rcond=None)[0]
            denominator = 1 + powers[:, 1:q + 1] @ coeffs[p + 1:]
            error = np.abs(weight * (powers[:, :p + 1] @ coeffs[:p + 1] / denominator - target))
            if error.max() < best[0]:
                best = (error.max(), coeffs)
            if not free:
                break
            if iteration > 4:
                lawson *= np.sqrt(error / error.max()) + 1e-6
                lawson = np.maximum(lawson / lawson.max(), 1e-12)
        if step < len(order):
            j = order[step]
            fixed[j] = float(np.float32(best[1][j] / scales[j])) * scales[j]
    coeffs = best[1] / scales
    return list(coeffs[:p + 1]), [1.0, *coeffs[p + 1:]], best[0]


def show(name: str, coeffs: Sequence[float], error: float) -> None:
    print(f"{name}: relative error 2^{np.log2(error):.2f}")
    for i, c in enumerate(coeffs):
        print(f"    [{i}] {float(np.float32(c)).hex().replace('0000000p', 'p')}f")


def main() -> None:
    # exp(r) = 1 + r + r^2 q(r) after the removal of powers of two
    x = chebyshev(-np.log(2) / 2 * 1.001, np.log(2) / 2 * 1.001)
    for degree in (3, 4):
        q, _, error = fit(x, exact(lambda r: (mp.expm1(r) - r) / r ** 2, x), x ** 2 / np.exp(x), degree)
        show(f"exp, q of degree {degree}", q, error)
    # log(1 + f) = f + f^2 q(f) for 2/3 <= 1 + f <= 4/3
    x = chebyshev(-1 / 3, 1 / 3)
    for degree in (7, 8):
        q, _, error = fit(x, exact(lambda f: (mp.log1p(f) - f) / f ** 2, x), np.abs(x ** 2 / np.log1p(x)), degree)
        show(f"log, q of degree {degree}", q, error)
    # erf(x) = x P(x^2) / Q(x^2) up to where the result rounds to 1
    x = chebyshev(0, 3.93)
    target = exact(lambda v: mp.erf(v) / v, x)
    num, den, error = fit(x ** 2, target, 1 / target, 5, 5)
    show("erf, numerator", num, error)
    show("erf, denominator", den, error)
    # erfc(x) = 1 - (x + x A(x^2)) below 1/2, then e^(-x^2) B((x - 2)/(x + 2)) / (1 + 2 x) up to where the result is 0
    x = chebyshev(0, 0.5)
    a, _, error = fit(x ** 2, exact(lambda v: mp.erf(v) / v - 1, x), x / 0.48, 4)
    show("erfc, A", a, error)
    t = chebyshev(-1.5 / 2.5, 8.1 / 12.1)
    target = exact(lambda v: mp.exp((2 * (1 + v) / (1 - v)) ** 2) * mp.erfc(2 * (1 + v) / (1 - v))
                   * (1 + 4 * (1 + v) / (1 - v)), t)
    b, _, error = fit(t, target, 1 / target, 9)
    show("erfc, B", b, error)
    # lgamma(2 + v) = (1 + v) v R(v) from 1 to 3; (x - 1/2)(log(x) - 1) + (log(2 pi) - 1)/2 + w(1/x^2)/x from 8 on;
    # sin(pi r) = pi r C(r^2) up to 1/2
    v = chebyshev(-1, 1)
    target = exact(lambda v: mp.loggamma(v + 2) / ((v + 1) * v), v)
    r, _, error = fit(v, target, 1 / target, 12)
    show("lgamma, R", r, error)
    z = chebyshev(0, 1 / 64)
    rest = exact(lambda z: (mp.loggamma(1 / mp.sqrt(z)) - (1 / mp.sqrt(z) - mp.mpf(1) / 2) * (-mp.log(z) / 2 - 1)
                            - (mp.log(2 * mp.pi) - 1) / 2) / mp.sqrt(z), z)
    w, _, error = fit(z, rest, np.ones_like(z) / 72, 1)
    show("lgamma, w", w, error)
    x = chebyshev(0, 0.5)
    target = exact(lambda r: mp.sinpi(r) / (mp.pi * r), x)
    c, _, error = fit(x ** 2, target, 1 / target, 4)
    show("lgamma, C", c, error)
    # sin(r) = r + r^3 p(r^2) and cos(r) = 1 - r^2/2 + r^4 q(r^2) up to pi/4 and what the quotient's rounding adds
    x = chebyshev(0, np.pi / 4 * 1.02)
    p, _, error = fit(x ** 2, exact(lambda r: (mp.sin(r) - r) / r ** 3, x), np.abs(x ** 3 / np.sin(x)), 2)
    show("sin", p, error)
    q, _, error = fit(x ** 2, exact(lambda r: (mp.cos(r) - 1 + r * r / 2) / r ** 4, x), np.abs(x ** 4 / np.cos(x)), 2)
    show("cos", q, error)
    # 2^r = 1 + r q(r)
    x = chebyshev(-0.505, 0.505)
    q, _, error = fit(x, exact(lambda r: (mp.mpf(2) ** r - 1) / r, x), np.abs(x / np.exp2(x)), 5)
    show("2^r", q, error)
    # log2((1 + s) / (1 - s)) = s (A + s^2 (B + s^2 r(s^2))), A = 2 / ln 2 and B = A / 3, for 2/3 <= (1 + s) / (1 - s)
    # <= 4/3
    x, leading = chebyshev(0, 0.2001), 2 / mp.log(2)
    rest = exact(lambda s: (mp.log((1 + s) / (1 - s), 2) / s - leading - leading / 3 * s * s) / s ** 4, x)
    r, _, error = fit(x ** 2, rest, x ** 4 / float(leading), 2)
    show("log2", r, error)


if __name__ == "__main__":
    main()
