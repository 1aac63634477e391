/* SPDX-License-Identifier: Apache-2.0
 *
 * What quantize leaves in floats between layers of integers: a recurrent cell over the steps of a sequence, a loop that the
 * data ends, a branch, the largest elements, additions at places.
 */
#include <tensor_compile/model.h>

TC_MODEL(loops)
{
    tc_dim n = tc_dynamic(g, "n", 1, 16);
    tc_tensor x = tc_input(g, "x", TC_F32, 6, n, 8);
    tc_weights(g, "loops.safetensors");

    tc_tensor seen = tc_linear(x, tc_weight(g, "in.weight"), tc_weight(g, "in.bias"));
    tc_tensor h = tc_full(g, 0, TC_F32, n, 8), all;
    TC_SCAN(g, 6, &h) {
        tc_tensor again = tc_linear(h, tc_weight(g, "cell.weight"));
        h = tc_tanh(tc_add(tc_each(seen), again));
        tc_collect(h, &all);
    }
    tc_tensor y = tc_linear(tc_relu(tc_linear(all, tc_weight(g, "mid.weight"))), tc_weight(g, "out.weight"));
    tc_tensor small = tc_linear(h, tc_weight(g, "last.weight")), other = tc_neg(small);
    TC_WHILE(g, &small, &other) {
        tc_test(tc_gt(tc_amax(small, 0, 1), 0.5));
        tc_tensor half = tc_mul(small, 0.5);
        small = tc_add(half, tc_mul(other, 0.01));
        other = half;
    }
    tc_tensor sign = tc_mean(small, 0, 1), chosen = other;
    TC_IF(g, tc_gt(sign, 0), &chosen) {
        chosen = tc_mul(small, 2);
    }
    TC_ELSE(g) {
        chosen = tc_sub(small, other);
    }
    tc_tensor places, most = tc_topk(y, 2, 2, true, &places);
    tc_output(g, "y", y);
    tc_output(g, "chosen", chosen);
    tc_output(g, "most", most);
    tc_output(g, "ordered", tc_sort(chosen, 1, false, NULL));
    tc_output(g, "summed", tc_scatter_add(tc_full(g, 0, TC_F32, 4), tc_argmax(tc_reshape(tc_slice(y, 0, 5, 6), n, 4), 1),
                                          tc_full(g, 1, TC_F32, n), 0));
}
