/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions of [a, b, c] over every set of axes, and the normalizations made of them.
 */
#include <math.h>

#include <tensor_compile/model.h>

#include "float.h"

#define SIZES(lo)                                                                                                     \
    tc_dim a = tc_dynamic(g, "a", lo, 16), b = tc_dynamic(g, "b", lo, 64), c = tc_dynamic(g, "c", lo, 10000)

#define SUMS(label, ...)                                                                                              \
    TC_FUNCTION(op_sum_##label)                                                                                       \
    {                                                                                                                 \
        SIZES(0);                                                                                                     \
        tc_output(g, "y", tc_sum(tc_input(g, "x", FLOAT, a, b, c), __VA_ARGS__));                                    \
    }
#define EXTREMES(label, ...)                                                                                          \
    TC_FUNCTION(op_extremes_##label)                                                                                  \
    {                                                                                                                 \
        tc_dim a = tc_dynamic(g, "a1", 1, 16), b = tc_dynamic(g, "b1", 1, 64), c = tc_dynamic(g, "c1", 1, 10000);     \
        tc_tensor x = tc_input(g, "x", FLOAT, a, b, c);                                                              \
        tc_output(g, "largest", tc_amax(x, __VA_ARGS__));                                                             \
        tc_output(g, "smallest", tc_amin(x, __VA_ARGS__));                                                            \
        tc_output(g, "mean", tc_mean(x, __VA_ARGS__));                                                                \
        tc_output(g, "variance", tc_var(x, __VA_ARGS__));                                                             \
    }
#define ARGUMENTS(axis)                                                                                               \
    TC_FUNCTION(op_argmax_##axis)                                                                                     \
    {                                                                                                                 \
        tc_dim a = tc_dynamic(g, "a1", 1, 16), b = tc_dynamic(g, "b1", 1, 64), c = tc_dynamic(g, "c1", 1, 10000);     \
        tc_tensor x = tc_input(g, "x", FLOAT, a, b, c);                                                              \
        tc_output(g, "first", tc_argmax(x, axis));                                                                    \
        tc_output(g, "last", tc_argmin(x, axis));                                                                     \
    }

TC_MODEL(reductions)
{
}

SUMS(0, 0)
SUMS(1, 1)
SUMS(2, 2)
SUMS(01, 0, 1)
SUMS(02, 0, 2)
SUMS(12, 1, 2)
SUMS(012, 0, 1, 2)
EXTREMES(0, 0)
EXTREMES(2, 2)
EXTREMES(02, 0, 2)
EXTREMES(12, 1, 2)
ARGUMENTS(0)
ARGUMENTS(1)
ARGUMENTS(2)

#define ROWS                                                                                                          \
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 1, 10000);                                           \
    tc_tensor x = tc_input(g, "x", FLOAT, n, m)

TC_FUNCTION(op_softmax)
{
    ROWS;
    tc_output(g, "y", tc_softmax(x, -1));
}

TC_FUNCTION(op_softmax_columns)
{
    tc_dim n = tc_dynamic(g, "n1", 1, 64), m = tc_dynamic(g, "m", 1, 10000);
    tc_output(g, "y", tc_softmax(tc_input(g, "x", FLOAT, n, m), 0));
}

TC_FUNCTION(op_log_softmax)
{
    ROWS;
    tc_output(g, "y", tc_log_softmax(x, 1));
}

TC_FUNCTION(op_layer_norm)
{
    ROWS;
    tc_tensor weight = tc_input(g, "weight", FLOAT, m), bias = tc_input(g, "bias", FLOAT, m);
    tc_tensor mean, inverse;
    tc_output(g, "y", tc_layer_norm(x, weight, bias, .eps = 1e-5, .mean = &mean, .inverse = &inverse));
    tc_output(g, "mean", mean);
    tc_output(g, "inverse", inverse);
}

TC_FUNCTION(op_rms_norm)
{
    ROWS;
    tc_tensor weight = tc_input(g, "weight", FLOAT, m);
    tc_output(g, "y", tc_rms_norm(x, weight, .eps = 1e-6));
}

/* Producers and consumers round a normalization, as in the KERNELS of encoders: gelu(layer_norm(x + r)) * s. */
TC_FUNCTION(op_norm_chain)
{
    ROWS;
    tc_tensor r = tc_input(g, "r", FLOAT, n, m), s = tc_input(g, "s", FLOAT, n, m);
    tc_tensor weight = tc_input(g, "weight", FLOAT, m), bias = tc_input(g, "bias", FLOAT, m);
    tc_tensor sum = tc_add(x, r);
    tc_output(g, "sum", sum);
    tc_output(g, "y", tc_mul(tc_gelu(tc_layer_norm(sum, weight, bias)), s));
}

/* A normalization that no library names: by the largest magnitude, then shifted by the mean of squares. */
TC_FUNCTION(op_invented_norm)
{
    ROWS;
    tc_tensor scaled = tc_div(x, tc_add(tc_amax_keepdims(tc_abs(x), 1), 1));
    tc_output(g, "y", tc_sub(tc_exp(scaled), tc_mean_keepdims(tc_mul(scaled, scaled), 1)));
}

/* Where the predicate is false stands NaN, which must not be seen. */
#define TERMS                                                                                                         \
    ROWS;                                                                                                             \
    tc_tensor p = tc_gt(tc_input(g, "r", FLOAT, n, m), 0.5);                                                          \
    tc_tensor holes = tc_where(p, x, NAN)

TC_FUNCTION(op_where_rows)
{
    TERMS;
    tc_output(g, "sum", tc_sum_where(holes, p, 1));
    tc_output(g, "mean", tc_mean_where_keepdims(holes, p, 1));
    tc_output(g, "largest", tc_amax_where(holes, p, 1));
    tc_output(g, "smallest", tc_amin_where(holes, p, 1));
    tc_output(g, "any", tc_any_where(tc_gt(x, 2), p, 1));
    tc_output(g, "all", tc_all_where(tc_lt(x, 2), p, 1));
}

TC_FUNCTION(op_where_columns)
{
    TERMS;
    tc_output(g, "sum", tc_sum_where(holes, p, 0));
    tc_output(g, "product", tc_prod_where(holes, p, 0));
    tc_tensor lengths = tc_unsqueeze(tc_lt(tc_arange(g, TC_I64, n), 3), 1);
    tc_output(g, "first", tc_sum_where(tc_cast(tc_mul(x, 4), TC_I64), lengths, 0, 1));
}

TC_FUNCTION(op_where_softmax)
{
    TERMS;
    tc_output(g, "y", tc_softmax_where(holes, p, 1));
}
