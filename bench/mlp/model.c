/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

#ifndef WEIGHTS
#define WEIGHTS "mlp.safetensors"
#endif

TC_MODEL(mlp)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 1024);
    tc_tensor x = tc_input(g, "image", TC_F32, batch, 784);
    tc_weights(g, WEIGHTS);
    x = tc_relu(tc_linear(x, tc_weight(g, "fc1.weight"), tc_weight(g, "fc1.bias")));
    x = tc_relu(tc_linear(x, tc_weight(g, "fc2.weight"), tc_weight(g, "fc2.bias")));
    tc_output(g, "logits", tc_linear(x, tc_weight(g, "fc3.weight"), tc_weight(g, "fc3.bias")));
}
