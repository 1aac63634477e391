/* SPDX-License-Identifier: Apache-2.0
 *
 * The convolutions and linear layers of MLPerf Tiny's int8 models as calls of CMSIS-NN, on zeros: instructions of all
 * layers in turn (pooling and softmax, below one in a hundred, are left out). Macros: run.py.
 */
#include "count.h"

#include <arm_nnfunctions.h>

/* Depthwise where out is 0; linear where width is 0. */
typedef struct layer {
    int16_t height, width, in, out, tall, wide, stride, pad_h, pad_w, times;
} layer;

static const layer layers[] = {LAYERS};

enum { BYTES = 1 << 18, CHANNELS = 1024 };
static int8_t input[BYTES], weights[BYTES], output[BYTES];
static uint32_t room[BYTES / 16];
static int32_t bias[CHANNELS], multiplier[CHANNELS], shift[CHANNELS];

static int call(const layer *l)
{
    const int32_t out = l->out ? l->out : l->in, w = l->width ? l->width : 1, h = l->width ? l->height : 1;
    const int32_t rows = l->width ? (h + l->stride - 1) / l->stride : 1;
    const int32_t columns = l->width ? (w + l->stride - 1) / l->stride : 1;
    const cmsis_nn_dims x = {1, h, w, l->in}, y = {1, rows, columns, out}, b = {1, 1, 1, out};
    cmsis_nn_context context = {room, sizeof room};
    cmsis_nn_per_channel_quant_params scales = {multiplier, shift};
    const cmsis_nn_tile stride = {l->stride, l->stride}, padding = {l->pad_w, l->pad_h}, dilation = {1, 1};
    const cmsis_nn_activation limits = {-128, 127};
    if (!l->width) {
        const cmsis_nn_fc_params fc = {128, 0, -128, limits};
        const cmsis_nn_per_tensor_quant_params one = {1 << 30, -8};
        const cmsis_nn_dims filter = {l->in, 1, 1, out};
        return arm_fully_connected_s8(&context, &fc, &one, &x, input, &filter, weights, &b, bias, &y, output);
    }
    if (!l->out) {
        const cmsis_nn_dw_conv_params dw = {128, -128, 1, stride, padding, dilation, limits};
        const cmsis_nn_dims filter = {1, l->tall, l->wide, out};
        return arm_depthwise_conv_wrapper_s8(&context, &dw, &scales, &x, input, &filter, weights, &b, bias, &y, output);
    }
    const cmsis_nn_conv_params conv = {128, -128, stride, padding, dilation, limits};
    const cmsis_nn_dims filter = {out, l->tall, l->wide, l->in};
    return arm_convolve_wrapper_s8(&context, &conv, &scales, &x, input, &filter, weights, &b, bias, &y, output);
}

int main(void)
{
    int status = 0;
    for (int i = 0; i < CHANNELS; ++i)
        multiplier[i] = 1 << 30, shift[i] = -8;
    count_start();
    const uint32_t start = count_ticks();
    for (unsigned i = 0; i < sizeof layers / sizeof layers[0]; ++i)
        for (int k = 0; k < layers[i].times; ++k)
            status |= call(&layers[i]);
    print_number("instructions ", count_since(start));
    return status != 0;
}
