/* SPDX-License-Identifier: Apache-2.0
 *
 * Views, joins and pads: index maps, alone and between operations that compute.
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

TC_FUNCTION(op_slice)
{
    SIZES;
    INPUT(x);
    tc_output(g, "head", tc_slice(x, 2, 0, 4));
    tc_output(g, "odd", tc_slice_step(x, 2, 1, TC_END, 2));
    tc_output(g, "last", tc_select(x, 2, -1));
    tc_output(g, "first", tc_mul(tc_select(x, 0, 0), 3));
    tc_output(g, "inner", tc_slice(tc_slice(x, 2, 1, 6), 2, 1, -1));
}

TC_FUNCTION(op_expand)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 1), row = tc_input(g, "row", TC_F32, m);
    tc_output(g, "wide", tc_expand(x, -1, m));
    tc_output(g, "deep", tc_expand(row, 3, n, m));
    tc_output(g, "back", tc_squeeze(tc_unsqueeze(x, 0), 2));
}

TC_FUNCTION(op_concat)
{
    SIZES;
    tc_dim p = tc_dynamic(g, "p", 0, 50);
    tc_tensor a = tc_input(g, "a", TC_F32, n, m), b = tc_input(g, "b", TC_F32, n, p);
    tc_tensor joined = tc_concat(1, a, b, a);
    tc_output(g, "joined", joined);
    tc_output(g, "computed", tc_concat(1, tc_exp(a), tc_mul(b, 2)));
    tc_output(g, "rows", tc_sum(tc_concat(0, a, tc_neg(a)), 1));
}

TC_FUNCTION(op_split)
{
    SIZES;
    INPUT(x);
    tc_tensor parts[3], pieces[2];
    tc_split(x, 2, 3, parts);
    tc_output(g, "product", tc_mul(tc_mul(parts[0], parts[1]), parts[2]));
    tc_split_sizes(x, 2, pieces, 2, 4);
    tc_output(g, "small", pieces[0]);
    tc_output(g, "large", tc_relu(pieces[1]));
}

TC_FUNCTION(op_pad)
{
    SIZES;
    INPUT(x);
    tc_output(g, "zeros", tc_pad(x, .low = {0, 1, 2}, .high = {1, 0, 3}));
    tc_output(g, "ones", tc_pad(tc_tanh(x), .low = {0, 2, 0}, .high = {0, 2, 0}, .value = 1));
    tc_output(g, "sums", tc_sum(tc_pad(x, .low = {0, 3, 0}, .high = {0, 5, 0}, .value = 0.5), 1));
}

TC_FUNCTION(op_triangle)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m);
    tc_output(g, "lower", tc_tril(x, 0));
    tc_output(g, "upper", tc_triu(tc_exp(x), -1));
}

TC_FUNCTION(op_update)
{
    SIZES;
    tc_dim p = tc_dynamic(g, "p", 0, 50);
    tc_tensor x = tc_input(g, "x", TC_F32, 64, tc_dim_add(m, 50)), y = tc_input(g, "y", TC_F32, n, m);
    tc_output(g, "z", tc_update_slice(x, tc_mul(y, 2), 0, p));
}
