/* SPDX-License-Identifier: Apache-2.0
 *
 * Axes of size 1, by declaration and by specialization; and reductions over axes that a view repeats or that their
 * operand reduces as well: one variable of a loop, two meanings.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SPACE tc_dim n = tc_dynamic(g, "n", 1, 40), m = tc_dynamic(g, "m", 1, 40)

TC_MODEL(unit_axes)
{
}

TC_FUNCTION(op_first_of_sorted)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), place;
    tc_output(g, "most", tc_topk(x, 1, 1, true, &place));
    tc_output(g, "most_place", place);
    tc_output(g, "least", tc_kthvalue(x, 1, 1, &place));
    tc_output(g, "least_place", place);
    tc_output(g, "found", tc_nonzero_static(tc_gt(x, 0.5), 1, -1));
}

TC_FUNCTION(op_sort_of_one)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 1, m), up, middle;
    tc_output(g, "y", tc_sort(x, 1, true, &up));
    tc_output(g, "up", up);
    tc_output(g, "order", tc_argsort(x, 1, false));
    tc_output(g, "median", tc_median(x, 1, &middle));
    tc_output(g, "middle", middle);
    tc_output(g, "sums", tc_cumsum(x, 1));
    tc_output(g, "arg", tc_argmax(x, 1));
}

/* n is specialized to 1. */
TC_FUNCTION(op_sort_columns)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 2, m), i = tc_input(g, "i", TC_I8, n, 2, m), places;
    tc_output(g, "y", tc_sort(x, 0, false, &places));
    tc_output(g, "places", places);
    tc_output(g, "order", tc_argsort(i, 0, true));
}

TC_FUNCTION(op_products)
{
    SPACE;
    tc_tensor one = tc_input(g, "one", FLOAT, 1, 4, 5), x = tc_input(g, "x", FLOAT, n, 2, m);
    tc_output(g, "rows", tc_einsum("abc,adc->bd", one, one));
    tc_output(g, "all", tc_einsum("abc,abc->", one, one));
    tc_output(g, "grams", tc_einsum("abc,adc->bd", x, x));
    tc_tensor w = tc_input(g, "w", FLOAT, 2, m, 24);
    tc_output(g, "wide", tc_einsum("abc,bcd->ad", x, w));
    tc_output(g, "turned", tc_einsum("abc,bcd->da", x, w));
    tc_output(g, "outer", tc_einsum("ab,ac->bc", tc_input(g, "u", FLOAT, 1, 3), tc_input(g, "v", FLOAT, 1, 20)));
}

/* Operands that are known at build time without a weight among them. */
TC_FUNCTION(op_known_products)
{
    SPACE;
    tc_tensor ramp = tc_reshape(tc_linspace(g, FLOAT, 0, 1, 128), 4, 32);
    tc_tensor waves = tc_reshape(tc_sin(tc_arange(g, FLOAT, 256)), 32, 8);
    tc_output(g, "y", tc_add(tc_input(g, "x", FLOAT, m, 8), tc_sum(tc_matmul(ramp, waves), 0)));
    tc_tensor image = tc_reshape(tc_linspace(g, FLOAT, -1, 1, 72), 1, 2, 6, 6);
    tc_output(g, "z", tc_conv2d(image, tc_reshape(tc_linspace(g, FLOAT, 0, 1, 54), 3, 2, 3, 3)));
    tc_output(g, "ranks", tc_matmul(tc_reshape(tc_arange(g, FLOAT, 6), 2, 3), tc_input(g, "w", FLOAT, 3, m)));
}

TC_FUNCTION(op_tiled)
{
    SPACE;
    tc_tensor t = tc_tile(tc_input(g, "x", FLOAT, 4, m), 2, 2), least;
    tc_output(g, "shares", tc_softmax(t, 0));
    tc_tensor logs = tc_log_softmax(t, 0);
    tc_output(g, "logs", logs);
    tc_output(g, "most", tc_cumulative_max(logs, 0));
    tc_output(g, "sums", tc_cumsum(t, 0));
    tc_output(g, "logsumexp", tc_logsumexp(t, 0));
    tc_output(g, "var", tc_var(t, 0));
    tc_tensor d = tc_tile(tc_diag(tc_input(g, "d", FLOAT, n), 0), 2, 2);
    tc_output(g, "diagonal", tc_log_softmax(d, 0));
    tc_output(g, "diagonals", tc_cumsum(d, 0));
    tc_output(g, "ends", tc_cummin(d, 0, &least));
    tc_output(g, "least", least);
}

/* The sum of a column of what is itself such a sum. */
TC_FUNCTION(op_sums_of_sums)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, 6, m), z = tc_input(g, "z", FLOAT, 6, m), sums = tc_sum(x, 0);
    tc_output(g, "backwards", tc_neg(tc_flip(sums, 0)));
    tc_output(g, "weighted", tc_sum(tc_mul(sums, z), 0));
    tc_output(g, "rows", tc_add(tc_input(g, "r", FLOAT, n, 1), 1));
}

/* Half of a size that may be 0: the guard says that it is not. */
TC_FUNCTION(op_median_of_some)
{
    tc_dim k = tc_dynamic(g, "k", 0, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, k), place;
    tc_output(g, "y", tc_median(x, 0, &place));
    tc_output(g, "place", place);
}

/* Sums in which x is walked by the sum, and by the point, as often: and a kernel over no elements. */
TC_FUNCTION(op_walked_twice)
{
    tc_tensor x = tc_input(g, "x", FLOAT, 8), w = tc_input(g, "w", FLOAT, 8, 8), v = tc_input(g, "v", FLOAT, 8, 8);
    tc_output(g, "a", tc_sum(tc_mul(tc_unsqueeze(x, 1), w), 0));
    tc_output(g, "b", tc_amax(tc_mul(x, v), 0));
    tc_output(g, "c", tc_amax(tc_mul(tc_unsqueeze(x, 1), v), 0));
    tc_tensor none = tc_add(tc_input(g, "none", FLOAT, 0, 4, 3), 1);
    tc_tensor centered = tc_sub(none, tc_mean_keepdims(none, 1));
    tc_output(g, "scaled", tc_mul(centered, tc_rsqrt(tc_var_keepdims(none, 1))));
    tc_output(g, "none_plus", none);
}

/* Moving no elements: into a padding, and by a transposition. */
TC_FUNCTION(op_nothing_moved)
{
    SPACE;
    tc_tensor none = tc_input(g, "none", FLOAT, 2, 0), deep = tc_input(g, "deep", FLOAT, m, 1, 0);
    tc_output(g, "padded", tc_pad_axis(tc_tile(none, 3, 3), 1, 2, 0, 0));
    tc_output(g, "turned", tc_permute(deep, 2, 0, 1));
}

/* One row by a matrix that is no constant, whose last panel of columns is not whole. */
TC_FUNCTION(op_row_by_columns)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, m, m);
    tc_output(g, "y", tc_einsum("ab,bc->c", x, x));
}

/* Rows stored backwards by a kernel whose points are counted in one run, as another store needs them. */
TC_FUNCTION(op_rows_backwards)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, 1, n, m), i = tc_input(g, "i", TC_I64, 1, n, m);
    tc_tensor taken = tc_take_along(x, i, 1);
    tc_output(g, "flipped", tc_flip(taken, 1));
    tc_output(g, "whole", tc_cast(taken, TC_I64));
}

/* Elements taken from nothing, sorted and multiplied: kernels that have no iteration. */
TC_FUNCTION(op_nothing_taken)
{
    SPACE;
    tc_tensor none = tc_input(g, "none", FLOAT, 2, 0), i = tc_input(g, "i", TC_I64, 2, 0);
    tc_tensor deep = tc_input(g, "deep", FLOAT, 0, m, 7);
    tc_output(g, "taken", tc_permute(tc_add(tc_take_along(none, i, 0), tc_input(g, "one", FLOAT, 1)), 1, 0));
    tc_output(g, "soft", tc_softmax(deep, 2));
    tc_output(g, "sorted", tc_sort(deep, 2, true, NULL));
    tc_output(g, "product", tc_matmul(deep, tc_transpose(deep, 1, 2)));
    tc_output(g, "sum", tc_sum(tc_take_along(none, i, 0), 1));
}
