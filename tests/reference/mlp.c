/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

/* A classifier whose widths leave tails everywhere; the last matmul is of the order `lanes`. */
TC_MODEL(mlp)
{
    static const int width[] = {29, 37, 18, 10};
    tc_dim batch = tc_dynamic(g, "batch", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, width[0]);
    tc_weights(g, "mlp.safetensors");
    for (int i = 0; i < 3; i++) {
        TC_SCOPE(g, "fc%d", i)
            x = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
        x = i < 2 ? tc_relu(x) : tc_softmax(x, -1);
    }
    tc_output(g, "y", x);
}
