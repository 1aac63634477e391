/* SPDX-License-Identifier: Apache-2.0
 *
 * ResNet-50 (He, Zhang, Ren, Sun 2015) with the stride in the 3x3 convolution, under the names of torchvision's
 * resnet50().state_dict().
 */
#include "../layers.h"
#include "sizes.h"

#ifndef WEIGHTS
#define WEIGHTS "resnet50.safetensors"
#endif

static tc_tensor bottleneck(tc_graph *g, tc_tensor x, int stride, bool first)
{
    tc_tensor y = tc_relu(batch_norm(g, tc_conv2d(x, tc_weight(g, "conv1.weight")), "bn1"));
    y = tc_conv2d(y, tc_weight(g, "conv2.weight"), .stride = {stride, stride}, .padding = {1, 1});
    y = tc_relu(batch_norm(g, y, "bn2"));
    y = batch_norm(g, tc_conv2d(y, tc_weight(g, "conv3.weight")), "bn3");
    if (first) {
        x = tc_conv2d(x, tc_weight(g, "downsample.0.weight"), .stride = {stride, stride});
        x = batch_norm(g, x, "downsample.1");
    }
    return tc_relu(tc_add(y, x));
}

TC_MODEL(resnet50)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 64);
    tc_tensor x = tc_input(g, "image", TC_F32, batch, 3, SIZE, SIZE); /* normalized as the weights were trained */
    tc_weights(g, WEIGHTS);

    x = tc_conv2d(x, tc_weight(g, "conv1.weight"), .stride = {2, 2}, .padding = {3, 3});
    x = tc_relu(batch_norm(g, x, "bn1"));
    x = tc_max_pool2d(x, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1});
    for (int stage = 0; stage < STAGES; stage++)
        for (int i = 0; i < blocks[stage]; i++)
            TC_SCOPE(g, "layer%d.%d", stage + 1, i)
                x = bottleneck(g, x, stage > 0 && i == 0 ? 2 : 1, i == 0);
    x = tc_mean(x, 2, 3);
    tc_output(g, "logits", tc_linear(x, tc_weight(g, "fc.weight"), tc_weight(g, "fc.bias")));
}
