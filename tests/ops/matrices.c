/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices and images put in other places: turned, repeated, side by side.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(matrices)
{
}

#define SPACE tc_dim n = tc_dynamic(g, "n", 1, 40), m = tc_dynamic(g, "m", 1, 40)

TC_FUNCTION(op_turned)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, 2, n, m), lengths = tc_input(g, "lengths", TC_I64, n);
    tc_output(g, "left", tc_rot90(x, 1, 1, 2));
    tc_output(g, "half", tc_rot90(x, -2, -1, 0));
    tc_output(g, "right", tc_rot90(x, 3, 1, 2));
    tc_output(g, "tiled", tc_tile(tc_select(x, 0, 0), 2, 1, 3));
    tc_output(g, "last", tc_tile(x, 2));
    tc_output(g, "backwards", tc_reverse_sequence(x, tc_clamp(lengths, 0, tc_dim_value(g, TC_I64, m)), 2, 1));
}

TC_FUNCTION(op_blocks)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m), y = tc_input(g, "y", FLOAT, 3), square = tc_input(g, "square", FLOAT, n, n);
    tc_tensor line = tc_input(g, "line", FLOAT, n);
    tc_output(g, "kron", tc_kron(x, y));
    tc_output(g, "blocks", tc_block_diag(x, tc_reshape(y, 3, 1), tc_exp(x)));
    tc_output(g, "trace", tc_trace(square));
    tc_output(g, "middle", tc_diagonal_scatter(square, line, 0));
    tc_output(g, "above", tc_diagonal_scatter(tc_repeat(square, 2, 0), tc_slice(tc_repeat(line, 2, 0), 0, 0, n), -1));
}

TC_FUNCTION(op_depth)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", FLOAT, 2, 8, n, m), y = tc_input(g, "y", FLOAT, 3, 4, 6);
    tc_output(g, "space", tc_depth_to_space(x, 2));
    tc_output(g, "depth", tc_space_to_depth(y, 2));
}
