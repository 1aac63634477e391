/* SPDX-License-Identifier: Apache-2.0
 *
 * Three dense layers, 784-512-512-10.
 */
#include <tensor_compile/model.h>

static tc_tensor dense(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
    return x;
}

TC_MODEL(mlp)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4096);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 784);
    tc_weights(g, WEIGHTS);
    x = tc_relu(dense(g, x, "a"));
    x = tc_relu(dense(g, x, "b"));
    tc_output(g, "y", dense(g, x, "c"));
}
