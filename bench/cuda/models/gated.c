/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies between the products of a transformer: residual, norm, gelu, gate.
 */
#include <tensor_compile/model.h>

TC_MODEL(gated)
{
    tc_dim rows = tc_dynamic(g, "rows", 1, 8192);
    tc_tensor x = tc_input(g, "x", TC_F32, rows, 4096), r = tc_input(g, "r", TC_F32, rows, 4096);
    tc_weights(g, WEIGHTS);
    x = tc_layer_norm(tc_add(x, r), tc_weight(g, "weight"), tc_weight(g, "bias"));
    tc_output(g, "y", tc_mul(tc_gelu(x), tc_weight(g, "gate")));
}
