/* SPDX-License-Identifier: Apache-2.0
 *
 * Places in several axes at once; elements whose number is data.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(selecting)
{
}

#define PLANE tc_dim n = tc_dynamic(g, "n", 1, 60), m = tc_dynamic(g, "m", 1, 60)
#define SPACE PLANE, i = tc_dynamic(g, "i", 0, 100)

/* Places below n of axes that are not smaller, and from the end. */
TC_FUNCTION(op_nd)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, n, m), a = tc_input(g, "a", TC_I64, i, 2), b = tc_input(g, "b", TC_I32, n, 2, 1);
    tc_output(g, "rows", tc_gather_nd(x, a, 0));
    tc_output(g, "batch", tc_gather_nd(x, b, 1));
    tc_output(g, "from_end", tc_gather_nd(x, tc_from_end(tc_sub(a, tc_dim_value(g, TC_I64, n)), n, n), 0));
    tc_tensor y = tc_input(g, "y", FLOAT, n, n), u = tc_input(g, "u", FLOAT, i);
    tc_output(g, "set", tc_scatter_nd(y, a, u));
    tc_output(g, "added", tc_scatter_nd_add(y, a, u));
    tc_output(g, "times", tc_scatter_nd_mul(y, a, u));
    tc_output(g, "most", tc_scatter_nd_max(y, a, u));
    tc_output(g, "least", tc_scatter_nd_min(y, a, u));
}

TC_FUNCTION(op_caches)
{
    SPACE;
    tc_dim more = tc_dim_add(n, m);
    tc_tensor x = tc_input(g, "x", FLOAT, 3, 2, more, 4), y = tc_input(g, "y", FLOAT, 3, 2, m, 4);
    tc_tensor start = tc_input(g, "start", TC_I64, 3), z = tc_input(g, "z", FLOAT, 3, m);
    tc_output(g, "prefix", tc_tensor_scatter(x, y, NULL, -2, false));
    tc_output(g, "around", tc_tensor_scatter(x, y, start, -2, true));
    tc_output(g, "linear", tc_tensor_scatter(tc_full(g, 1, FLOAT, 3, more), z,
                                             tc_clamp(start, 0, tc_dim_value(g, TC_I64, n)), 1, false));
    tc_tensor hot = tc_input(g, "hot", TC_I64, i), values = tc_input(g, "values", FLOAT, 2);
    tc_output(g, "one_hot", tc_one_hot_values(tc_sub(tc_clamp(hot, 0, tc_sub(tc_dim_value(g, TC_I64, n), 1)), 2), n, values, 0));
    tc_output(g, "last", tc_one_hot_values(hot, n, values, -1));
}

TC_FUNCTION(op_compress)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), mask = tc_gt(tc_select(x, 1, 0), 0.25);
    tc_output(g, "rows", tc_compress(x, mask, 0, n, -1));
    tc_output(g, "few", tc_compress(x, mask, 0, tc_dim_min(n, 2), 0.5));
    tc_output(g, "all", tc_compress(tc_reshape(x, -1), tc_lt(tc_reshape(x, -1), 0), 0, tc_dim_mul(n, m), 0));
    tc_output(g, "count", tc_count_nonzero(mask));
    tc_output(g, "shorter", tc_compress(x, tc_input(g, "p", TC_BOOL, 1), 0, 1, 0));
}

/* Few different numbers; NaN and both zeros among them where inputs are any patterns. */
TC_FUNCTION(op_unique)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), few = tc_round(x), first, inverse, counts, count;
    tc_output(g, "sorted", tc_unique(few, .first = &first, .inverse = &inverse, .counts = &counts, .count = &count));
    tc_output(g, "sorted_first", first);
    tc_output(g, "sorted_inverse", inverse);
    tc_output(g, "sorted_counts", counts);
    tc_output(g, "sorted_count", count);
    tc_output(g, "unsorted", tc_unique(few, .unsorted = true, TC_SIZES(1), .first = &first, .inverse = &inverse,
                                       .counts = &counts));
    tc_output(g, "unsorted_first", first);
    tc_output(g, "unsorted_inverse", inverse);
    tc_output(g, "unsorted_counts", counts);
}

TC_FUNCTION(op_unique_slices)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", TC_I32, m, n, 2), few = tc_sign(tc_shift_right(x, 9)), first, inverse, counts, count;
    tc_output(g, "sorted", tc_unique(few, .along = true, .axis = 1, .first = &first, .inverse = &inverse,
                                     .counts = &counts, .count = &count));
    tc_output(g, "first", first);
    tc_output(g, "inverse", inverse);
    tc_output(g, "counts", counts);
    tc_output(g, "count", count);
    tc_tensor y = tc_slice(few, 0, 0, 1);
    tc_output(g, "unsorted", tc_unique(y, .along = true, .axis = 1, .unsorted = true));
}
