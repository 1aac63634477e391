/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefixes, sorting, the largest few.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SPACE tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 5000)
#define INPUT(dtype) tc_tensor x = tc_input(g, "x", dtype, n, 2, m)

TC_MODEL(ordering)
{
}

#define PREFIXES(axis)                                                                                                \
    TC_FUNCTION(op_prefixes_##axis)                                                                                   \
    {                                                                                                                 \
        SPACE;                                                                                                        \
        INPUT(FLOAT);                                                                                                \
        tc_output(g, "sums", tc_cumsum(x, axis));                                                                     \
        tc_output(g, "products", tc_cumprod(x, axis));                                                                \
        tc_output(g, "backwards", tc_cumsum_reverse(x, axis));                                                        \
        tc_output(g, "least", tc_cumulative_min(x, axis));                                                            \
    }
PREFIXES(0)
PREFIXES(1)
PREFIXES(2)

TC_FUNCTION(op_prefix_integers)
{
    SPACE;
    INPUT(TC_I64);
    tc_output(g, "sums", tc_cumsum(x, 2));
    tc_output(g, "products", tc_cumprod(x, 0));
    tc_output(g, "most", tc_cumulative_max(x, 2));
}

TC_FUNCTION(op_cummax)
{
    SPACE;
    INPUT(FLOAT);
    tc_tensor places, low;
    tc_output(g, "y", tc_cummax(x, 2, &places));
    tc_output(g, "places", places);
    tc_output(g, "z", tc_cummin(x, 0, &low));
    tc_output(g, "low", low);
}

TC_FUNCTION(op_logcumsumexp)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m1", 1, 5000);
    tc_tensor x = tc_input(g, "x", FLOAT, n, m);
    tc_output(g, "y", tc_logcumsumexp(x, 1));
    tc_output(g, "steep", tc_logcumsumexp(tc_mul(x, 300), 0));
}

/* A row that is accumulated between what makes it and what reads it: one kernel. */
TC_FUNCTION(op_cumulative_share)
{
    SPACE;
    tc_tensor x = tc_exp(tc_input(g, "x", FLOAT, n, m));
    tc_output(g, "y", tc_mul(tc_div(tc_cumsum(x, 1), tc_sum_keepdims(x, 1)), 2));
}

TC_FUNCTION(op_sort)
{
    SPACE;
    INPUT(FLOAT);
    tc_tensor up, down;
    tc_output(g, "y", tc_sort(x, -1, false, &up));
    tc_output(g, "up", up);
    tc_output(g, "z", tc_sort(x, 0, true, &down));
    tc_output(g, "down", down);
}

TC_FUNCTION(op_sort_integers)
{
    SPACE;
    tc_tensor i = tc_input(g, "i", TC_I32, n, m), j = tc_input(g, "j", TC_I64, n, m), b = tc_input(g, "b", TC_BOOL, n, m);
    tc_output(g, "i_sorted", tc_sort(i, 1, true, NULL));
    tc_output(g, "j_sorted", tc_sort(j, 1, false, NULL));
    tc_output(g, "b_places", tc_argsort(b, 1, true));
    tc_output(g, "j_places", tc_argsort(j, 0, true));
}

TC_FUNCTION(op_topk)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m3", 3, 60000);
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), places, least;
    tc_output(g, "y", tc_topk(x, 3, 1, true, &places));
    tc_output(g, "places", places);
    tc_output(g, "z", tc_mul(tc_topk(tc_exp(x), 2, 1, false, &least), 2));
    tc_output(g, "least", least);
    /* the place does not change from row to row, but is not known before the sort */
    tc_output(g, "alone", tc_topk(tc_input(g, "one", FLOAT, 1), 1, 0, true, NULL));
}

TC_FUNCTION(op_median)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m3", 3, 60000);
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), place;
    tc_output(g, "median", tc_median(x, 1, &place));
    tc_output(g, "place", place);
    tc_output(g, "third", tc_kthvalue(x, 3, 1, &place));
    tc_output(g, "third_place", place);
}

TC_FUNCTION(op_searchsorted)
{
    SPACE;
    tc_tensor sorted = tc_input(g, "sorted", FLOAT, n), values = tc_input(g, "values", FLOAT, m);
    tc_output(g, "left", tc_searchsorted(sorted, values, false));
    tc_output(g, "right", tc_bucketize(values, sorted, true));
    tc_tensor rows = tc_cumsum(tc_exp(tc_input(g, "rows", FLOAT, n, 4)), 1), marks = tc_input(g, "marks", FLOAT, n, m);
    tc_output(g, "each", tc_searchsorted(rows, marks, true));
}
