/* SPDX-License-Identifier: Apache-2.0
 *
 * One decode step of a model shaped like Llama 3.2 1B: grouped heads, rotary positions, SwiGLU, tied embedding; weights
 * of bf16.
 */
#include "llama_sizes.h"

#include <tensor_compile/model.h>

static tc_tensor weight(tc_graph *g, const char *name)
{
    return tc_cast(tc_weight(g, name), TC_F32);
}

static tc_tensor project(tc_graph *g, tc_tensor x, const char *name)
{
    return tc_linear(x, weight(g, name));
}

static tc_tensor norm(tc_graph *g, tc_tensor x, const char *name)
{
    return tc_rms_norm(x, weight(g, name), .eps = 1e-5);
}

/* [1, heads * HEAD] -> [heads, 1, HEAD] */
static tc_tensor split_heads(tc_tensor x, int heads)
{
    return tc_permute(tc_reshape(x, 1, heads, HEAD), 1, 0, 2);
}

/* The halves of x [heads, 1, HEAD], turned by the angles of the position: cosines and sines [1, 2, HEAD / 2] have them for
 * both, the sines of the first half negative. */
static tc_tensor turn(tc_tensor x, int heads, tc_tensor cosines, tc_tensor sines)
{
    x = tc_reshape(x, heads, 2, HEAD / 2);
    return tc_reshape(tc_add(tc_mul(x, cosines), tc_mul(tc_flip(x, 1), sines)), heads, 1, HEAD);
}

/* Row `past` of a table, for both halves. */
static tc_tensor angles(tc_graph *g, const char *name, tc_dim past)
{
    tc_tensor row = tc_slice(tc_weight(g, name), 0, past, tc_dim_add(past, 1));
    return tc_reshape(tc_cast(row, TC_F32), 1, 2, HEAD / 2);
}

static tc_tensor remember(tc_graph *g, const char *name, tc_tensor rows, tc_dim past)
{
    tc_tensor cache = tc_state(g, name, TC_F32, KV_HEADS, CAPACITY, HEAD);
    tc_tensor updated = tc_update_slice(cache, rows, 0, past, 0);
    tc_assign(cache, updated);
    return tc_slice(updated, 1, 0, tc_dim_add(past, 1));
}

TC_MODEL(llama)
{
    tc_dim past = tc_dynamic(g, "past", 0, CAPACITY - 1);
    tc_tensor ids = tc_input(g, "ids", TC_I32, 1);
    tc_weights(g, WEIGHTS);
    tc_tensor table = tc_weight(g, "embedding");
    tc_tensor x = tc_cast(tc_embedding(ids, table), TC_F32);
    tc_tensor cosines = angles(g, "cosines", past), sines = angles(g, "sines", past);
    for (int i = 0; i < LAYERS; i++)
        TC_SCOPE(g, "layer.%d", i) {
            tc_tensor h = norm(g, x, "norm1");
            tc_tensor q = turn(split_heads(project(g, h, "query"), HEADS), HEADS, cosines, sines);
            tc_tensor k = turn(split_heads(project(g, h, "key"), KV_HEADS), KV_HEADS, cosines, sines);
            k = remember(g, "keys", k, past);
            tc_tensor v = remember(g, "values", split_heads(project(g, h, "value"), KV_HEADS), past);
            tc_tensor a = tc_scaled_dot_product_attention(q, k, v);
            x = tc_add(x, project(g, tc_reshape(tc_permute(a, 1, 0, 2), 1, HIDDEN), "output"));
            h = norm(g, x, "norm2");
            x = tc_add(x, project(g, tc_mul(tc_silu(project(g, h, "gate")), project(g, h, "up")), "down"));
        }
    tc_output(g, "logits", tc_linear(norm(g, x, "norm"), tc_cast(table, TC_F32)));
}
