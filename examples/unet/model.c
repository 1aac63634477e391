/* SPDX-License-Identifier: Apache-2.0
 *
 * A small U-Net (Ronneberger, Fischer, Brox 2015): an encoder that halves the image level by level, a decoder that doubles
 * it and takes up what the encoder had at the same level. Padded convolutions with batch normalization, up-sampling to the
 * nearest pixel. Height and width of the image are dynamic.
 */
#include "../layers.h"
#include "sizes.h"

#ifndef WEIGHTS
#define WEIGHTS "unet.safetensors"
#endif

static tc_tensor unit(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name) {
        x = tc_conv2d(x, tc_weight(g, "conv.weight"), .padding = {1, 1});
        x = tc_relu(batch_norm(g, x, "norm"));
    }
    return x;
}

static tc_tensor pair(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = unit(g, unit(g, x, "first"), "second");
    return x;
}

/* Each pixel becomes 2 x 2 of them. */
static tc_tensor upsample(tc_tensor x)
{
    tc_dim batch = tc_size(x, 0), channels = tc_size(x, 1), height = tc_size(x, 2), width = tc_size(x, 3);
    x = tc_expand(tc_reshape(x, batch, channels, height, 1, width, 1), batch, channels, height, 2, width, 2);
    return tc_reshape(x, batch, channels, tc_dim_mul(height, 2), tc_dim_mul(width, 2));
}

TC_MODEL(unet)
{
    tc_dim height = tc_dynamic(g, "height", DIVISOR, LARGEST, .divisor = DIVISOR);
    tc_dim width = tc_dynamic(g, "width", DIVISOR, LARGEST, .divisor = DIVISOR);
    tc_tensor x = tc_input(g, "image", TC_F32, 1, 3, height, width);
    tc_weights(g, WEIGHTS);

    tc_tensor skip[LEVELS];
    for (int level = 0; level < LEVELS; level++) {
        if (level)
            x = tc_max_pool2d(x, .kernel = {2, 2});
        x = skip[level] = pair(g, x, tc_name(g, "down.%d", level));
    }
    for (int level = LEVELS - 2; level >= 0; level--)
        x = pair(g, tc_concat(1, skip[level], upsample(x)), tc_name(g, "up.%d", level));
    x = tc_conv2d(x, tc_weight(g, "out.weight"), tc_weight(g, "out.bias"));
    tc_output(g, "probabilities", tc_softmax(x, 1)); /* of each class at each pixel */
}
