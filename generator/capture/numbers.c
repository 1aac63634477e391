/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the C program as constants of the graph: bit patterns of their dtype.
 */
#include <math.h>

#include "internal.h"

/* The pattern of the float nearest to x, ties to even; the layout is that of dtypes.def. long double, so that an int64
 * is rounded once. */
static uint64_t float_bits(const tc_dtype_info *dtype, long double x)
{
    int exponent, fraction = dtype->digits - 1, bias = (1 << (8 * dtype->bytes - dtype->digits - 1)) - 1;
    uint64_t sign = signbit(x) ? (uint64_t)1 << (8 * dtype->bytes - 1) : 0;
    uint64_t infinity = (uint64_t)(2 * bias + 1) << fraction;
    if (isnan(x))
        return infinity | (uint64_t)1 << (fraction - 1);
    if (isinf(x))
        return sign | infinity;
    if (x == 0)
        return sign;
    frexpl(fabsl(x), &exponent);
    if (--exponent < 1 - bias)
        exponent = 1 - bias; /* denormal: no hidden bit, the field is 0 */
    uint64_t significand = (uint64_t)nearbyintl(ldexpl(fabsl(x), fraction - exponent));
    if (exponent > bias)
        return sign | infinity;
    /* the hidden bit, or a carry, adds one to the field; beyond the largest number the sum is infinity */
    return sign | (((uint64_t)(exponent + bias - 1) << fraction) + significand);
}

/* The number as an integer in lo..hi; reported where it is none. */
static bool whole(tc_graph *g, tc_operand number, int64_t lo, int64_t hi, tc_dtype dtype, int64_t *out)
{
    bool real = number.kind == TC_OPERAND_FLOAT;
    /* 2^63 is the first double beyond int64 */
    bool fits = !real || (number.real >= -9223372036854775808.0 && number.real < 9223372036854775808.0);
    *out = !fits ? 0 : real ? (int64_t)number.real : number.integer;
    if (fits && (!real || (double)*out == number.real) && *out >= lo && *out <= hi)
        return true;
    if (real)
        tc_fail(g, "convert the tensor with tc_cast(x, TC_F32)", "the number %g has no value in %s", number.real,
                tc_dtype_name(dtype));
    else
        tc_fail(g, NULL, "the number %lld has no value in %s", (long long)number.integer, tc_dtype_name(dtype));
    return false;
}

tc_tensor tc_constant_of(tc_graph *g, tc_dtype dtype, tc_operand number)
{
    const tc_dtype_info *about = tc_dtype_about(dtype);
    if (about->kind == TC_KIND_FLOAT) {
        long double x = number.kind == TC_OPERAND_FLOAT ? (long double)number.real : (long double)number.integer;
        return tc_prim_constant(g, dtype, float_bits(about, x));
    }
    int64_t value, most = about->digits < 63 ? ((int64_t)1 << about->digits) - 1 : INT64_MAX;
    if (!whole(g, number, about->kind == TC_KIND_SIGNED ? -most - 1 : 0, most, dtype, &value))
        return tc_poison();
    return tc_prim_constant(g, dtype, (uint64_t)value & UINT64_MAX >> (64 - 8 * about->bytes));
}

tc_tensor tc_size_value(tc_graph *g, tc_dtype dtype, const tc_expr *size)
{
    int64_t constant;
    if (tc_expr_value(size, &constant))
        return tc_constant_of(g, dtype, tc_operand_int_(constant));
    tc_tensor value = tc_prim_dim_value(g, dtype == TC_I32 ? TC_I32 : TC_I64, size);
    return value->type.dtype == dtype ? value : tc_prim_cast(g, value, dtype);
}

tc_tensor tc_smallest(tc_graph *g, tc_dtype dtype)
{
    const tc_dtype_info *about = tc_dtype_about(dtype);
    if (about->kind == TC_KIND_FLOAT)
        return tc_constant_of(g, dtype, tc_operand_float_(-INFINITY));
    int64_t least = about->kind == TC_KIND_SIGNED ? INT64_MIN >> (63 - about->digits) : 0;
    return tc_constant_of(g, dtype, tc_operand_int_(least));
}
