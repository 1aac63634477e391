/* SPDX-License-Identifier: Apache-2.0
 *
 * ViT-B/16 (Dosovitskiy et al. 2020): 224 x 224 pictures in patches of 16 x 16.
 */
#include <tensor_compile/model.h>

#ifndef DTYPE
#define DTYPE TC_F32 /* of what it reads and writes */
#endif

enum { HIDDEN = 768, HEADS = 12, HEAD = HIDDEN / HEADS, LAYERS = 12, PATCHES = 196, TOKENS = PATCHES + 1 };

static tc_tensor linear(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
    return x;
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_layer_norm(x, tc_weight(g, "weight"), tc_weight(g, "bias"), .eps = 1e-6);
    return x;
}

static tc_tensor heads(tc_tensor x, tc_dim batch)
{
    return tc_permute(tc_reshape(x, batch, TOKENS, HEADS, HEAD), 0, 2, 1, 3);
}

TC_MODEL(vit)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 64);
    tc_tensor image = tc_cast(tc_input(g, "image", DTYPE, batch, 3, 224, 224), TC_F32);
    tc_weights(g, WEIGHTS);
    tc_tensor x = tc_conv2d(image, tc_weight(g, "patch.weight"), tc_weight(g, "patch.bias"), .stride = {16, 16});
    x = tc_permute(tc_reshape(x, batch, HIDDEN, PATCHES), 0, 2, 1);
    tc_tensor first = tc_expand(tc_weight(g, "class"), batch, 1, HIDDEN);
    x = tc_add(tc_concat(1, first, x), tc_weight(g, "position"));
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "layer.%d", i) {
            tc_tensor h = norm(g, x, "norm1");
            tc_tensor a = tc_scaled_dot_product_attention(heads(linear(g, h, "query"), batch),
                                                          heads(linear(g, h, "key"), batch),
                                                          heads(linear(g, h, "value"), batch));
            x = tc_add(x, linear(g, tc_reshape(tc_permute(a, 0, 2, 1, 3), batch, TOKENS, HIDDEN), "output"));
            x = tc_add(x, linear(g, tc_gelu(linear(g, norm(g, x, "norm2"), "up")), "down"));
        }
    x = tc_reshape(tc_slice(x, 1, 0, 1), batch, HIDDEN);
    tc_output(g, "logits", tc_cast(linear(g, norm(g, x, "norm"), "head"), DTYPE));
}
