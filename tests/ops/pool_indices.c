/* SPDX-License-Identifier: Apache-2.0
 *
 * Maxima of windows with their places.
 */
#include <tensor_compile/model.h>

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
POOL(max1d, max_pool1d, TC_F32, h, .kernel = 3, .stride = 2, .padding = 1)
POOL(max2d, max_pool2d, TC_F32, SIZES(h, 6), .kernel = {2, 2})
POOL(max2d_padded, max_pool2d, TC_F32, SIZES(6, h), .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1})
POOL(max2d_dilated, max_pool2d, TC_I32, SIZES(7, h), .kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 1},
     .dilation = {2, 3}, .ceil_mode = true)
POOL(max3d, max_pool3d, TC_F32, SIZES(4, h, 5), .kernel = {2, 2, 2}, .ceil_mode = true)
