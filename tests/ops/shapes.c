/* SPDX-License-Identifier: Apache-2.0
 *
 * Views made of others.
 */
#include <tensor_compile/model.h>

TC_MODEL(shapes)
{
}

#define INPUT                                                                                                         \
    tc_dim batch = tc_dynamic(g, "batch", 0, 4), h = tc_dynamic(g, "h", 0, 20);                                       \
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 12, 1, tc_dim_mul(h, 2), 7)

TC_FUNCTION(op_axes)
{
    INPUT;
    tc_output(g, "squeezed", tc_squeeze_axes(tc_unsqueeze(x, 0), 0, -3));
    tc_output(g, "flat", tc_flatten_range(x, 1, -2));
    tc_output(g, "split", tc_unflatten(x, 1, 3, -1));
    tc_output(g, "moved", tc_movedim(x, 1, -1));
    tc_output(g, "back", tc_movedim(x, -1, 1));
    tc_output(g, "swapped", tc_swapaxes(x, 1, 4));
    tc_output(g, "expanded", tc_add(x, tc_expand_as(tc_slice(x, 1, 0, 1), x)));
    tc_output(g, "shaped", tc_reshape_as(tc_swapaxes(x, 1, 4), x));
}

TC_FUNCTION(op_parts)
{
    INPUT;
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

TC_FUNCTION(op_pixels)
{
    INPUT;
    tc_tensor y = tc_squeeze(x, 2);
    tc_output(g, "shuffled", tc_pixel_shuffle(y, 2));
    tc_output(g, "unshuffled", tc_pixel_unshuffle(tc_slice(y, 3, 0, 6), 2));
    tc_output(g, "channels", tc_channel_shuffle(y, 4));
}
