/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

TC_MODEL(digits)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4);
    tc_tensor x = tc_input(g, "image", TC_F32, batch, 1, 8, 8);

    tc_weights(g, "digits.safetensors");
    x = tc_relu(tc_conv2d(x, tc_weight(g, "conv1.weight"), tc_weight(g, "conv1.bias"), .padding = {1, 1}));
    x = tc_max_pool2d(x, .kernel = {2, 2});
    x = tc_relu(tc_conv2d(x, tc_weight(g, "conv2.weight"), tc_weight(g, "conv2.bias"), .padding = {1, 1}));
    x = tc_max_pool2d(x, .kernel = {2, 2});
    x = tc_linear(tc_flatten(x, 1), tc_weight(g, "fc.weight"), tc_weight(g, "fc.bias"));
    tc_output(g, "logits", x);
    tc_output(g, "probabilities", tc_softmax(x, -1));
}
