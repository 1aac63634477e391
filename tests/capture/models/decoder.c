/* SPDX-License-Identifier: Apache-2.0
 *
 * One decoder layer twice, its KV cache as state, prefill and decode as functions that share weights and state.
 */
#include <tensor_compile/model.h>

enum { WIDTH = 32, HEADS = 4, SHARED = 2, SIZE = 8, ROOM = 64 };

/* The rows of x at positions past.. of the cache, attending to all before them. */
static tc_tensor attend(tc_graph *g, tc_tensor x, tc_dim past)
{
    tc_dim rows = tc_size(x, 0), all = tc_dim_add(past, rows);
    tc_tensor q = tc_permute(tc_reshape(tc_linear(x, tc_weight(g, "q")), rows, HEADS, SIZE), 1, 0, 2);
    tc_tensor k = tc_permute(tc_reshape(tc_linear(x, tc_weight(g, "k")), rows, SHARED, SIZE), 1, 0, 2);
    tc_tensor v = tc_permute(tc_reshape(tc_linear(x, tc_weight(g, "v")), rows, SHARED, SIZE), 1, 0, 2);
    tc_tensor keys = tc_state(g, "cache.k", TC_F32, SHARED, ROOM, SIZE);
    tc_tensor values = tc_state(g, "cache.v", TC_F32, SHARED, ROOM, SIZE);
    tc_tensor new_keys = tc_update_slice(keys, k, 0, past, 0), new_values = tc_update_slice(values, v, 0, past, 0);
    tc_assign(keys, new_keys);
    tc_assign(values, new_values);
    tc_tensor row = tc_arange_step(g, TC_I64, past, all, 1), column = tc_arange(g, TC_I64, all);
    tc_tensor mask = tc_le(tc_unsqueeze(column, 0), tc_unsqueeze(row, 1));
    tc_tensor y = tc_scaled_dot_product_attention(q, tc_slice(new_keys, 1, 0, all), tc_slice(new_values, 1, 0, all),
                                                  .mask = mask);
    return tc_reshape(tc_permute(y, 1, 0, 2), rows, WIDTH);
}

static tc_dim past(tc_graph *g)
{
    return tc_dynamic(g, "past", 0, ROOM - 1);
}

TC_GRAPH(block)
{
    tc_tensor x = tc_parameter(g, "x");
    tc_tensor h = attend(g, tc_rms_norm(x, tc_weight(g, "norm1")), past(g));
    x = tc_add(x, tc_linear(h, tc_weight(g, "o")));
    h = tc_linear(tc_rms_norm(x, tc_weight(g, "norm2")), tc_weight(g, "up"));
    tc_output(g, "y", tc_add(x, tc_linear(tc_silu(h), tc_weight(g, "down"))));
}

static void run(tc_graph *g, tc_tensor tokens)
{
    tc_tensor table = tc_weight(g, "embed"), x = tc_embedding(tokens, table);
    for (int i = 0; i < 2; ++i)
        x = tc_call(g, block, tc_name(g, "block.%d", i), x);
    tc_tensor last = tc_slice(x, 0, -1, TC_END);
    tc_output(g, "logits", tc_linear(last, table)); /* tied */
}

TC_MODEL(decoder)
{
    tc_weights(g, "decoder.safetensors");
}

TC_FUNCTION(prefill)
{
    run(g, tc_input(g, "tokens", TC_I32, tc_dynamic(g, "seq", 1, ROOM)));
}

TC_FUNCTION(decode)
{
    run(g, tc_input(g, "token", TC_I32, 1));
}
