/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors made from nothing, and grids of vectors.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(making)
{
}

TC_FUNCTION(op_steps)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 1, 64);
    tc_output(g, "even", tc_linspace(g, FLOAT, -1, 2.5, n));
    tc_output(g, "fine", tc_linspace(g, TC_F64, 3, 1, 8));
    tc_output(g, "powers", tc_logspace(g, FLOAT, -2, 2, m, 10));
    tc_output(g, "down", tc_arange_step(g, TC_I64, m, -1, -3));
    tc_output(g, "eye", tc_eye(g, FLOAT, n, m));
    tc_output(g, "same", tc_full_like(tc_eye(g, TC_I32, m, n), 7));
}

TC_FUNCTION(op_grids)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 1, 64);
    tc_tensor a = tc_input(g, "a", FLOAT, n), b = tc_input(g, "b", FLOAT, m), ij[3], xy[3];
    tc_meshgrid(ij, a, b, a);
    tc_meshgrid_xy(xy, a, b, a);
    tc_output(g, "ij", tc_add(ij[0], tc_mul(ij[1], ij[2])));
    tc_output(g, "xy", tc_add(xy[0], tc_mul(xy[1], xy[2])));
    tc_output(g, "pairs", tc_cartesian_prod(a, b));
}

TC_FUNCTION(op_sizes)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 1, 64), most = tc_dim_max(n, m);
    tc_tensor x = tc_input(g, "x", FLOAT, n), y = tc_input(g, "y", FLOAT, m), both = tc_concat(0, x, y);
    tc_output(g, "sizes", tc_dims_tensor(g, TC_I64, n, 7, most, tc_dim_min(n, m), tc_dim_mod(m, 5), tc_dim_ceildiv(m, 5)));
    tc_output(g, "one", tc_dims_tensor(g, TC_F32, tc_dim_sub(n, most)));
    tc_output(g, "none", tc_dims_tensor(g, TC_I64));
    tc_output(g, "head", tc_mul(tc_slice(both, 0, 0, most), tc_dim_value(g, FLOAT, n)));
    tc_output(g, "first", tc_slice(x, 0, 0, tc_dim_min(n, tc_dim_mul(m, 2))));
}

TC_FUNCTION(op_choices)
{
    tc_tensor x = tc_input(g, "x", FLOAT, 5);
    tc_output(g, "triples", tc_combinations(x, 3, false));
    tc_output(g, "repeated", tc_combinations(x, 2, true));
    tc_output(g, "none", tc_combinations(x, 6, false));
    tc_output(g, "lower", tc_tril_indices(g, 4, 5, 1));
    tc_output(g, "upper", tc_triu_indices(g, 6, 3, -1));
}
