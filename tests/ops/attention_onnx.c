/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention and rotary embeddings in ONNX's conventions, against its reference.
 */
#include <tensor_compile/model.h>

#define IN(name, ...) tc_input(g, name, TC_F32, __VA_ARGS__)
#define STEPS tc_dim l = tc_dynamic(g, "l", 1, 33)
#define SIZES STEPS, p = tc_dynamic(g, "p", 1, 33), s = tc_dim_add(l, p)

TC_MODEL(attention_onnx)
{
}

/* Behind a cache: grouped heads, a causal mask that begins at its end, softcap, all that can be asked for. */
TC_FUNCTION(op_cached)
{
    SIZES;
    tc_tensor k, v, scores;
    tc_output(g, "y", tc_onnx_attention(IN("q", 2, l, 4 * 8), IN("k", 2, l, 2 * 8), IN("v", 2, l, 2 * 5),
                                        .mask = IN("mask", l, s), .past_key = IN("pk", 2, 2, p, 8),
                                        .past_value = IN("pv", 2, 2, p, 5), .q_heads = 4, .kv_heads = 2, .causal = true,
                                        .softcap = 2, .present_key = &k, .present_value = &v, .scores = &scores,
                                        .scores_at = TC_SCORES_MASKED));
    tc_output(g, "present_k", k);
    tc_output(g, "present_v", v);
    tc_output(g, "scores", scores);
}

/* Heads apart; columns that are padding; a mask of bool with fewer columns. */
TC_FUNCTION(op_lengths)
{
    SIZES;
    tc_tensor q = IN("q", 2, 3, l, 8), k = IN("k", 2, 3, s, 8), v = IN("v", 2, 3, s, 8), scores;
    tc_tensor lengths = tc_clamp(tc_input(g, "lengths", TC_I64, 2), 1, tc_dim_value(g, TC_I64, l));
    tc_output(g, "y", tc_onnx_attention(q, k, v, .lengths = lengths, .scale = 0.5, .scores = &scores));
    tc_output(g, "scores", scores);
    tc_output(g, "short_mask", tc_onnx_attention(q, k, v, .mask = tc_input(g, "seen", TC_BOOL, l, l), .scores = &scores,
                                                 .scores_at = TC_SCORES_SOFTMAX));
    tc_output(g, "softmax", scores);
}

/* The last four columns alone. */
TC_FUNCTION(op_window)
{
    STEPS;
    tc_output(g, "y", tc_scaled_dot_product_attention(IN("q", 2, l, 8), IN("k", 2, l, 8), IN("v", 2, l, 8), .causal = true,
                                                      .window = 4));
}

TC_FUNCTION(op_rotary)
{
    STEPS;
    tc_tensor x = IN("x", 2, 3, l, 8), rows = IN("rows", 2, l, 3 * 8), c = IN("c", 64, 4), s = IN("s", 64, 4);
    tc_tensor at = tc_clamp(tc_input(g, "at", TC_I64, 2, l), 0, 63);
    tc_output(g, "halves", tc_rotary_embedding(x, c, s, at));
    tc_output(g, "pairs", tc_rotary_embedding(x, c, s, at, .interleaved = true));
    tc_output(g, "side_by_side", tc_rotary_embedding(rows, c, s, at, .heads = 3));
    tc_output(g, "partly", tc_rotary_embedding(rows, IN("c4", 2, l, 2), IN("s4", 2, l, 2), .heads = 3, .dims = 4));
    tc_output(g, "partly_pairs", tc_rotary_embedding(x, IN("c6", 2, l, 3), IN("s6", 2, l, 3), .dims = 6, .interleaved = true));
}

/* Decay and delta rule behind a state, grouped heads; and the plain sum. */
TC_FUNCTION(op_linear)
{
    STEPS;
    tc_tensor q = IN("q", 2, l, 4 * 6), k = IN("k", 2, l, 2 * 6), v = IN("v", 2, l, 2 * 5), state;
    tc_output(g, "gated_delta", tc_linear_attention(q, k, v, .state = IN("s", 2, 2, 6, 5), .decay = IN("d", 2, l, 2 * 6),
                                                    .beta = IN("b", 2, l, 2), .q_heads = 4, .kv_heads = 2,
                                                    .present_state = &state));
    tc_output(g, "state", state);
    tc_output(g, "plain", tc_linear_attention(q, k, v, .q_heads = 4, .kv_heads = 2, .scale = 0.5));
}
