/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of bytes, which copy rows: what threads copied to their scratch for one piece of a step serves the next one. And
 * products of floats whose tiles fetch what their thread reads soon.
 */
#include <tensor_compile/model.h>

enum { TERMS = 512, CHANNELS = 64, SIDE = 14, FEW = 49, LONG = 960 };

/* Numbers from -125 to 125 that look like random ones. */
static tc_tensor weights(tc_graph *g, int count)
{
    tc_tensor i = tc_arange(g, TC_I32, count), n = tc_mul(tc_remainder(i, 1009), tc_add(tc_remainder(i, 4001), 17));
    return tc_cast(tc_sub(tc_remainder(n, 251), 125), TC_I8);
}

static tc_tensor linear(tc_graph *g, tc_tensor x, int columns, int terms)
{
    return tc_quantized_linear(.x = {x, 0.5f, 3}, .w = tc_reshape(weights(g, columns * terms), columns, terms),
                               .w_scale = tc_full(g, 0.002f, TC_F32, columns), .scale = 0.5f, .zero = -5, .floats = true);
}

TC_MODEL(rows)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), n = tc_dynamic(g, "n", 1, 300);
    tc_tensor x = tc_input(g, "x", TC_I8, batch, n, TERMS), few = tc_input(g, "few", TC_I8, FEW, LONG);
    tc_tensor image = tc_input(g, "image", TC_I8, batch, SIDE, SIDE, CHANNELS);
    tc_tensor w = tc_reshape(weights(g, 160 * CHANNELS * 9), 160, CHANNELS, 3, 3);
    tc_output(g, "y", linear(g, x, 320, TERMS));
    tc_output(g, "z", linear(g, x, 200, TERMS)); /* with y it is one kernel */
    tc_output(g, "last", linear(g, few, 160, LONG)); /* 49 rows: a team shares the last one by itself */
    tc_output(g, "pairs", linear(g, tc_slice(x, 2, 0, 96), 640, 96)); /* words of two bytes each where none are sorted */
    tc_tensor first = tc_reshape(tc_cast(weights(g, 256 * LONG), TC_F32), 256, LONG); /* 960 KiB, and 512 KiB */
    tc_tensor second = tc_reshape(tc_cast(weights(g, 512 * 256), TC_F32), 512, 256);
    tc_output(g, "floats", tc_linear(tc_relu(tc_linear(tc_cast(few, TC_F32), first, NULL)), second, NULL));
    tc_output(g, "u", tc_quantized_conv(.x = {tc_permute(image, 0, 3, 1, 2), 0.5f, 3}, .w = w,
                                        .w_scale = tc_full(g, 0.001f, TC_F32, 160), .scale = 0.5f, .zero = -5,
                                        .padding = {1, 1}, .floats = true));
}
