/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations made of others: signs, rounding, remainders, classes of floats.
 */
#include <math.h>

#include "compose.h"

COMPOSE(reciprocal, DIV(1, x))
COMPOSE_WIDE(rsqrt, DIV(1, tc_sqrt_at(at, x)))

/* (x > 0) - (x < 0), in x's dtype */
static tc_tensor sign(tc_site at, tc_tensor x)
{
    tc_tensor above = GT(x, 0), below = LT(x, 0);
    above = tc_cast_at(at, above, x->type.dtype);
    below = tc_cast_at(at, below, x->type.dtype);
    return SUB(above, below);
}

COMPOSE(sign, tc_is_poison(x) ? x : sign(at, x))

COMPOSE(ceil, tc_neg_at(at, tc_floor_at(at, tc_neg_at(at, x))))

static tc_tensor towards_zero(tc_site at, tc_tensor x)
{
    tc_tensor below = LT(x, 0), down = tc_floor_at(at, x);
    return WHERE(below, tc_ceil_at(at, x), down);
}

COMPOSE(trunc, towards_zero(at, x))

static tc_tensor tangent(tc_site at, tc_tensor x)
{
    tc_tensor sine = tc_sin_at(at, x);
    return DIV(sine, tc_cos_at(at, x));
}

COMPOSE_WIDE(tan, tangent(at, x))

COMPOSE(isnan, NE(x, x))
COMPOSE(isinf, EQ(tc_abs_at(at, x), (double)INFINITY))
COMPOSE(isfinite, LT(tc_abs_at(at, x), (double)INFINITY))

/* -- remainders: of operands aligned to one dtype and shape -------------------------------------------------------- */

static tc_tensor rem(tc_site at, tc_tensor x, tc_tensor y)
{
    return REM(x, y);
}

/* Whether a remainder r by y has to be moved by y: it is not 0, and the signs differ. */
static tc_tensor to_be_moved(tc_site at, tc_tensor r, tc_tensor y)
{
    tc_tensor below = LT(r, 0), some = NE(r, 0), negative = LT(y, 0), differ = NE(negative, below);
    return tc_logical_and_at(at, TC_OPERAND(some), TC_OPERAND(differ));
}

static tc_tensor remainder_of(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor r = REM(x, y), moved = to_be_moved(at, r, y);
    return WHERE(moved, ADD(r, y), r);
}

/* (x - r) / y for r = rem(x, y) is whole but for its roundings: the whole number next to it, one less where r is to be
 * moved; a zero has the sign of x / y, and a zero y gives x / y. */
static tc_tensor floor_divide_floats(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor r = REM(x, y), moved = to_be_moved(at, r, y), quotient = DIV(x, y);
    tc_tensor near = DIV(SUB(x, r), y);
    near = WHERE(moved, SUB(near, 1), near);
    tc_tensor down = tc_floor_at(at, near), over = GT(SUB(near, down), 0.5), some = NE(near, 0), none = EQ(y, 0);
    tc_tensor whole = WHERE(over, ADD(down, 1), down);
    whole = WHERE(some, whole, MUL(quotient, 0));
    return WHERE(none, quotient, whole);
}

static tc_tensor floor_divide(tc_site at, tc_tensor x, tc_tensor y)
{
    if (tc_dtype_is_float(x->type.dtype))
        return floor_divide_floats(at, x, y);
    tc_tensor r = REM(x, y), moved = to_be_moved(at, r, y), quotient = DIV(x, y);
    return WHERE(moved, SUB(quotient, 1), quotient);
}

COMPOSE_TWO(fmod, rem)
COMPOSE_TWO(remainder, remainder_of)
COMPOSE_TWO(floor_divide, floor_divide)
