/* SPDX-License-Identifier: Apache-2.0
 *
 * Every operation on quantized tensors of 8 and 16 bits, for test_order.py.
 */
#include <tensor_compile/model.h>

static void calls(tc_graph *g, tc_tensor x, tc_tensor w, tc_tensor w_scale, int zero, const char *name)
{
    tc_tensor rows = tc_reshape(x, 2, 54), bias = tc_input(g, tc_name(g, "%s_bias", name), TC_I32, 4);
#define GIVES(kind, ...) tc_output(g, tc_name(g, "%s_" kind, name), __VA_ARGS__)
    GIVES("conv", tc_quantized_conv(.x = {x, 0.5, zero}, .w = w, .w_scale = w_scale, .bias = bias, .scale = 0.25));
    GIVES("plain", tc_quantized_conv(.x = {x, 0.5, zero}, .w = w, .w_scale = w_scale, .scale = 0.25, .floats = true));
    GIVES("linear", tc_quantized_linear(.x = {rows, 0.5, zero}, .w = tc_reshape(w, 4, 54), .w_scale = w_scale,
                                        .bias = bias, .scale = 0.25));
    GIVES("transposed",
          tc_quantized_conv_transpose2d(.x = {x, 0.5, zero}, .w = tc_transpose(w, 0, 1), .w_scale = w_scale,
                                        .bias = bias, .scale = 0.25, .stride = {2, 3}));
    GIVES("add", tc_quantized_add(.a = {rows, 0.5, zero}, .b = {rows, 0.5, zero}, .scale = 0.25));
    GIVES("sub", tc_quantized_sub(.a = {rows, 0.5, zero}, .b = {rows, 0.5, zero}, .scale = 0.25, .floats = true));
    GIVES("mul", tc_quantized_mul(.a = {rows, 0.5, zero}, .b = {rows, 0.5, zero}, .scale = 0.25));
    GIVES("matmul",
          tc_quantized_matmul(.a = {rows, 0.5, zero}, .b = {tc_transpose(rows, 0, 1), 0.5, zero}, .scale = 0.25));
    GIVES("rescale", tc_quantized_rescale(.x = {rows, 0.5, zero}, .scale = 0.25, .dtype = TC_I8));
    GIVES("softmax", tc_quantized_softmax(.x = {rows, 0.5, zero}));
    GIVES("avg_pool", tc_quantized_avg_pool2d(x, .kernel = {2, 2}, .padding = {1, 1}));
    GIVES("mean", tc_quantized_mean(.x = {rows, 0.5, zero}, .axes = {1}, .axis_count = 1, .scale = 0.25));
    GIVES("leaky_relu", tc_quantized_leaky_relu(.x = {rows, 0.5, zero}, .slope = 0.1, .scale = 0.25));
}

TC_MODEL(quantized_calls)
{
    tc_tensor bytes = tc_input(g, "bytes", TC_I8, 2, 6, 3, 3), words = tc_input(g, "words", TC_I16, 2, 6, 3, 3);
    tc_tensor w = tc_input(g, "w", TC_I8, 4, 6, 3, 3), w_scale = tc_input(g, "w_scale", TC_F32, 4);
    calls(g, bytes, w, w_scale, 3, "bytes");
    calls(g, words, w, w_scale, 0, "words");
    tc_output(g, "sigmoid", tc_quantized_sigmoid(.x = {bytes, 0.5, 3}));
    tc_output(g, "tanh", tc_quantized_tanh(.x = {bytes, 0.5, 3}));
    tc_output(g, "sigmoid_words", tc_quantized_sigmoid(.x = {words, 0.001, 0}));
    tc_output(g, "tanh_words", tc_quantized_tanh(.x = {words, 0.001, 0}));
    tc_output(g, "hardswish", tc_quantized_hardswish(.x = {bytes, 0.5, 3}, .scale = 0.25, .zero = -9));
}
