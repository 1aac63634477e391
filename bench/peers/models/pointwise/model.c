/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

TC_MODEL(pointwise)
{
    tc_tensor a = tc_input(g, "a", TC_F32, 1024, 1024), b = tc_input(g, "b", TC_F32, 1024, 1024);
    tc_tensor c = tc_input(g, "c", TC_F32, 1024, 1024);
    tc_weights(g, WEIGHTS);
    tc_tensor x = tc_layer_norm(tc_add(a, b), tc_weight(g, "weight"), tc_weight(g, "bias"));
    tc_output(g, "y", tc_mul(tc_gelu(x), c));
}
