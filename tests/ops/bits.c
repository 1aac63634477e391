/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits, shifts and remainders of integers on [n, m].
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512)

#define INTEGERS(type, dtype)                                                                                         \
    TC_FUNCTION(op_bits_##type)                                                                                       \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m);                               \
        tc_output(g, "both", tc_bit_and(a, b));                                                                       \
        tc_output(g, "either", tc_bit_or(a, 0xf0));                                                                   \
        tc_output(g, "one", tc_bit_xor(a, b));                                                                        \
        tc_output(g, "other", tc_bit_not(a));                                                                         \
    }                                                                                                                 \
    TC_FUNCTION(op_shifts_##type)                                                                                     \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), places = tc_input(g, "places", dtype, n, m);                     \
        tc_output(g, "left", tc_shift_left(a, places));                                                               \
        tc_output(g, "right", tc_shift_right(a, places));                                                             \
        tc_output(g, "nine", tc_shift_right(a, 9));                                                                   \
    }                                                                                                                 \
    TC_FUNCTION(op_remainders_##type)                                                                                 \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m);                               \
        tc_output(g, "rem", tc_rem(a, b));                                                                            \
        tc_output(g, "remainder", tc_remainder(a, b));                                                                \
        tc_output(g, "floor", tc_floor_divide(a, b));                                                                 \
        tc_output(g, "sevens", tc_remainder(a, 7));                                                                   \
        tc_output(g, "sign", tc_sign(a));                                                                             \
    }

TC_MODEL(bits)
{
}

INTEGERS(i32, TC_I32)
INTEGERS(i64, TC_I64)
