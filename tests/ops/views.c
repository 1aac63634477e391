/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: index maps, alone and between operations that compute.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 200)
#define INPUT(name) tc_tensor name = tc_input(g, #name, TC_F32, n, m, 6)

TC_MODEL(views)
{
}

TC_FUNCTION(op_reshape)
{
    SIZES;
    INPUT(x);
    tc_output(g, "rows", tc_reshape(x, -1, 6));
    tc_output(g, "flat", tc_flatten(tc_exp(x), 1));
    tc_output(g, "split", tc_reshape(x, n, m, 2, 3));
    tc_output(g, "mixed", tc_neg(tc_reshape(tc_permute(x, 1, 0, 2), m, -1)));
}

TC_FUNCTION(op_permute)
{
    SIZES;
    INPUT(x);
    tc_output(g, "reversed", tc_permute(x, 2, 1, 0));
    tc_output(g, "swapped", tc_abs(tc_transpose(x, 0, 1)));
    tc_output(g, "sum", tc_add(tc_permute(x, 0, 2, 1), tc_permute(tc_neg(x), 0, 2, 1)));
}

TC_FUNCTION(op_expand)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 1), row = tc_input(g, "row", TC_F32, m);
    tc_output(g, "wide", tc_expand(x, -1, m));
    tc_output(g, "deep", tc_expand(row, 3, n, m));
    tc_output(g, "back", tc_squeeze(tc_unsqueeze(x, 0), 2));
}

TC_FUNCTION(op_axes)
{
    tc_dim batch = tc_dynamic(g, "batch", 0, 4), h = tc_dynamic(g, "h", 0, 20);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 12, 1, tc_dim_mul(h, 2), 7);
    tc_output(g, "squeezed", tc_squeeze_axes(tc_unsqueeze(x, 0), 0, -3));
    tc_output(g, "flat", tc_flatten_range(x, 1, -2));
    tc_output(g, "split", tc_unflatten(x, 1, 3, -1));
    tc_output(g, "moved", tc_movedim(x, 1, -1));
    tc_output(g, "back", tc_movedim(x, -1, 1));
    tc_output(g, "swapped", tc_swapaxes(x, 1, 4));
    tc_output(g, "expanded", tc_add(x, tc_expand_as(tc_slice(x, 1, 0, 1), x)));
    tc_output(g, "shaped", tc_reshape_as(tc_swapaxes(x, 1, 4), x));
}
