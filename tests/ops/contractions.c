/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products, convolutions and pooling.
 */
#include <math.h>

#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(contractions)
{
}

TC_FUNCTION(op_matmul)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), n = tc_dynamic(g, "n", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_output(g, "y", tc_matmul(tc_input(g, "a", FLOAT, m, k), tc_input(g, "b", FLOAT, k, n)));
}

TC_FUNCTION(op_matmul_batch)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), n = tc_dynamic(g, "n", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_output(g, "y", tc_matmul(tc_input(g, "a", FLOAT, 2, 1, m, k), tc_input(g, "b", FLOAT, 3, k, n)));
}

TC_FUNCTION(op_matmul_vector)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_tensor a = tc_input(g, "a", FLOAT, m, k), b = tc_input(g, "b", FLOAT, k);
    tc_output(g, "y", tc_matmul(a, b));
    tc_output(g, "dot", tc_matmul(b, b));
}

TC_FUNCTION(op_matmul_narrow)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_output(g, "y", tc_matmul(tc_input(g, "a", FLOAT, m, k), tc_input(g, "b", FLOAT, k, 10)));
}

TC_FUNCTION(op_linear)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_tensor w = tc_input(g, "w", FLOAT, 48, k), b = tc_input(g, "b", FLOAT, 48);
    tc_tensor x = tc_input(g, "x", FLOAT, m, k), r = tc_input(g, "r", FLOAT, m, 48);
    tc_output(g, "y", tc_add(tc_gelu(tc_linear(x, w, b)), r));
}

TC_FUNCTION(op_linear_narrow)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_tensor w = tc_input(g, "w", FLOAT, 15, k), b = tc_input(g, "b", FLOAT, 15);
    tc_output(g, "y", tc_relu(tc_linear(tc_input(g, "x", FLOAT, 1, m, k), w, b)));
}

#define CONVOLUTION(label, channels, outputs, kh, kw, ...)                                                            \
    TC_FUNCTION(op_conv_##label)                                                                                      \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 7, 40), w = tc_dynamic(g, "w", 7, 40);    \
        tc_tensor x = tc_input(g, "x", FLOAT, batch, channels, h, w);                                                \
        tc_conv2d_args options = {__VA_ARGS__};                                                                       \
        int groups = options.groups ? options.groups : 1;                                                             \
        tc_tensor weight = tc_input(g, "weight", FLOAT, outputs, channels / groups, kh, kw);                         \
        tc_tensor bias = tc_input(g, "bias", FLOAT, outputs);                                                        \
        tc_output(g, "y", tc_relu(tc_conv2d(x, weight, bias, __VA_ARGS__)));                                          \
    }

CONVOLUTION(3x3, 3, 20, 3, 3, .padding = {1, 1})
CONVOLUTION(1x1, 17, 33, 1, 1, .stride = {1, 1})
CONVOLUTION(strided, 8, 16, 3, 3, .stride = {2, 2}, .padding = {1, 1})
CONVOLUTION(uneven, 4, 5, 1, 5, .stride = {3, 1}, .padding = {0, 2})
CONVOLUTION(dilated, 4, 16, 3, 3, .dilation = {2, 3}, .padding = {2, 3})
CONVOLUTION(grouped, 12, 24, 3, 3, .groups = 3, .padding = {1, 1})
CONVOLUTION(depthwise, 20, 20, 3, 3, .groups = 20, .padding = {1, 1})
CONVOLUTION(multiplier, 6, 12, 3, 3, .groups = 6, .stride = {2, 1})
CONVOLUTION(large, 2, 32, 7, 7, .stride = {2, 2}, .padding = {3, 3})

#define POOL(label, f, ...)                                                                                           \
    TC_FUNCTION(op_pool_##label)                                                                                      \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 7, 40), w = tc_dynamic(g, "w", 7, 40);    \
        tc_output(g, "y", f(tc_input(g, "x", FLOAT, batch, 5, h, w), __VA_ARGS__));                                  \
    }

POOL(max, tc_max_pool2d, .kernel = {2, 2})
POOL(max_padded, tc_max_pool2d, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1})
POOL(max_dilated, tc_max_pool2d, .kernel = {3, 2}, .stride = {1, 1}, .dilation = {2, 3})
POOL(average, tc_avg_pool2d, .kernel = {2, 3})
POOL(average_padded, tc_avg_pool2d, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1})
POOL(average_excluding, tc_avg_pool2d, .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}, .exclude_padding = true)

/* A residual block with inference batch norms, channels-last inside. */
TC_FUNCTION(op_residual)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 7, 40), w = tc_dynamic(g, "w", 7, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 16, h, w), y = x;
    for (int i = 0; i < 2; i++) {
        tc_tensor weight = tc_input(g, tc_name(g, "weight%d", i), FLOAT, 16, 16, 3, 3);
        tc_tensor statistics = tc_input(g, tc_name(g, "statistics%d", i), FLOAT, 4, 16);
        y = tc_conv2d(y, weight, .padding = {1, 1});
        y = tc_batch_norm(y, tc_select(statistics, 0, 0), tc_abs(tc_select(statistics, 0, 1)),
                          tc_select(statistics, 0, 2), tc_select(statistics, 0, 3));
        if (i == 0)
            y = tc_relu(y);
    }
    y = tc_relu(tc_add(x, y));
    tc_output(g, "y", y);
    tc_output(g, "mean", tc_mean(y, 2, 3));
}

/* Rows of b whose factors are no terms are NaN, which must not be seen. */
TC_FUNCTION(op_matmul_where)
{
    tc_dim m = tc_dynamic(g, "m", 1, 300), n = tc_dynamic(g, "n", 1, 300), k = tc_dynamic(g, "k", 1, 600);
    tc_tensor a = tc_input(g, "a", FLOAT, m, k), b = tc_input(g, "b", FLOAT, k, n);
    tc_tensor place = tc_arange(g, TC_I64, k), even = tc_eq(tc_remainder(place, 2), 0);
    tc_tensor holes = tc_where(tc_unsqueeze(even, 1), b, NAN);
    tc_tensor causal = tc_le(place, tc_unsqueeze(tc_arange(g, TC_I64, m), 1));
    tc_output(g, "rows", tc_matmul_where(a, holes, even));
    tc_output(g, "causal", tc_matmul_where(a, holes, tc_logical_and(causal, even)));
    tc_output(g, "vector", tc_matmul_where(tc_select(a, 0, 0), holes, even));
}
