/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches that a GPU may run beside each other: a residual block whose shortcut has a convolution, in the order of
 * programs that write it last; and four branches that are joined.
 */
#include <tensor_compile/model.h>

enum { BATCH = 1, WIDTH = 16, SIZE = 6 };

/* With weights that are known when the model is built, others for each `number`. */
static tc_tensor convolution(tc_graph *g, tc_tensor x, int number, int kernel, int stride)
{
    tc_tensor places = tc_cast(tc_arange(g, TC_I32, WIDTH * WIDTH * kernel * kernel), TC_F32);
    tc_tensor weight = tc_reshape(tc_sin(tc_mul(places, 0.7 + number)), WIDTH, WIDTH, kernel, kernel);
    return tc_conv2d(x, weight, .stride = {stride, stride}, .padding = {kernel / 2, kernel / 2});
}

TC_MODEL(branches)
{
    tc_tensor x = tc_input(g, "x", TC_F32, BATCH, WIDTH, SIZE, SIZE);
    x = tc_relu(convolution(g, x, 1, 3, 1));

    tc_tensor y = tc_relu(convolution(g, x, 2, 1, 1));
    y = tc_relu(convolution(g, y, 3, 3, 2));
    y = convolution(g, y, 4, 1, 1);
    x = tc_relu(tc_add(y, convolution(g, x, 5, 1, 2)));

    tc_tensor a = convolution(g, x, 6, 1, 1);
    tc_tensor b = convolution(g, tc_relu(convolution(g, x, 7, 1, 1)), 8, 3, 1);
    tc_tensor c = convolution(g, tc_relu(convolution(g, x, 9, 3, 1)), 10, 3, 1);
    tc_tensor d = convolution(g, tc_max_pool2d(x, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}), 11, 1, 1);
    tc_output(g, "joined", tc_relu(tc_concat(1, a, b, c, d)));
}
