/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes at indices that are data.
 */
#include <tensor_compile/model.h>

TC_MODEL(indexing)
{
}

/* i indices of an axis of n, rows of m. */
#define SPACE                                                                                                         \
    tc_dim n = tc_dynamic(g, "n", 1, 300), m = tc_dynamic(g, "m", 0, 300), i = tc_dynamic(g, "i", 0, 2000)

#define SCATTERS(axis, ...)                                                                                           \
    TC_FUNCTION(op_index_add_##axis)                                                                                  \
    {                                                                                                                 \
        SPACE;                                                                                                        \
        tc_tensor index = tc_input(g, "index", TC_I32, i);                                                            \
        tc_tensor u = tc_input(g, "u", TC_F32, __VA_ARGS__);                                                          \
        tc_tensor x = axis ? tc_input(g, "x", TC_F32, m, n) : tc_input(g, "x", TC_F32, n, m);                         \
        tc_output(g, "sum", tc_index_add(x, axis, index, u));                                                         \
        tc_output(g, "copy", tc_neg(tc_index_copy(tc_exp(x), axis, index, tc_mul(u, 2))));                            \
    }
SCATTERS(0, i, m)
SCATTERS(1, m, i)

TC_FUNCTION(op_take_along)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, 3, n, m), index = tc_input(g, "index", TC_I64, 2, i, m);
    tc_tensor row = tc_input(g, "row", TC_F32, n), places = tc_input(g, "places", TC_I32, i);
    tc_output(g, "y", tc_take_along(x, index, 1));
    tc_output(g, "z", tc_take_along(row, places, 0));
}

TC_FUNCTION(op_scatter_along)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m), index = tc_input(g, "index", TC_I64, i, m);
    tc_tensor u = tc_input(g, "u", TC_F32, i, m);
    tc_output(g, "sum", tc_scatter_add(x, index, u, 0));
    tc_output(g, "most", tc_scatter_max(x, index, u, 0));
    tc_output(g, "least", tc_scatter_min(x, index, u, 0));
    tc_output(g, "last", tc_scatter(x, index, u, 0));
}

TC_FUNCTION(op_histogram)
{
    SPACE;
    tc_tensor index = tc_input(g, "index", TC_I64, i), ones = tc_full(g, 1, TC_I32, i);
    tc_output(g, "counts", tc_scatter_add(tc_full(g, 0, TC_I32, n), index, ones, 0));
    tc_output(g, "size", tc_full(g, 1.5, TC_F32, m));
}

TC_FUNCTION(op_index_put)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 7, m), a = tc_input(g, "a", TC_I64, i, 1), b = tc_input(g, "b", TC_I32, 3);
    tc_tensor u = tc_input(g, "u", TC_F32, m);
    tc_output(g, "read", tc_index(x, a, b));
    tc_output(g, "sum", tc_index_put(x, u, true, a, b));
    tc_output(g, "put", tc_index_put(x, u, false, a));
}

TC_FUNCTION(op_one_hot)
{
    SPACE;
    tc_tensor index = tc_input(g, "index", TC_I64, i), x = tc_input(g, "x", TC_F32, m);
    tc_output(g, "y", tc_one_hot(index, n, TC_F32));
    tc_output(g, "filled", tc_masked_fill(x, tc_gt(x, 0), 7));
}

/* Indices that are computed: what else the function gives is as it was where they are out of range. */
TC_FUNCTION(op_computed_places)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m), index = tc_input(g, "index", TC_I64, i, 1);
    tc_output(g, "early", tc_exp(x));
    tc_output(g, "late", tc_take_along(tc_sqrt(tc_abs(x)), tc_expand(index, i, m), 0));
}
