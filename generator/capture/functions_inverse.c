/* SPDX-License-Identifier: Apache-2.0
 *
 * asin, acos, atan and atan2, of f32 (16-bit floats in it) and f64, by polynomials of the reduced operand's square.
 */
#include <math.h>

#include "compose.h"

/* Coefficients q of t + t z q(z), z = t^2, lowest first: minimax fits of the relative error
 * (tests/numerics/fit_inverse.py), of atan up to tan(pi/8), 2^-30.5 and 2^-59.4, and of asin up to 1/2, 2^-31.7 and
 * 2^-59.8. */
typedef struct polynomial {
    int count;
    double q[13];
} polynomial;

/* clang-format off */
static const polynomial atan_f32 = {5, {-0.3333331550526776, 0.19998489442113602, -0.14243848876808652, 0.10596002603267404,
                                        -0.060834558305977616}};
static const polynomial atan_f64 = {11, {-0.33333333333333199, 0.19999999999954086, -0.14285714280248904,
                                         0.11111110786155526, -0.090908978369025666, 0.076920616442922887,
                                         -0.066631204564842307, 0.05848009387749671, -0.050398474175100406,
                                         0.038078364677871138, -0.017922322805875634}};
static const polynomial asin_f32 = {6, {0.16666659871811586, 0.075005109244229366, 0.044515718907126391, 0.031817623206652149,
                                        0.014402560991934037, 0.037565265585918952}};
static const polynomial asin_f64 = {13, {0.16666666666666762, 0.074999999999702606, 0.044642857175122061,
                                         0.030381942683562244, 0.022372215661757613, 0.017351600066565868,
                                         0.013980961750697073, 0.011397773534029162, 0.010786542951308488,
                                         0.0036829887171444156, 0.021763630726280115, -0.02107748101072283,
                                         0.032677009167340181}};
/* clang-format on */

static const double half_pi = 1.5707963267948966;

static bool is_double(tc_tensor x)
{
    return !tc_is_poison(x) && x->type.dtype == TC_F64;
}

/* t + t z q(z) */
static tc_tensor odd(tc_site at, tc_tensor t, tc_tensor z, const polynomial *p)
{
    tc_tensor q = ADD(MUL(z, p->q[p->count - 1]), p->q[p->count - 2]);
    for (int i = p->count - 3; i >= 0; --i)
        q = ADD(MUL(q, z), p->q[i]);
    return ADD(t, MUL(MUL(z, q), t));
}

/* parts * pi/2 - y, where pi/2 is its nearest number and the rest of it. */
static tc_tensor from_quarter(tc_site at, int parts, tc_tensor y)
{
    const double rest = is_double(y) ? 6.123233995736766e-17 : half_pi - (double)(float)half_pi;
    return SUB(parts * half_pi, SUB(y, parts * rest));
}

/* -- atan ---------------------------------------------------------------------------------------------------------- */

/* Of 0 <= t <= 1: atan(t), or pi/4 + atan((t - 1) / (t + 1)) beyond tan(pi/8). */
static tc_tensor atan_of_ratio(tc_site at, tc_tensor t)
{
    tc_tensor large = GT(t, 0.41421356237309503), turned = SUB(t, 1);
    turned = DIV(turned, ADD(t, 1));
    tc_tensor small = WHERE(large, turned, t),
              y = odd(at, small, MUL(small, small), is_double(t) ? &atan_f64 : &atan_f32);
    tc_tensor moved = from_quarter(at, 1, MUL(y, -2));
    return WHERE(large, MUL(moved, 0.5), y);
}

/* Below 0, or -0. */
static tc_tensor negative(tc_site at, tc_tensor x)
{
    return tc_signbit_at(at, x);
}

static tc_tensor atan_of(tc_site at, tc_tensor x)
{
    tc_tensor a = tc_abs_at(at, x), steep = GT(a, 1), y = atan_of_ratio(at, WHERE(steep, DIV(1, a), a));
    y = WHERE(steep, from_quarter(at, 1, y), y);
    tc_tensor below = negative(at, x), other = tc_neg_at(at, y);
    return WHERE(below, other, y);
}

COMPOSE_WIDE(atan, atan_of(at, x))

/* The angle of (x, y): of the ratio of the smaller size to the larger, mirrored to where the point is. */
static tc_tensor atan2_of(tc_site at, tc_tensor y, tc_tensor x)
{
    tc_tensor up = tc_abs_at(at, y), along = tc_abs_at(at, x), most = MAXIMUM(up, along), least = MINIMUM(up, along);
    tc_tensor diagonal = EQ(up, along), zero = EQ(most, 0), ratio = WHERE(diagonal, 1, DIV(least, most));
    ratio = WHERE(zero, 0, ratio);
    tc_tensor angle = atan_of_ratio(at, ratio), steep = GT(up, along);
    angle = WHERE(steep, from_quarter(at, 1, angle), angle);
    tc_tensor left = negative(at, x), below = negative(at, y);
    angle = WHERE(left, from_quarter(at, 2, angle), angle);
    tc_tensor other = tc_neg_at(at, angle);
    return WHERE(below, other, angle);
}

COMPOSE_TWO(atan2, atan2_of)

/* -- asin, acos ---------------------------------------------------------------------------------------------------- */

/* Of 0 <= a: asin(a) up to 1/2, asin(sqrt((1 - a) / 2)) beyond, NaN beyond 1; *large says where. */
static tc_tensor asin_of_half(tc_site at, tc_tensor a, tc_tensor *large)
{
    *large = GT(a, 0.5);
    tc_tensor half = MUL(SUB(1, a), 0.5), z = WHERE(*large, half, MUL(a, a)),
              t = WHERE(*large, tc_sqrt_at(at, half), a);
    return odd(at, t, z, is_double(a) ? &asin_f64 : &asin_f32);
}

static tc_tensor asin_of(tc_site at, tc_tensor x)
{
    tc_tensor large, y = asin_of_half(at, tc_abs_at(at, x), &large);
    y = WHERE(large, from_quarter(at, 1, MUL(y, 2)), y);
    tc_tensor below = negative(at, x), other = tc_neg_at(at, y);
    return WHERE(below, other, y);
}

static tc_tensor acos_of(tc_site at, tc_tensor x)
{
    tc_tensor large, y = asin_of_half(at, tc_abs_at(at, x), &large), below = LT(x, 0), twice = MUL(y, 2);
    tc_tensor ends = WHERE(below, from_quarter(at, 2, twice), twice), other = tc_neg_at(at, y);
    tc_tensor middle = from_quarter(at, 1, WHERE(below, other, y));
    return WHERE(large, ends, middle);
}

COMPOSE_WIDE(asin, asin_of(at, x))
COMPOSE_WIDE(acos, acos_of(at, x))
