/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that one kernel computes, or that are computed where a larger value wants them.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 200)

TC_MODEL(fusion)
{
}

TC_FUNCTION(op_siblings)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m, 6);
    tc_output(g, "rows", tc_add(tc_sum(tc_mul(x, x), 2), tc_amax(tc_abs(x), 2)));
    tc_output(g, "place", tc_argmin(x, 2));
    tc_output(g, "sums", tc_sum(x, 0));
    tc_output(g, "squares", tc_sum(tc_mul(x, x), 0));
    tc_output(g, "span", tc_sub(tc_amax(x, 0), tc_amin(x, 0)));
}

TC_FUNCTION(op_windows)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 3, 7, 9);
    tc_output(g, "max", tc_max_pool2d(x, .kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}));
    tc_output(g, "mean", tc_avg_pool2d(x, .kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}, .divisor = 6));
}

TC_FUNCTION(op_parts)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m, 6), halves[2];
    tc_tensor shared = tc_tanh(x);
    tc_tensor wide = tc_concat(2, shared, tc_relu(shared)), other = tc_concat(2, tc_exp(x), shared);
    tc_output(g, "all", tc_stack(1, wide, other));
    tc_output(g, "sum", tc_sum(shared, 2));
    tc_split(tc_erf(x), 2, 2, halves);
    tc_output(g, "turned", tc_concat(2, halves[1], tc_neg(halves[0])));
}

TC_FUNCTION(op_borders)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m, 6);
    tc_tensor inside = tc_pad(tc_tanh(x), .low = {0, 1, 2}, .high = {1, 0, 3}, .value = 2);
    tc_output(g, "padded", inside);
    tc_tensor part = tc_pad_axis(tc_exp(x), 2, 1, 1, -1);
    tc_output(g, "joined", tc_concat(1, part, tc_neg(part)));
}

/* Parts of a concatenation that read the part beside them, as far as it goes. */
TC_FUNCTION(op_neighbours)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 2, m), w = tc_input(g, "w", TC_F32, 2, 2, 3);
    tc_tensor a = tc_tanh(x), b = tc_exp(x), c = tc_relu(x), d = tc_abs(x);
    tc_output(g, "padded", tc_concat(2, a, tc_pad_axis(a, 2, 1, 2, 1)));
    tc_output(g, "pooled", tc_concat(2, tc_max_pool1d(b, .kernel = {3}, .stride = {1}, .padding = {1}), b));
    tc_output(g, "convolved", tc_concat(2, c, tc_conv1d(c, w, .stride = {2}, .padding = {1}), tc_neg(c)));
    tc_output(g, "deeper", tc_concat(1, tc_pad_axis(d, 1, 1, 0, 3), d));
}

/* Windows over views whose rows do not lie a constant distance apart: an enlarged image, one put together from blocks. */
TC_FUNCTION(op_window_views)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 3, 7, 9), w = tc_input(g, "w", TC_F32, 4, 3, 3, 3);
    tc_tensor blocks = tc_input(g, "blocks", TC_F32, n, 2, 2, 3, 4, 3);
    tc_tensor large = tc_interpolate(x, .mode = TC_NEAREST, .scale = {2, 3});
    tc_tensor whole = tc_reshape(tc_permute(blocks, 0, 5, 1, 3, 2, 4), n, 3, 6, 8);
    tc_output(g, "enlarged", tc_conv2d(large, w, .padding = {1, 1}));
    tc_output(g, "strided", tc_conv2d(large, w, .stride = {2, 2}));
    tc_output(g, "together", tc_conv2d(whole, w, .padding = {1, 1}));
    tc_tensor every = tc_slice_step(tc_reshape(whole, n, 144), 1, 0, TC_END, 4);
    tc_output(g, "rows", tc_matmul(every, tc_reshape(tc_slice(w, 1, 0, 1), 36, 1)));
}
