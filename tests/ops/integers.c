/* SPDX-License-Identifier: Apache-2.0
 *
 * The integer and bool operations on [n, m].
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512)

#define ARITHMETIC(type, dtype)                                                                                       \
    TC_FUNCTION(op_arithmetic_##type)                                                                                 \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m);                               \
        tc_output(g, "add", tc_add(a, b));                                                                            \
        tc_output(g, "sub", tc_sub(a, b));                                                                            \
        tc_output(g, "mul", tc_mul(a, b));                                                                            \
        tc_output(g, "div", tc_div(a, b));                                                                            \
        tc_output(g, "largest", tc_maximum(a, b));                                                                    \
        tc_output(g, "smallest", tc_minimum(a, b));                                                                   \
        tc_output(g, "opposite", tc_neg(a));                                                                          \
        tc_output(g, "magnitude", tc_abs(b));                                                                         \
        tc_output(g, "cube", tc_pow(a, 3));                                                                           \
    }                                                                                                                 \
    TC_FUNCTION(op_compare_##type)                                                                                    \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m);                               \
        tc_output(g, "equal", tc_eq(a, b));                                                                           \
        tc_output(g, "less", tc_lt(a, b));                                                                            \
        tc_output(g, "least", tc_le(a, b));                                                                           \
        tc_output(g, "chosen", tc_where(tc_gt(a, 0), a, b));                                                          \
        tc_output(g, "floats", tc_cast(a, TC_F32));                                                                   \
        tc_output(g, "booleans", tc_cast(b, TC_BOOL));                                                                \
    }                                                                                                                 \
    TC_FUNCTION(op_reduce_##type)                                                                                     \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m);                                                                  \
        tc_output(g, "rows", tc_sum(a, 1));                                                                           \
        tc_output(g, "columns", tc_sum(a, 0));                                                                        \
        tc_output(g, "all", tc_sum(a));                                                                               \
    }

TC_MODEL(integers)
{
}

ARITHMETIC(i32, TC_I32)
ARITHMETIC(i64, TC_I64)

TC_FUNCTION(op_narrow)
{
    SIZES;
    tc_tensor a = tc_input(g, "a", TC_I64, n, m);
    tc_output(g, "narrow", tc_cast(a, TC_I32));
    tc_output(g, "wide", tc_cast(tc_cast(a, TC_I32), TC_I64));
}

TC_FUNCTION(op_bool)
{
    SIZES;
    tc_tensor p = tc_input(g, "p", TC_BOOL, n, m);
    tc_output(g, "any", tc_any(p, 1));
    tc_output(g, "all", tc_all(p, 0));
    tc_output(g, "numbers", tc_cast(p, TC_I32));
    tc_output(g, "floats", tc_cast(p, TC_F32));
    tc_output(g, "same", tc_eq(p, tc_logical_not(p)));
}

TC_FUNCTION(op_arange)
{
    SIZES;
    tc_output(g, "columns", tc_expand(tc_arange(g, TC_I64, m), n, m));
    tc_output(g, "steps", tc_arange_step(g, TC_I32, 5, tc_dim_add(n, 5), 2));
    tc_output(g, "floats", tc_arange(g, TC_F32, m));
    tc_output(g, "full", tc_full(g, -3, TC_I32, n, 2));
    tc_output(g, "size", tc_dim_value(g, TC_I64, tc_dim_mul(n, m)));
}
