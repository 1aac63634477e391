/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions in fixed point, whose bits are gemmlowp's: its polynomials and constants, in this order of operations.
 */
#include "fixed_point.h"
#include "compose.h"

#define HIGH(a, b) tc_mulhigh_round_at(at, a, TC_OPERAND(b))
#define DIVIDED(x, n) tc_rounding_shift_at(at, x, TC_OPERAND(n))

tc_tensor tc_fixed_shift(tc_site at, tc_tensor x, int places)
{
    const int32_t most = (1 << (31 - places)) - 1;
    tc_tensor shifted = SHIFT_LEFT(x, places), above = GT(x, most), below = LT(x, -most);
    return WHERE(above, INT32_MAX, WHERE(below, INT32_MIN, shifted));
}

/* exp(a) for -1/4 <= a < 0: a Taylor polynomial of degree 4 around -1/8. */
static tc_tensor exp_of_quarter(tc_site at, tc_tensor a)
{
    const int32_t exp_of_eighth = 1895147668, third = 715827883;
    tc_tensor x = ADD(a, 1 << 28), x2 = HIGH(x, x), x3 = HIGH(x2, x), x4 = HIGH(x2, x2);
    tc_tensor cubic = HIGH(ADD(DIVIDED(x4, 2), x3), third), rest = DIVIDED(ADD(cubic, x2), 1);
    return ADD(HIGH(ADD(x, rest), exp_of_eighth), exp_of_eighth);
}

tc_tensor tc_fixed_exp(tc_site at, tc_tensor a, int bits)
{
    /* exp(-2^i) for i = -2 ... 4 */
    static const int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int fraction = 31 - bits;
    const int32_t quarter = 1 << (fraction - 2);
    tc_tensor last = SUB(BIT_AND(a, quarter - 1), quarter), quarters = SUB(last, a);
    tc_tensor y = exp_of_quarter(at, SHIFT_LEFT(last, bits));
    for (int i = -2; i < bits; ++i) {
        tc_tensor set = NE(BIT_AND(quarters, 1 << (fraction + i)), 0);
        y = WHERE(set, HIGH(y, powers[i + 2]), y);
    }
    tc_tensor none = EQ(a, 0);
    return WHERE(none, INT32_MAX, y);
}

/* 2 / (1 + a), with 2 integer bits: Newton's method from 48/17 - 32/17 d. */
static tc_tensor divided_by_half_of(tc_site at, tc_tensor a)
{
    tc_tensor half = ADD(SHIFT_RIGHT(a, 1), 1 << 30), x = ADD(HIGH(half, -1010580540), 1515870810);
    for (int i = 0; i < 3; ++i) {
        tc_tensor error = SUB(1 << 29, HIGH(half, x));
        x = ADD(x, tc_fixed_shift(at, HIGH(x, error), 2));
    }
    return x;
}

tc_tensor tc_fixed_reciprocal(tc_site at, tc_tensor a)
{
    return tc_fixed_shift(at, divided_by_half_of(at, a), 1);
}

tc_tensor tc_fixed_half_tangent(tc_site at, tc_tensor a)
{
    return tc_fixed_shift(at, SUB(divided_by_half_of(at, a), 1 << 29), 2);
}

tc_tensor tc_fixed_logistic(tc_site at, tc_tensor a)
{
    tc_tensor below = tc_neg_at(at, tc_abs_at(at, a)), y = tc_fixed_reciprocal(at, tc_fixed_exp(at, below, 4));
    tc_tensor mirrored = SUB(INT32_MAX, y), positive = GT(a, 0), zero = EQ(a, 0);
    return WHERE(zero, 1 << 30, WHERE(positive, y, mirrored));
}

tc_tensor tc_fixed_tanh(tc_site at, tc_tensor a)
{
    /* twice a is a with 5 integer bits */
    tc_tensor below = tc_neg_at(at, tc_abs_at(at, a)), y = tc_fixed_half_tangent(at, tc_fixed_exp(at, below, 5));
    tc_tensor mirrored = tc_neg_at(at, y), negative = LT(a, 0), zero = EQ(a, 0);
    return WHERE(zero, 0, WHERE(negative, mirrored, y));
}
