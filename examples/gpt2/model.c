/* SPDX-License-Identifier: Apache-2.0
 *
 * GPT-2 (Radford, Wu, Child, Luan, Amodei, Sutskever 2019) with a key-value cache: `prefill` takes a whole prompt,
 * `decode` one token behind `past` others. They share weights and state. Names of weights, and their layout (dense layers
 * are [in, out]), are those of Hugging Face's GPT2LMHeadModel without the prefix "transformer.".
 */
#include "../layers.h"
#include "sizes.h"

#ifndef WEIGHTS
#define WEIGHTS "gpt2.safetensors"
#endif

static tc_tensor dense(tc_graph *g, tc_tensor x, const char *name)
{
    TC_SCOPE(g, "%s", name)
        x = tc_add(tc_matmul(x, tc_weight(g, "weight")), tc_weight(g, "bias"));
    return x;
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    return layer_norm(g, x, name, 1e-5);
}

/* [length, HIDDEN] -> [HEADS, length, HEAD] */
static tc_tensor heads(tc_tensor x, tc_dim length)
{
    return tc_permute(tc_reshape(x, length, HEADS, HEAD), 1, 0, 2);
}

/* Writes the new rows into the cache at `past` and gives rows 0 to past + length. */
static tc_tensor remember(tc_graph *g, const char *name, tc_tensor rows, tc_dim past, tc_dim length)
{
    tc_tensor cache = tc_state(g, name, TC_F32, HEADS, CAPACITY, HEAD);
    tc_tensor updated = tc_update_slice(cache, rows, 0, past, 0);
    tc_assign(cache, updated);
    return tc_slice(updated, 1, 0, tc_dim_add(past, length));
}

static tc_tensor attention(tc_graph *g, tc_tensor x, tc_dim past, tc_dim length, bool causal)
{
    tc_tensor part[3];
    tc_split(dense(g, x, "attn.c_attn"), 1, 3, part);
    tc_tensor k = remember(g, "keys", heads(part[1], length), past, length);
    tc_tensor v = remember(g, "values", heads(part[2], length), past, length);
    tc_tensor a = tc_scaled_dot_product_attention(heads(part[0], length), k, v, .causal = causal);
    return dense(g, tc_reshape(tc_permute(a, 1, 0, 2), length, HIDDEN), "attn.c_proj");
}

/* ids [length] -> logits [length, VOCABULARY] */
static void gpt2(tc_graph *g, tc_dim past, tc_dim length, bool causal)
{
    tc_tensor ids = tc_input(g, "ids", TC_I32, length);
    tc_tensor table = tc_weight(g, "wte.weight");
    tc_tensor positions = tc_slice(tc_weight(g, "wpe.weight"), 0, past, tc_dim_add(past, length));
    tc_tensor x = tc_add(tc_embedding(ids, table), positions);
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "h.%d", i) {
            x = tc_add(x, attention(g, norm(g, x, "ln_1"), past, length, causal));
            tc_tensor inner = tc_gelu_tanh(dense(g, norm(g, x, "ln_2"), "mlp.c_fc"));
            x = tc_add(x, dense(g, inner, "mlp.c_proj"));
        }
    tc_output(g, "logits", tc_linear(norm(g, x, "ln_f"), table));
}

TC_MODEL(gpt2)
{
    tc_weights(g, WEIGHTS);
}

TC_FUNCTION(prefill)
{
    tc_dim length = tc_dynamic(g, "length", 1, CAPACITY);
    gpt2(g, tc_dim_sub(length, length), length, true);
}

TC_FUNCTION(decode)
{
    tc_dim past = tc_dynamic(g, "past", 0, CAPACITY - 1);
    gpt2(g, past, tc_dim_sub(tc_dim_add(past, 1), past), false);
}
