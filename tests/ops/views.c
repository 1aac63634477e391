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

/* Rows and channels that a flip reads backwards, behind zeros of padding; results stored through a view that turns them,
   into a part of what they are read from, and at an index of nothing. */
TC_FUNCTION(op_backwards)
{
    SIZES;
    tc_tensor row = tc_flip(tc_pad_axis(tc_input(g, "row", TC_F32, 1, 20), 0, 2, 1, 0), 1);
    tc_output(g, "rows", tc_matmul(row, tc_reshape(tc_linspace(g, TC_F32, -1, 1, 660), 20, 33)));
    tc_tensor channels = tc_flip(tc_input(g, "channels", TC_F32, 1, 2, 20), 1);
    tc_output(g, "windows", tc_conv1d(channels, tc_reshape(tc_linspace(g, TC_F32, -1, 1, 24), 4, 2, 3), .padding = 1));
    tc_tensor x = tc_input(g, "deep", TC_F32, n, n, 2), at = tc_input(g, "at", TC_I64, n, 2, n);
    tc_tensor taken = tc_take_along(tc_permute(x, 1, 2, 0), at, 1);
    tc_output(g, "taken", taken);
    tc_output(g, "turned", tc_permute(taken, 2, 1, 0));
    tc_tensor shares = tc_softmax(tc_input(g, "cube", TC_F32, 5, 4, 5), 0);
    tc_tensor whole = tc_concat(1, tc_input(g, "first", TC_F32, 5, 4, 5), shares, shares);
    tc_output(g, "framed", tc_pad_axis(tc_reshape(whole, 300), 0, 2, 1, -2));
    tc_tensor wide = tc_take_along(tc_diag(tc_input(g, "line", TC_F32, m), -1),
                                   tc_input(g, "square_at", TC_I64, tc_dim_add(m, 1), tc_dim_add(m, 1)), 0);
    tc_output(g, "gram", tc_matmul(wide, tc_transpose(wide, 0, 1)));
    tc_tensor none = tc_input(g, "none", TC_F32, n, 8, 0), nowhere = tc_input(g, "nowhere", TC_I64, 0);
    tc_output(g, "added", tc_index_add(none, 2, nowhere, tc_input(g, "what", TC_F32, n, 8, 0)));
    tc_tensor box = tc_take_along(tc_input(g, "box", TC_F32, 4, n, n), tc_input(g, "box_at", TC_I64, 4, n, n), 2);
    tc_tensor flat = tc_reshape(tc_flip(box, 1), tc_dim_mul(4, tc_dim_mul(n, n)));
    tc_output(g, "flat", flat);
    tc_output(g, "norm", tc_einsum("a,a->", flat, flat));
    tc_tensor pairs = tc_reshape(tc_repeat(tc_input(g, "pairs", TC_F32, m, 3), 3, 1), tc_dim_mul(m, 9));
    tc_output(g, "edges", tc_pad_axis(pairs, 0, 1, 1, -2));
    tc_tensor rows = tc_take_along(tc_input(g, "brief", TC_F32, n, 5), tc_input(g, "brief_at", TC_I64, n, 5), 0);
    tc_output(g, "diagonals", tc_diag(tc_pad_axis(rows, 0, 2, 2, 0), -1));
}
