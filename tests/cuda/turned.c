/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of one row whose columns are turned by angles, as models from elsewhere write rotary positions: with a concat
 * of exchanged halves, one of them negated.
 */
#include <tensor_compile/model.h>

enum { TERMS = 112, HEAD = 8 };

static tc_tensor turn(tc_tensor x, int heads, tc_tensor cosines, tc_tensor sines)
{
    x = tc_permute(tc_reshape(x, 1, heads, HEAD), 1, 0, 2);
    tc_tensor one = tc_slice(x, 2, 0, HEAD / 2), two = tc_slice(x, 2, HEAD / 2, HEAD);
    return tc_add(tc_mul(x, cosines), tc_mul(tc_concat(2, tc_neg(two), one), sines));
}

TC_MODEL(turned)
{
    tc_tensor x = tc_relu(tc_input(g, "x", TC_F32, 1, TERMS));
    tc_tensor cosines = tc_input(g, "cosines", TC_F32, 1, 1, HEAD), sines = tc_input(g, "sines", TC_F32, 1, 1, HEAD);
    tc_weights(g, WEIGHTS);
    tc_tensor one = tc_weight(g, "layer.0.down.weight"), two = tc_weight(g, "layer.1.down.weight");
    tc_output(g, "q", turn(tc_linear(x, tc_concat(1, one, two)), 3, cosines, sines));
    tc_output(g, "k", turn(tc_linear(x, tc_concat(1, two, one)), 3, cosines, sines));
}
