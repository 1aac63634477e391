/* SPDX-License-Identifier: Apache-2.0
 *
 * Maxima of windows with their places.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(pool_indices)
{
}

#define SIZES(...) __VA_ARGS__
#define POOL(label, kind, dtype, spatial, ...)                                                                        \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);                                   \
        tc_tensor indices;                                                                                            \
        tc_output(g, "y", tc_##kind(tc_input(g, "x", dtype, batch, 5, spatial), __VA_ARGS__, .indices = &indices));   \
        tc_output(g, "at", indices);                                                                                  \
    }
POOL(max1d, max_pool1d, FLOAT, h, .kernel = 3, .stride = 2, .padding = 1)
POOL(max2d, max_pool2d, FLOAT, SIZES(h, 6), .kernel = {2, 2})
POOL(max2d_padded, max_pool2d, FLOAT, SIZES(6, h), .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1})
POOL(max2d_dilated, max_pool2d, TC_I32, SIZES(7, h), .kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 1},
     .dilation = {2, 3}, .ceil_mode = true)
POOL(max3d, max_pool3d, FLOAT, SIZES(4, h, 5), .kernel = {2, 2, 2}, .ceil_mode = true)

#define ADAPTIVE(label, kind, spatial, ...)                                                                           \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);                                   \
        tc_tensor indices;                                                                                            \
        tc_output(g, "y", tc_##kind(tc_input(g, "x", FLOAT, batch, 5, spatial), __VA_ARGS__, &indices));              \
        tc_output(g, "at", indices);                                                                                  \
    }
ADAPTIVE(adaptive2d, adaptive_max_pool2d, SIZES(h, 6), 5, 4)
ADAPTIVE(adaptive2d_even, adaptive_max_pool2d, SIZES(tc_dim_mul(h, 2), 6), h, -1)
ADAPTIVE(adaptive3d, adaptive_max_pool3d, SIZES(2, 3, h), 1, 2, 3)

/* What pooling found, back in its place, and elements anywhere. */
TC_FUNCTION(op_unpool)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 5, h, 6), indices, of_pairs;
    tc_tensor y = tc_max_pool2d(x, .kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 0}, .indices = &indices);
    tc_output(g, "y", tc_max_unpool2d(y, indices, TC_SIZES(h, 6)));
    tc_tensor pairs = tc_max_pool3d(tc_unsqueeze(x, 2), .kernel = {1, 1, 2}, .indices = &of_pairs);
    tc_output(g, "pairs", tc_max_unpool3d(pairs, of_pairs, .kernel = {1, 1, 2}));
    tc_tensor v = tc_input(g, "v", FLOAT, batch, 2, h), at = tc_input(g, "at", TC_I64, batch, 2, h);
    tc_output(g, "anywhere", tc_max_unpool1d(v, at, .kernel = 3, .stride = 2, .padding = 1));
}
