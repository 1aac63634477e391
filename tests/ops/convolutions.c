/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of one and three dims, padded unevenly, and transposed ones.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(convolutions)
{
}

/* Operands of a convolution with the weight's spatial sizes in `window`. */
static tc_tensor weight_of(tc_graph *g, int first, int second, int dims, const int *window)
{
    tc_dim type[6] = {TC_DIM(FLOAT), TC_DIM(first), TC_DIM(second)};
    for (int i = 0; i < dims; i++)
        type[3 + i] = TC_DIM(window[i]);
    return tc_input_at(TC_HERE, g, "weight", 3 + dims, type);
}

#define BATCH tc_dim batch = tc_dynamic(g, "batch", 1, 4)
#define WINDOW(...) (const int[]){__VA_ARGS__}
#define COUNT(...) (int)(sizeof(WINDOW(__VA_ARGS__)) / sizeof(int))
#define SIZES(...) __VA_ARGS__

/* kind: conv1d and so on; spatial: the sizes of x; window: of the weight. */
#define CONVOLUTION(label, kind, channels, outputs, parts, spatial, window, ...)                                     \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        BATCH;                                                                                                        \
        tc_dim h = tc_dynamic(g, "h", 4, 40);                                                                         \
        tc_tensor x = tc_input(g, "x", FLOAT, batch, channels, spatial);                                             \
        tc_tensor w = weight_of(g, outputs, (channels) / (parts), COUNT(window), WINDOW(window));                    \
        tc_output(g, "y", tc_##kind(x, w, tc_input(g, "bias", FLOAT, outputs), .groups = parts, __VA_ARGS__));      \
    }
#define TRANSPOSED(label, kind, channels, outputs, parts, spatial, window, ...)                                      \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        BATCH;                                                                                                        \
        tc_dim h = tc_dynamic(g, "h", 4, 40);                                                                         \
        tc_tensor x = tc_input(g, "x", FLOAT, batch, channels, spatial);                                             \
        tc_tensor w = weight_of(g, channels, (outputs) / (parts), COUNT(window), WINDOW(window));                    \
        tc_output(g, "y", tc_##kind(x, w, tc_input(g, "bias", FLOAT, outputs), .groups = parts, __VA_ARGS__));      \
    }

CONVOLUTION(conv1d, conv1d, 6, 20, 1, h, SIZES(3), .padding = 1)
CONVOLUTION(conv1d_strided, conv1d, 4, 8, 2, h, SIZES(4), .stride = 2, .dilation = 1, .low = 3)
CONVOLUTION(conv1d_depthwise, conv1d, 20, 20, 20, h, SIZES(4), .low = 3)
CONVOLUTION(conv3d, conv3d, 3, 18, 1, SIZES(5, h, 6), SIZES(3, 2, 3), .stride = {1, 2, 1}, .padding = {1, 0, 1})
CONVOLUTION(conv3d_grouped, conv3d, 4, 8, 4, SIZES(4, 5, h), SIZES(2, 3, 3), .dilation = {2, 1, 1}, .padding = {1, 1, 2})
CONVOLUTION(conv2d_same, conv2d, 3, 16, 1, SIZES(h, 7), SIZES(2, 5), .dilation = {3, 1}, .same = TC_SAME)
CONVOLUTION(conv2d_same_strided, conv2d, 3, 16, 1, SIZES(h, 7), SIZES(3, 2), .stride = {2, 2}, .same = TC_SAME)
CONVOLUTION(conv1d_same_lower, conv1d, 4, 6, 2, h, SIZES(4), .stride = 3, .same = TC_SAME_LOWER)
CONVOLUTION(conv2d_uneven, conv2d, 3, 5, 1, SIZES(7, h), SIZES(3, 3), .stride = {2, 2}, .low = {0, 1}, .high = {1, 2})

/* The second one reads channels that lie side by side. What lies between has 32 bits at least. */
TC_FUNCTION(op_conv2d_groups_of_four)
{
    BATCH;
    tc_dim h = tc_dynamic(g, "h", 4, 40);
    tc_dtype wide = FLOAT == TC_F64 ? TC_F64 : TC_F32;
    tc_tensor x = tc_cast(tc_input(g, "x", FLOAT, batch, 36, h, 9), wide);
    tc_tensor w = tc_cast(weight_of(g, 36, 4, 2, WINDOW(3, 3)), wide);
    tc_tensor b = tc_cast(tc_input(g, "bias", FLOAT, 36), wide);
    tc_tensor once = tc_conv2d(x, w, b, .groups = 9, .padding = {1, 1});
    tc_output(g, "y", tc_cast(tc_conv2d(once, w, b, .groups = 9, .padding = {1, 1}), FLOAT));
}
CONVOLUTION(conv2d_groups_of_two, conv2d, 10, 20, 10, SIZES(h, 10), SIZES(3, 3), .stride = {2, 2}, .padding = {1, 1})
CONVOLUTION(conv2d_groups_of_twelve, conv2d, 16, 24, 2, SIZES(h, 6), SIZES(3, 2), .padding = {1, 0})

TRANSPOSED(transpose1d, conv_transpose1d, 6, 20, 1, h, SIZES(4), .stride = 2, .padding = 1)
TRANSPOSED(transpose1d_wide, conv_transpose1d, 4, 6, 2, h, SIZES(2), .stride = 3, .output_padding = 2)
TRANSPOSED(transpose1d_cut, conv_transpose1d, 3, 2, 1, h, SIZES(3), .low = 3, .high = 1)
TRANSPOSED(transpose2d, conv_transpose2d, 4, 17, 1, SIZES(h, 5), SIZES(3, 3), .stride = {2, 2}, .padding = {1, 1},
           .output_padding = {1, 1})
TRANSPOSED(transpose2d_doubling, conv_transpose2d, 6, 16, 1, SIZES(5, h), SIZES(2, 2), .stride = {2, 2})
TRANSPOSED(transpose2d_dilated, conv_transpose2d, 6, 8, 2, SIZES(h, 4), SIZES(3, 2), .stride = {3, 2},
           .dilation = {2, 3}, .padding = {2, 1}, .output_padding = {1, 0})
TRANSPOSED(transpose3d, conv_transpose3d, 3, 4, 1, SIZES(3, h, 4), SIZES(3, 2, 2), .stride = {2, 1, 2},
           .padding = {1, 0, 0}, .output_padding = {0, 0, 1})

/* Twice, with an activation between: its own operand lies channels last. What lies between has 32 bits at least. */
#define TRANSPOSED_TWICE(label, channels, parts, spatial, window, active, ...)                                       \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        BATCH;                                                                                                        \
        tc_dim h = tc_dynamic(g, "h", 4, 40);                                                                         \
        tc_dtype wide = FLOAT == TC_F64 ? TC_F64 : TC_F32;                                                            \
        tc_tensor x = tc_cast(tc_input(g, "x", FLOAT, batch, channels, spatial), wide);                              \
        tc_tensor w = weight_of(g, channels, (channels) / (parts), COUNT(window), WINDOW(window));                    \
        w = tc_cast(w, wide);                                                                                         \
        tc_tensor b = tc_cast(tc_input(g, "bias", FLOAT, channels), wide);                                           \
        tc_tensor once = active(tc_conv_transpose2d(x, w, b, .groups = parts, __VA_ARGS__));                          \
        tc_output(g, "y", tc_cast(tc_conv_transpose2d(once, w, b, .groups = parts, __VA_ARGS__), FLOAT));            \
    }
TRANSPOSED_TWICE(transpose2d_doubling_twice, 20, 1, SIZES(h, 3), SIZES(2, 2), tc_relu, .stride = {2, 2})
TRANSPOSED_TWICE(transpose2d_groups_twice, 32, 2, SIZES(h, 1), SIZES(4, 4), tc_silu, .stride = {2, 2},
                 .padding = {1, 1})
TRANSPOSED_TWICE(transpose2d_cut_twice, 12, 1, SIZES(h, 2), SIZES(3, 3), tc_relu, .stride = {2, 2}, .padding = {1, 1})
TRANSPOSED_TWICE(transpose2d_apart_twice, 17, 1, SIZES(h, 2), SIZES(1, 3), tc_relu, .stride = {2, 2},
                 .output_padding = {1, 1})
