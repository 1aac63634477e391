/* SPDX-License-Identifier: Apache-2.0
 *
 * ViT-Tiny with patches of 16 x 16 (Dosovitskiy et al. 2020), under the names of timm's vit_tiny_patch16_224.
 */
#include <tensor_compile/layers.h>

enum { BATCH = 1, WIDTH = 192, HEADS = 3, HEAD = WIDTH / HEADS, LAYERS = 12, PATCHES = 14 * 14, TOKENS = PATCHES + 1 };

static tc_tensor attention(tc_graph *g, tc_tensor x)
{
    tc_tensor part[3];
    tc_split(tc_layer_linear(g, x, "attn.qkv"), 1, 3, part);
    for (int i = 0; i < 3; i++)
        part[i] = tc_permute(tc_reshape(part[i], TOKENS, HEADS, HEAD), 1, 0, 2);
    tc_tensor a = tc_scaled_dot_product_attention(part[0], part[1], part[2]);
    return tc_layer_linear(g, tc_reshape(tc_permute(a, 1, 0, 2), TOKENS, WIDTH), "attn.proj");
}

TC_MODEL(vit_tiny)
{
    tc_tensor image = tc_input(g, "image", TC_F32, BATCH, 3, 224, 224);
    tc_weights(g, WEIGHTS);
    tc_tensor x = tc_conv2d(image, tc_weight(g, "patch_embed.proj.weight"), tc_weight(g, "patch_embed.proj.bias"),
                            .stride = {16, 16});
    x = tc_permute(tc_reshape(x, WIDTH, PATCHES), 1, 0);
    x = tc_concat(0, tc_reshape(tc_weight(g, "cls_token"), 1, WIDTH), x);
    x = tc_add(x, tc_reshape(tc_weight(g, "pos_embed"), TOKENS, WIDTH));
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "blocks.%d", i) {
            x = tc_add(x, attention(g, tc_layer_layer_norm(g, x, "norm1", .eps = 1e-6)));
            tc_tensor inner = tc_gelu(tc_layer_linear(g, tc_layer_layer_norm(g, x, "norm2", .eps = 1e-6), "mlp.fc1"));
            x = tc_add(x, tc_layer_linear(g, inner, "mlp.fc2"));
        }
    x = tc_layer_layer_norm(g, x, "norm", .eps = 1e-6);
    tc_output(g, "logits", tc_layer_linear(g, tc_slice(x, 0, 0, 1), "head"));
}
