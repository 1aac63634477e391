/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts, joins and pads: index maps, alone and between operations that compute.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 200)
#define INPUT(name) tc_tensor name = tc_input(g, #name, TC_F32, n, m, 6)

TC_MODEL(parts)
{
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

TC_FUNCTION(op_update)
{
    SIZES;
    tc_dim p = tc_dynamic(g, "p", 0, 50);
    tc_tensor x = tc_input(g, "x", TC_F32, 64, tc_dim_add(m, 50)), y = tc_input(g, "y", TC_F32, n, m);
    tc_output(g, "z", tc_update_slice(x, tc_mul(y, 2), 0, p));
}

TC_FUNCTION(op_parts)
{
    tc_dim batch = tc_dynamic(g, "batch", 0, 4), h = tc_dynamic(g, "h", 0, 20);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 12, 1, tc_dim_mul(h, 2), 7);
    tc_tensor chunks[4], parts[3];
    int made = tc_chunk(x, -1, 4, chunks), split = tc_split_every(x, 1, 5, 3, parts);
    tc_output(g, "narrow", tc_narrow(x, 3, h, h));
    tc_output(g, "chunk", tc_concat(-1, chunks[made - 1], chunks[0]));
    tc_output(g, "every", tc_concat(1, parts[split - 1], parts[0]));
}

TC_FUNCTION(op_sliding)
{
    tc_dim batch = tc_dynamic(g, "batch", 0, 4), h = tc_dynamic(g, "h", 0, 20);
    tc_tensor x = tc_input(g, "x", TC_I32, batch, tc_dim_add(h, 3), 7);
    tc_output(g, "rows", tc_sliding(x, 1, 3, 2));
    tc_output(g, "columns", tc_sum(tc_sliding(x, 2, 2, 1), -1));
}

TC_FUNCTION(op_uneven)
{
    SIZES;
    INPUT(x);
    tc_tensor parts[4], pieces[3], y = tc_input(g, "y", TC_F32, n, 2, 6), z = tc_input(g, "z", TC_F32, n, 6);
    tc_tensor_split(x, 2, 4, parts);
    tc_output(g, "first", tc_mul(parts[0], parts[1]));
    tc_output(g, "last", tc_add(parts[2], parts[3]));
    tc_tensor_split_places(x, -1, pieces, 1, -2);
    tc_output(g, "middle", pieces[1]);
    tc_output(g, "selected", tc_select_scatter(x, z, 1, -1));
    tc_output(g, "sliced", tc_slice_scatter(tc_neg(x), tc_slice(y, 1, 0, 1), 1, 0, 1, 1));
    tc_output(g, "every", tc_slice_scatter(x, tc_exp(tc_slice(x, 2, 0, 3)), 2, 0, 5, 2));
}
