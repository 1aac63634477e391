/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling of one to three dims.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(pooling)
{
}

#define SIZES(...) __VA_ARGS__
#define POOL(label, kind, spatial, ...)                                                                               \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);                                   \
        tc_output(g, "y", tc_##kind(tc_input(g, "x", FLOAT, batch, 5, spatial), __VA_ARGS__));                       \
    }
POOL(max1d, max_pool1d, h, .kernel = 3, .stride = 2, .padding = 1)
POOL(max2d_ceil, max_pool2d, SIZES(h, 6), .kernel = {3, 3}, .stride = {2, 2}, .padding = {0, 1}, .ceil_mode = true)
POOL(max3d, max_pool3d, SIZES(4, h, 5), .kernel = {2, 3, 2}, .stride = {2, 1, 2}, .dilation = {1, 1, 2})
POOL(average1d, avg_pool1d, h, .kernel = 4, .stride = 3, .padding = 2)
POOL(average2d_ceil, avg_pool2d, SIZES(h, 6), .kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 1}, .ceil_mode = true)
POOL(average2d_excluding, avg_pool2d, SIZES(6, h), .kernel = {2, 3}, .stride = {2, 2}, .padding = {1, 1},
     .ceil_mode = true, .exclude_padding = true)
POOL(average2d_divisor, avg_pool2d, SIZES(6, h), .kernel = {2, 3}, .divisor = 4)
POOL(average3d, avg_pool3d, SIZES(4, 5, h), .kernel = {2, 2, 3}, .stride = {1, 2, 2}, .padding = {1, 0, 1})
POOL(max2d_same, max_pool2d, SIZES(h, 6), .kernel = {3, 3}, .stride = {1, 2}, .same = TC_SAME)
POOL(average2d_same, avg_pool2d, SIZES(6, h), .kernel = {3, 2}, .stride = {2, 1}, .same = TC_SAME_LOWER,
     .exclude_padding = true)
POOL(power1d, lp_pool1d, h, .kernel = 3, .stride = 2, .norm = 2, .ceil_mode = true)
POOL(power2d, lp_pool2d, SIZES(h, 6), .kernel = {2, 3}, .norm = 4)
POOL(adaptive_average1d, adaptive_avg_pool1d, h, 3)
POOL(adaptive_average2d, adaptive_avg_pool2d, SIZES(h, 7), 5, 3)
POOL(adaptive_max2d, adaptive_max_pool2d, SIZES(h, 7), 3, -1)
POOL(adaptive_max3d, adaptive_max_pool3d, SIZES(5, h, 6), 2, 3, 2)
POOL(adaptive_one, adaptive_avg_pool2d, SIZES(h, 6), 1, 1)
POOL(adaptive_even, adaptive_avg_pool2d, SIZES(h, 6), h, 3)
/* Large windows, which graph/extremes.py takes axis by axis. */
POOL(max2d_large, max_pool2d, SIZES(h, 20), .kernel = {5, 5}, .stride = {1, 1}, .padding = {2, 2})
POOL(max2d_dilated, max_pool2d, SIZES(h, 18), .kernel = {4, 5}, .stride = {2, 1}, .padding = {2, 1}, .dilation = {1, 2},
     .ceil_mode = true)
POOL(max3d_large, max_pool3d, SIZES(4, h, 17), .kernel = {3, 3, 3}, .stride = {1, 1, 1}, .padding = {1, 1, 0})

/* The cascade at the end of a detector: each pool reads the one before. */
TC_FUNCTION(op_cascade)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);
    tc_tensor parts[4] = {tc_input(g, "x", FLOAT, batch, 5, h, 16)};
    for (int i = 0; i < 3; i++)
        parts[i + 1] = tc_max_pool2d(parts[i], .kernel = {5, 5}, .stride = {1, 1}, .padding = {2, 2});
    tc_output(g, "y", tc_concat(1, parts[0], parts[1], parts[2], parts[3]));
}

TC_FUNCTION(op_global)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 5, h, 3);
    tc_output(g, "mean", tc_global_avg_pool(x));
    tc_output(g, "max", tc_global_max_pool(x));
}
