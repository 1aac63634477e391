/* SPDX-License-Identifier: Apache-2.0
 *
 * A BERT-like sentence encoder: 6 layers, 384 wide, 12 heads, mean pooling; batch and sequence length are dynamic.
 */
#include "../layers.h"

/* Another size is a matter of `-D LAYERS=…` and so on: one of the tests is this file with small ones. */
#ifndef LAYERS
#define LAYERS 6
#define HIDDEN 384
#define HEADS 12
#endif
#ifndef WEIGHTS
#define WEIGHTS "minilm.safetensors"
#endif

enum { HEAD = HIDDEN / HEADS };

static tc_tensor linear(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
    return x;
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    return layer_norm(g, x, name, 1e-12);
}

/* [batch, seq, HIDDEN] -> [batch, HEADS, seq, HEAD] */
static tc_tensor heads(tc_tensor x, tc_dim batch, tc_dim seq)
{
    return tc_permute(tc_reshape(x, batch, seq, HEADS, HEAD), 0, 2, 1, 3);
}

static tc_tensor layer(tc_graph *g, tc_tensor x, tc_tensor mask, tc_dim batch, tc_dim seq)
{
    tc_tensor a = tc_scaled_dot_product_attention(heads(linear(g, x, "query"), batch, seq),
                                                  heads(linear(g, x, "key"), batch, seq),
                                                  heads(linear(g, x, "value"), batch, seq), .mask = mask);
    a = tc_reshape(tc_permute(a, 0, 2, 1, 3), batch, seq, HIDDEN);
    x = norm(g, tc_add(x, linear(g, a, "output")), "attention_norm");
    return norm(g, tc_add(x, linear(g, tc_gelu(linear(g, x, "up")), "down")), "output_norm");
}

TC_MODEL(minilm)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 32);
    tc_dim seq = tc_dynamic(g, "seq", 1, 512);
    tc_tensor ids = tc_input(g, "ids", TC_I64, batch, seq);
    tc_tensor mask = tc_input(g, "mask", TC_I64, batch, seq); /* 1: a token, 0: padding */
    tc_weights(g, WEIGHTS);

    tc_tensor x = tc_embedding(ids, tc_weight(g, "embeddings.word.weight"));
    x = tc_add(x, tc_slice(tc_weight(g, "embeddings.position.weight"), 0, 0, seq));
    x = norm(g, x, "embeddings.norm");
    tc_tensor keep = tc_unsqueeze(tc_unsqueeze(tc_ne(mask, 0), 1), 1); /* bool [batch, 1, 1, seq] */
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "layer.%d", i)
            x = layer(g, x, keep, batch, seq);

    tc_tensor weight = tc_unsqueeze(tc_cast(mask, TC_F32), 2);
    tc_output(g, "embedding", tc_div(tc_sum(tc_mul(x, weight), 1), tc_sum(weight, 1)));
}
