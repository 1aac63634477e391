/* SPDX-License-Identifier: Apache-2.0
 *
 * A two-layer decoder with a key-value cache: `prefill` takes a whole prompt, `decode` one token after `past` others.
 * They share weights and state. Grouped heads (4 over 2), pre-norm, SiLU-gated feed-forward, tied embedding.
 */
#include <tensor_compile/model.h>

enum { LAYERS = 2, HIDDEN = 32, HEADS = 4, KV_HEADS = 2, HEAD = 8, INTERMEDIATE = 80, VOCABULARY = 96, CAPACITY = 64 };

static tc_tensor project(tc_graph *g, tc_tensor x, const char *name)
{
    return tc_linear(x, tc_weight(g, name));
}

/* [1, length, heads * HEAD] -> [heads, length, HEAD] */
static tc_tensor split_heads(tc_tensor x, tc_dim length, int heads)
{
    return tc_permute(tc_reshape(x, length, heads, HEAD), 1, 0, 2);
}

/* Writes the new rows to the cache at `past` and gives the rows 0..past + length. */
static tc_tensor remember(tc_graph *g, const char *name, tc_tensor rows, tc_dim past, tc_dim length)
{
    tc_tensor cache = tc_state(g, name, TC_F32, KV_HEADS, CAPACITY, HEAD);
    tc_tensor updated = tc_update_slice(cache, rows, 0, past, 0);
    tc_assign(cache, updated);
    return tc_slice(updated, 1, 0, tc_dim_add(past, length));
}

static tc_tensor layer(tc_graph *g, tc_tensor x, tc_dim past, tc_dim length, bool causal)
{
    tc_tensor h = tc_rms_norm(x, tc_weight(g, "norm1"), .eps = 1e-6);
    tc_tensor q = split_heads(project(g, h, "query"), length, HEADS);
    tc_tensor k = remember(g, "keys", split_heads(project(g, h, "key"), length, KV_HEADS), past, length);
    tc_tensor v = remember(g, "values", split_heads(project(g, h, "value"), length, KV_HEADS), past, length);
    tc_tensor a = tc_scaled_dot_product_attention(q, k, v, .causal = causal);
    a = tc_reshape(tc_permute(a, 1, 0, 2), length, HIDDEN);
    x = tc_add(x, project(g, a, "output"));
    h = tc_rms_norm(x, tc_weight(g, "norm2"), .eps = 1e-6);
    h = tc_mul(tc_silu(project(g, h, "gate")), project(g, h, "up"));
    return tc_add(x, project(g, h, "down"));
}

/* ids [length] -> logits [length, VOCABULARY] */
static void decoder(tc_graph *g, tc_dim past, tc_dim length, bool causal)
{
    tc_tensor ids = tc_input(g, "ids", TC_I32, length);
    tc_tensor table = tc_weight(g, "embedding");
    tc_tensor positions = tc_slice(tc_weight(g, "positions"), 0, past, tc_dim_add(past, length));
    tc_tensor x = tc_add(tc_embedding(ids, table), positions);
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "layer.%d", i)
            x = layer(g, x, past, length, causal);
    x = tc_rms_norm(x, tc_weight(g, "norm"), .eps = 1e-6);
    tc_output(g, "logits", tc_linear(x, table));
}

TC_MODEL(decoder_model)
{
    tc_weights(g, "decoder.safetensors");
}

TC_FUNCTION(prefill)
{
    tc_dim length = tc_dynamic(g, "length", 1, CAPACITY);
    decoder(g, tc_dim_sub(length, length), length, true);
}

TC_FUNCTION(decode)
{
    tc_dim past = tc_dynamic(g, "past", 0, CAPACITY - 1);
    decoder(g, past, tc_dim_sub(tc_dim_add(past, 1), past), false);
}
