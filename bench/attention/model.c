/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention alone, for attention.py: `prefill` of LENGTH rows, causal or not, and `decode` of one row behind `past`
 * cached ones.
 */
#include <tensor_compile/model.h>

#ifndef LENGTH
#define LENGTH 512
#endif
#ifndef KV_HEADS
#define KV_HEADS 12
#endif

enum { HEADS = 12, HEAD = 64, CAPACITY = 8192 };

TC_MODEL(attention)
{
}

static void prefill_of(tc_graph *g, bool causal)
{
    tc_tensor q = tc_input(g, "q", TC_F32, HEADS, LENGTH, HEAD);
    tc_tensor k = tc_input(g, "k", TC_F32, KV_HEADS, LENGTH, HEAD);
    tc_tensor v = tc_input(g, "v", TC_F32, KV_HEADS, LENGTH, HEAD);
    tc_output(g, "out", tc_scaled_dot_product_attention(q, k, v, .causal = causal));
}

TC_FUNCTION(causal)
{
    prefill_of(g, true);
}

TC_FUNCTION(full)
{
    prefill_of(g, false);
}

/* [1, heads * HEAD] -> [heads, 1, HEAD] */
static tc_tensor heads_of(tc_tensor x, int heads)
{
    return tc_permute(tc_reshape(x, 1, heads, HEAD), 1, 0, 2);
}

static tc_tensor remember(tc_graph *g, const char *name, tc_tensor row, tc_dim past)
{
    tc_tensor cache = tc_state(g, name, TC_F32, KV_HEADS, CAPACITY, HEAD);
    tc_tensor updated = tc_update_slice(cache, heads_of(row, KV_HEADS), 0, past, 0);
    tc_assign(cache, updated);
    return tc_slice(updated, 1, 0, tc_dim_add(past, 1));
}

TC_FUNCTION(decode)
{
    tc_dim past = tc_dynamic(g, "past", 0, CAPACITY - 1);
    tc_tensor q = tc_input(g, "q", TC_F32, 1, HEADS * HEAD);
    tc_tensor k = remember(g, "keys", tc_input(g, "k", TC_F32, 1, KV_HEADS * HEAD), past);
    tc_tensor v = remember(g, "values", tc_input(g, "v", TC_F32, 1, KV_HEADS * HEAD), past);
    tc_tensor out = tc_scaled_dot_product_attention(heads_of(q, HEADS), k, v);
    tc_output(g, "out", tc_reshape(tc_permute(out, 1, 0, 2), 1, HEADS * HEAD));
}
