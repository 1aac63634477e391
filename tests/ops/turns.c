/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of one dim whose channels lie apart, so that a kernel's own tiles compute all positions, those in the padding,
 * too: of sounds of few channels, whose windows are lines that a tile walks position by position, and of more.
 */
#include <tensor_compile/model.h>

TC_MODEL(turns)
{
}

#define BATCH tc_dynamic(g, "batch", 1, 4)
#define WIDTH tc_dynamic(g, "w", 1, 400)
#define CONVOLUTION(label, batch, channels, outputs, parts, width, window, ...)                                       \
    TC_FUNCTION(label)                                                                                                \
    {                                                                                                                 \
        tc_tensor x = tc_input(g, "x", TC_F32, batch, channels, width);                                              \
        tc_tensor weight = tc_input(g, "weight", TC_F32, outputs, (channels) / (parts), window);                      \
        tc_tensor bias = tc_input(g, "bias", TC_F32, outputs);                                                        \
        tc_output(g, "y", tc_conv1d(x, weight, bias, .groups = parts, __VA_ARGS__));                                  \
    }

CONVOLUTION(line, TC_DIM(1), 3, 96, 1, TC_DIM(1100), 16, .stride = 4, .padding = 6)
CONVOLUTION(line_of_batches, BATCH, 2, 192, 1, TC_DIM(2100), 9, .stride = 25, .padding = 4)
CONVOLUTION(line_behind, TC_DIM(1), 4, 96, 1, TC_DIM(700), 11, .stride = 3, .dilation = 1, .low = 10)
CONVOLUTION(channels, TC_DIM(1), 40, 96, 1, TC_DIM(100), 5, .padding = 2)
CONVOLUTION(dynamic, TC_DIM(1), 12, 96, 1, WIDTH, 7, .padding = 3)
CONVOLUTION(dilated, BATCH, 10, 192, 1, WIDTH, 7, .padding = 6, .dilation = 2)
CONVOLUTION(groups, BATCH, 24, 192, 2, WIDTH, 4, .low = 3)
CONVOLUTION(strided, BATCH, 6, 96, 1, WIDTH, 6, .stride = 2, .low = 1, .high = 3)
