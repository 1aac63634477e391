/* SPDX-License-Identifier: Apache-2.0
 *
 * One token of a decoder of the shape of SmolLM2-135M behind `past` others: Llama's layers, three heads of keys for nine
 * of queries, the table of words used again for the logits. Names of weights are those of transformers' LlamaModel.
 */
#include <tensor_compile/layers.h>

enum { WIDTH = 576, HEADS = 9, KV_HEADS = 3, HEAD = WIDTH / HEADS };

#ifndef LAYERS
#define LAYERS 30
#endif
#ifndef CAPACITY
#define CAPACITY 512
#endif

/* [1, heads * HEAD] -> [heads, 1, HEAD] */
static tc_tensor heads_of(tc_tensor x, int heads)
{
    return tc_permute(tc_reshape(x, 1, heads, HEAD), 1, 0, 2);
}

/* x * cos + (-second half, first half) * sin */
static tc_tensor rotated(tc_tensor x, tc_tensor cosines, tc_tensor sines)
{
    tc_tensor halves[2];
    tc_split(x, 2, 2, halves);
    return tc_add(tc_mul(x, cosines), tc_mul(tc_concat(2, tc_neg(halves[1]), halves[0]), sines));
}

static tc_tensor remember(tc_graph *g, const char *name, tc_tensor row, tc_dim past)
{
    tc_tensor cache = tc_state(g, name, TC_F32, KV_HEADS, CAPACITY, HEAD);
    tc_tensor updated = tc_update_slice(cache, row, 0, past, 0);
    tc_assign(cache, updated);
    return tc_slice(updated, 1, 0, tc_dim_add(past, 1));
}

static tc_tensor dense(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_linear(x, tc_weight(g, "weight"));
    return x;
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    return tc_layer_rms_norm(g, x, name, .eps = 1e-5);
}

static tc_tensor attention(tc_graph *g, tc_tensor x, tc_dim past, tc_tensor cosines, tc_tensor sines)
{
    tc_tensor q = rotated(heads_of(dense(g, x, "self_attn.q_proj"), HEADS), cosines, sines);
    tc_tensor k = rotated(heads_of(dense(g, x, "self_attn.k_proj"), KV_HEADS), cosines, sines);
    tc_tensor v = heads_of(dense(g, x, "self_attn.v_proj"), KV_HEADS);
    k = remember(g, "keys", k, past);
    v = remember(g, "values", v, past);
    tc_tensor a = tc_scaled_dot_product_attention(q, k, v);
    return dense(g, tc_reshape(tc_permute(a, 1, 0, 2), 1, WIDTH), "self_attn.o_proj");
}

TC_MODEL(smollm2)
{
    tc_weights(g, WEIGHTS);
}

TC_FUNCTION(decode)
{
    tc_dim past = tc_dynamic(g, "past", 0, CAPACITY - 1);
    tc_tensor id = tc_input(g, "id", TC_I64, 1);
    tc_tensor table = tc_weight(g, "embed_tokens.weight");
    tc_tensor cosines = tc_slice(tc_weight(g, "cosines"), 0, past, tc_dim_add(past, 1));
    tc_tensor sines = tc_slice(tc_weight(g, "sines"), 0, past, tc_dim_add(past, 1));
    tc_tensor x = tc_embedding(id, table);
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "layers.%d", i) {
            x = tc_add(x, attention(g, norm(g, x, "input_layernorm"), past, cosines, sines));
            tc_tensor y = norm(g, x, "post_attention_layernorm");
            tc_tensor gate = tc_silu(dense(g, y, "mlp.gate_proj"));
            tc_tensor up = dense(g, y, "mlp.up_proj");
            x = tc_add(x, dense(g, tc_mul(gate, up), "mlp.down_proj"));
        }
    tc_output(g, "logits", tc_linear(norm(g, x, "norm"), table));
}
