/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

TC_MODEL(mlp)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 1024, .specialize = {1, 32});
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 784);
    tc_weights(g, "mlp.safetensors");
    for (int i = 1; i <= 3; ++i) {
        TC_SCOPE(g, "fc%d", i) x = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
        if (i < 3)
            x = tc_relu(x);
    }
    tc_output(g, "logits", x);
}
