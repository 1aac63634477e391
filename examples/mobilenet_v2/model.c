/* SPDX-License-Identifier: Apache-2.0
 *
 * MobileNetV2 (Sandler, Howard, Zhu, Zhmoginov, Chen 2018): inverted residuals, depthwise convolutions, ReLU6; under the
 * names of torchvision's mobilenet_v2().state_dict().
 */
#include "../layers.h"
#include "sizes.h"

#ifndef WEIGHTS
#define WEIGHTS "mobilenet_v2.safetensors"
#endif

/* Convolution, normalization, ReLU6: torchvision's Conv2dNormActivation. */
static tc_tensor unit(tc_graph *g, tc_tensor x, int stride, int padding, int count)
{
    x = tc_conv2d(x, tc_weight(g, "0.weight"), .stride = {stride, stride}, .padding = {padding, padding},
                  .groups = count);
    return tc_clamp(batch_norm(g, x, "1"), 0, 6);
}

static tc_tensor inverted_residual(tc_graph *g, tc_tensor x, int in, int expansion, int out, int stride)
{
    tc_tensor y = x;
    int next = 0;
    if (expansion > 1)
        TC_SCOPE(g, "conv.%d", next++)
            y = unit(g, y, 1, 0, 1);
    TC_SCOPE(g, "conv.%d", next++)
        y = unit(g, y, stride, 1, in * expansion);
    y = tc_conv2d(y, tc_weight(g, tc_name(g, "conv.%d.weight", next)));
    y = batch_norm(g, y, tc_name(g, "conv.%d", next + 1));
    return stride == 1 && in == out ? tc_add(x, y) : y;
}

TC_MODEL(mobilenet_v2)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 64);
    tc_tensor x = tc_input(g, "image", TC_F32, batch, 3, SIZE, SIZE); /* normalized as the weights were trained */
    tc_weights(g, WEIGHTS);

    int block = 0, in = STEM;
    TC_SCOPE(g, "features.%d", block++)
        x = unit(g, x, 2, 1, 1);
    for (int i = 0; i < GROUPS; i++)
        for (int j = 0; j < groups[i].count; j++) {
            TC_SCOPE(g, "features.%d", block++)
                x = inverted_residual(g, x, in, groups[i].expansion, groups[i].channels, j ? 1 : groups[i].stride);
            in = groups[i].channels;
        }
    TC_SCOPE(g, "features.%d", block)
        x = unit(g, x, 1, 0, 1);
    x = tc_mean(x, 2, 3);
    tc_output(g, "logits", tc_linear(x, tc_weight(g, "classifier.1.weight"), tc_weight(g, "classifier.1.bias")));
}
