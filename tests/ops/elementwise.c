/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations on [n, m] and their broadcasting forms.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512)
#define INPUT(name) tc_tensor name = tc_input(g, #name, FLOAT, n, m)

#define UNARY(f)                                                                                                      \
    TC_FUNCTION(op_##f)                                                                                               \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        INPUT(x);                                                                                                     \
        tc_output(g, "y", tc_##f(x));                                                                                 \
    }
#define BINARY(f)                                                                                                     \
    TC_FUNCTION(op_##f)                                                                                               \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        INPUT(a);                                                                                                     \
        INPUT(b);                                                                                                     \
        tc_output(g, "y", tc_##f(a, b));                                                                              \
    }
#define POWER(label, exponent)                                                                                        \
    TC_FUNCTION(op_pow_##label)                                                                                       \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        INPUT(x);                                                                                                     \
        tc_output(g, "y", tc_pow(x, exponent));                                                                       \
    }

TC_MODEL(elementwise)
{
}

UNARY(neg)
UNARY(abs)
UNARY(exp)
UNARY(log)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(floor)
UNARY(tanh)
UNARY(erf)
UNARY(relu)
UNARY(sigmoid)
UNARY(silu)
UNARY(gelu)
UNARY(gelu_tanh)
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(maximum)
BINARY(minimum)
BINARY(eq)
BINARY(ne)
BINARY(lt)
BINARY(le)
BINARY(gt)
BINARY(ge)
POWER(2, 2)
POWER(3, 3)
POWER(m1, -1)
POWER(half, 0.5)
POWER(m3half, -1.5)
POWER(2p2, 2.2)

TC_FUNCTION(op_leaky_relu)
{
    SIZES;
    INPUT(x);
    tc_output(g, "y", tc_leaky_relu(x, 0.1));
}

TC_FUNCTION(op_clamp)
{
    SIZES;
    INPUT(x);
    tc_output(g, "y", tc_clamp(x, -0.5, 1.25));
}

TC_FUNCTION(op_where)
{
    SIZES;
    INPUT(a);
    INPUT(b);
    tc_output(g, "y", tc_where(tc_gt(a, b), a, tc_mul(b, 2)));
}

TC_FUNCTION(op_logical)
{
    SIZES;
    INPUT(a);
    INPUT(b);
    tc_tensor p = tc_gt(a, 0), q = tc_lt(b, 0);
    tc_output(g, "both", tc_logical_and(p, q));
    tc_output(g, "either", tc_logical_or(p, q));
    tc_output(g, "one", tc_logical_xor(p, q));
    tc_output(g, "none", tc_logical_not(tc_logical_or(p, q)));
}

TC_FUNCTION(op_broadcast)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m);
    tc_tensor row = tc_input(g, "row", FLOAT, m);
    tc_tensor column = tc_input(g, "column", FLOAT, n, 1);
    tc_tensor scalar = tc_input(g, "scalar", FLOAT);
    tc_output(g, "rows", tc_add(x, row));
    tc_output(g, "columns", tc_mul(x, column));
    tc_output(g, "outer", tc_sub(column, row));
    tc_output(g, "scaled", tc_div(x, scalar));
    tc_output(g, "number", tc_sub(1.5, x));
}

TC_FUNCTION(op_cast)
{
    SIZES;
    INPUT(x);
    tc_output(g, "i32", tc_cast(x, TC_I32));
    tc_output(g, "i64", tc_cast(x, TC_I64));
    tc_output(g, "boolean", tc_cast(x, TC_BOOL));
    tc_output(g, "back", tc_cast(tc_cast(x, TC_I32), FLOAT));
}

/* A chain of many operations on two inputs: one kernel. */
TC_FUNCTION(op_chain)
{
    SIZES;
    INPUT(a);
    INPUT(b);
    tc_tensor s = tc_add(a, b);
    tc_tensor t = tc_mul(tc_sigmoid(s), tc_sub(a, tc_tanh(b)));
    tc_output(g, "y", tc_maximum(tc_add(tc_mul(t, t), s), -1));
    tc_output(g, "z", tc_exp(tc_minimum(t, 2)));
}
