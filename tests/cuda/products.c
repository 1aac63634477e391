/* SPDX-License-Identifier: Apache-2.0
 *
 * Products that cuBLASLt may compute: with a bias and relu behind what is added, with a bias and gelu, with a bias
 * alone; and two that it may not, whose operand or result is the caller's. Their biases are parts of one weight, of which
 * two begin alike.
 */
#include <tensor_compile/model.h>

enum { ROWS = 41, WIDTH = 32 }; /* results end between multiples of 256 bytes */

/* Weights that are known when the model is built. */
static tc_tensor some(tc_graph *g, int rows, int columns, double by)
{
    tc_tensor numbers = tc_cast(tc_arange(g, TC_I32, rows * columns), TC_F32);
    return tc_mul(tc_reshape(tc_sin(tc_mul(numbers, by)), rows, columns), 0.3);
}

static tc_tensor dense(tc_graph *g, tc_tensor x, int from, int to, double by)
{
    return tc_add(tc_matmul(x, some(g, from, to, by)), tc_slice(tc_weight(g, "bias"), 0, 0, to));
}

TC_MODEL(products)
{
    tc_weights(g, "products.safetensors"); /* bias: f32[2 WIDTH] */
    tc_tensor x = tc_input(g, "x", TC_F32, ROWS, WIDTH);
    tc_tensor h = tc_relu(dense(g, x, WIDTH, WIDTH, 1.1));
    h = tc_relu(tc_add(h, dense(g, h, WIDTH, WIDTH, 1.3)));
    tc_tensor wide = tc_gelu_tanh(dense(g, h, WIDTH, 2 * WIDTH, 1.7));
    h = dense(g, wide, 2 * WIDTH, WIDTH, 2.3);
    tc_output(g, "y", dense(g, h, WIDTH, WIDTH, 2.9));
}
