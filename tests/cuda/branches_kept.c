/* SPDX-License-Identifier: Apache-2.0
 *
 * Two branches, of which the longer one ends in a step that could overwrite what the shorter one reads first.
 */
#include <tensor_compile/model.h>

enum { WIDTH = 16, SIZE = 6 };

static tc_tensor convolution(tc_graph *g, tc_tensor x, int number, int kernel)
{
    tc_tensor places = tc_cast(tc_arange(g, TC_I32, WIDTH * WIDTH * kernel * kernel), TC_F32);
    tc_tensor weight = tc_reshape(tc_sin(tc_mul(places, 0.7 + number)), WIDTH, WIDTH, kernel, kernel);
    return tc_conv2d(x, weight, .padding = {kernel / 2, kernel / 2});
}

static tc_tensor largest(tc_tensor x)
{
    return tc_max_pool2d(x, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1});
}

TC_MODEL(branches_kept)
{
    tc_tensor x = tc_relu(convolution(g, tc_input(g, "x", TC_F32, 1, WIDTH, SIZE, SIZE), 1, 3));

    tc_tensor a = convolution(g, largest(largest(x)), 2, 1);
    tc_tensor b = tc_relu(convolution(g, tc_relu(convolution(g, x, 3, 1)), 4, 3));
    tc_tensor c = tc_mul(x, tc_softmax(b, 3));
    tc_output(g, "joined", tc_relu(tc_add(convolution(g, c, 5, 1), a)));
}
