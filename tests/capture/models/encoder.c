/* SPDX-License-Identifier: Apache-2.0
 *
 * A two-layer encoder of MiniLM's shape: dynamic batch and sequence, one graph function for both layers.
 */
#include <tensor_compile/model.h>

enum { WIDTH = 384, HEADS = 12 };

static tc_tensor linear(tc_graph *g, tc_tensor x, const char *name)
{
    tc_tensor y = NULL;
    TC_SCOPE(g, "%s", name) y = tc_linear(x, tc_weight(g, "weight"), tc_weight(g, "bias"));
    return y;
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    tc_tensor y = NULL;
    TC_SCOPE(g, "%s", name) y = tc_layer_norm(x, tc_weight(g, "weight"), tc_weight(g, "bias"), .eps = 1e-12);
    return y;
}

static tc_tensor heads(tc_tensor x)
{
    x = tc_reshape(x, tc_size(x, 0), tc_size(x, 1), HEADS, WIDTH / HEADS);
    return tc_permute(x, 0, 2, 1, 3);
}

TC_GRAPH(layer)
{
    tc_tensor x = tc_parameter(g, "x"), mask = tc_parameter(g, "mask");
    tc_dim batch = tc_size(x, 0), seq = tc_size(x, 1);
    tc_tensor q = heads(linear(g, x, "attention.self.query"));
    tc_tensor k = heads(linear(g, x, "attention.self.key"));
    tc_tensor v = heads(linear(g, x, "attention.self.value"));
    tc_tensor a = tc_scaled_dot_product_attention(q, k, v, .mask = tc_reshape(mask, batch, 1, 1, seq));
    a = tc_reshape(tc_permute(a, 0, 2, 1, 3), batch, seq, WIDTH);
    x = norm(g, tc_add(linear(g, a, "attention.output.dense"), x), "attention.output.LayerNorm");
    tc_tensor h = tc_gelu(linear(g, x, "intermediate.dense"));
    tc_output(g, "y", norm(g, tc_add(linear(g, h, "output.dense"), x), "output.LayerNorm"));
}

TC_MODEL(encoder)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 64), seq = tc_dynamic(g, "seq", 1, 512);
    tc_tensor ids = tc_input(g, "input_ids", TC_I64, batch, seq);
    tc_tensor attention = tc_input(g, "attention_mask", TC_I64, batch, seq);
    tc_weights(g, "encoder.safetensors");
    tc_tensor words = tc_embedding(ids, tc_weight(g, "embeddings.word_embeddings.weight"));
    tc_tensor places = tc_slice(tc_weight(g, "embeddings.position_embeddings.weight"), 0, 0, seq);
    tc_tensor x = norm(g, tc_add(words, places), "embeddings.LayerNorm");
    tc_tensor mask = tc_ne(attention, 0);
    for (int i = 0; i < 2; ++i)
        x = tc_call(g, layer, tc_name(g, "encoder.layer.%d", i), x, mask);
    tc_tensor kept = tc_cast(tc_unsqueeze(mask, -1), TC_F32);
    tc_tensor sum = tc_sum(tc_mul(x, kept), 1), count = tc_sum(kept, 1);
    tc_output(g, "hidden", x);
    tc_output(g, "embedding", tc_div(sum, tc_maximum(count, 1e-9)));
}
