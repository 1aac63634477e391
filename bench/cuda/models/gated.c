/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies between the products of a transformer: residual, norm, gelu, gate.
 */
#include <tensor_compile/model.h>

#ifndef DTYPE
#define DTYPE TC_F32 /* of what it reads and writes */
#endif

TC_MODEL(gated)
{
    tc_dim rows = tc_dynamic(g, "rows", 1, 8192);
    tc_tensor x = tc_input(g, "x", DTYPE, rows, 4096), r = tc_input(g, "r", DTYPE, rows, 4096);
    tc_weights(g, WEIGHTS);
    x = tc_add(tc_cast(x, TC_F32), tc_cast(r, TC_F32));
    x = tc_layer_norm(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
    tc_output(g, "y", tc_cast(tc_mul(tc_gelu(x), tc_weight(g, "gate")), DTYPE));
}
