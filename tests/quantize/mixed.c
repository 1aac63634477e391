/* SPDX-License-Identifier: Apache-2.0
 *
 * One of everything that quantize knows: convolutions, depthwise and dilated ones, a gate by a mean, functions, sums of two, poolings,
 * parts side by side, products of rows with and without a bias; and what stays in floats between them.
 */
#include <tensor_compile/model.h>

static tc_tensor conv(tc_graph *g, tc_tensor x, const char *name, int groups, int padding)
{
    tc_tensor w = tc_weight(g, tc_name(g, "%s.weight", name)), b = tc_weight(g, tc_name(g, "%s.bias", name));
    return tc_conv2d(x, w, b, .padding = {padding, padding}, .groups = groups);
}

TC_MODEL(mixed)
{
    tc_dim n = tc_dynamic(g, "n", 1, 32, .specialize = {4});
    tc_tensor image = tc_input(g, "image", TC_F32, n, 8, 8, 3), shift = tc_input(g, "shift", TC_F32, n, 8);
    tc_weights(g, "mixed.safetensors");

    tc_tensor x = tc_permute(image, 0, 3, 1, 2);
    x = tc_clamp(conv(g, x, "stem", 1, 1), 0, 6);
    tc_tensor y = tc_hardswish(conv(g, x, "depth", 8, 1));
    tc_tensor gate = tc_relu(conv(g, tc_mean_keepdims(y, 2, 3), "squeeze", 1, 0));
    y = tc_mul(y, tc_sigmoid(conv(g, gate, "excite", 1, 0)));
    x = tc_relu(tc_add(x, conv(g, y, "project", 1, 0)));
    tc_tensor a = tc_max_pool2d(tc_pad(x, .low = {0, 0, 1, 1}, .high = {0, 0, 1, 1}), .kernel = {2, 2});
    x = conv(g, tc_concat(1, a, conv(g, a, "side", 1, 0)), "join", 1, 0);
    x = tc_flatten(tc_avg_pool2d(x, .kernel = {5, 5}), 1);
    x = tc_linear(x, tc_weight(g, "wide.weight"), tc_weight(g, "wide.bias"));
    x = tc_linear(tc_gelu(tc_sub(x, shift)), tc_weight(g, "last.weight"));
    tc_output(g, "scores", tc_layer_norm(x, tc_weight(g, "norm.weight"), tc_weight(g, "norm.bias"), .axes = 1));
    tc_output(g, "alike", tc_matmul(x, tc_transpose(x, 0, 1)));
}
