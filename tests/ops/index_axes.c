/* SPDX-License-Identifier: Apache-2.0
 *
 * Indices of any axes, reductions at indices, masks and counts.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(index_axes)
{
}

/* i indices of an axis of n, rows of m. */
#define SPACE                                                                                                         \
    tc_dim n = tc_dynamic(g, "n", 1, 60), m = tc_dynamic(g, "m", 1, 60), i = tc_dynamic(g, "i", 0, 100)

/* Side by side behind an axis that has none, and with one between them. */
TC_FUNCTION(op_later_axes)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, 3, n, 5, m), a = tc_input(g, "a", TC_I64, i, 1), b = tc_input(g, "b", TC_I32, 2);
    tc_tensor u = tc_input(g, "u", FLOAT, i, 2, m), v = tc_input(g, "v", FLOAT, 5, m);
    tc_output(g, "read", tc_index(x, NULL, a, b));
    tc_output(g, "apart", tc_index(x, b, NULL, a));
    tc_output(g, "put", tc_index_put(x, u, false, NULL, a, b));
    tc_output(g, "added", tc_index_put(x, v, true, tc_reshape(b, 1, 2), a, NULL));
    tc_output(g, "gaps", tc_index_put(x, tc_slice(v, 0, 0, 1), true, b, NULL, b));
}

TC_FUNCTION(op_slices)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), index = tc_input(g, "index", TC_I64, i);
    tc_tensor u = tc_input(g, "u", FLOAT, i, m);
    tc_output(g, "filled", tc_index_fill(x, 0, index, 0.25));
    tc_output(g, "product", tc_index_mul(x, 0, index, u));
    tc_output(g, "most", tc_index_max(x, 0, index, u));
    tc_output(g, "taken", tc_take(x, tc_mul(tc_unsqueeze(index, 1), tc_dim_value(g, TC_I64, m))));
}

TC_FUNCTION(op_reduce)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), index = tc_input(g, "index", TC_I32, i, m);
    tc_tensor u = tc_input(g, "u", FLOAT, i, m), counts = tc_input(g, "counts", TC_I32, i, m);
    tc_output(g, "mean", tc_scatter_reduce(x, index, u, 0, "mean", true));
    tc_output(g, "mean_of_values", tc_scatter_reduce(x, index, u, 0, "mean", false));
    tc_output(g, "product", tc_scatter_reduce(x, index, u, 0, "prod", false));
    tc_output(g, "least", tc_scatter_reduce(x, index, u, 0, "amin", false));
    tc_output(g, "whole", tc_scatter_reduce(tc_full(g, 7, TC_I32, n, m), index, counts, 0, "mean", true));
}

TC_FUNCTION(op_masks)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), index = tc_input(g, "index", TC_I64, i), above = tc_gt(x, 0.5);
    tc_output(g, "scattered", tc_masked_scatter(x, above, tc_reshape(tc_exp(x), -1)));
    tc_output(g, "places", tc_nonzero_static(above, tc_dim_mul(n, m), -1));
    tc_output(g, "counts", tc_bincount(index, n));
    tc_output(g, "histogram", tc_histc(x, 8, -1, 2));
}

/* Groups of rows, some of them empty, and rows behind the last one. */
TC_FUNCTION(op_groups)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), matrices = tc_input(g, "matrices", FLOAT, 5, m, 6);
    tc_tensor ends = tc_cumsum(tc_input(g, "sizes", TC_I32, 5), 0), rows = tc_dim_value(g, TC_I64, n);
    ends = tc_minimum(ends, tc_cast(rows, TC_I32));
    tc_output(g, "products", tc_grouped_mm(x, matrices, ends));
    tc_tensor many = tc_input(g, "many", FLOAT, 40, m), long_ends = tc_mul(tc_cast(ends, TC_I64), 5);
    tc_output(g, "long_ends", tc_grouped_mm(many, matrices, long_ends));
}
