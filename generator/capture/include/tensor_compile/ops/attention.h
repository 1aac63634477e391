/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_ATTENTION_H
#define TENSOR_COMPILE_OPS_ATTENTION_H

#include "../model.h"

/* What .scores is, behind which step: the scaled products, limited by softcap, masked, or their softmax. */
typedef enum tc_attention_scores { TC_SCORES_SCALED, TC_SCORES_CAPPED, TC_SCORES_MASKED, TC_SCORES_SOFTMAX } tc_attention_scores;

/* tc_scaled_dot_product_attention(q, k, v, .mask = m, .causal = true, .offset = past, .window = 128, .lengths = n,
 * .scale = 0.125, .softcap = 50, .scores = &scores, .scores_at = TC_SCORES_SOFTMAX)
 *
 * q[..., h, l, d], k[..., h', s, d], v[..., h', s, e] -> [..., h, l, e]: softmax(q k^T * scale + mask) v over s. h is a
 * multiple of h' (grouped heads: q's head i uses head i / (h / h')). scale left out is 1/sqrt(d). softcap c: c * tanh(y
 * / c) of y = q k^T * scale, before any mask. causal: row i sees columns 0..i + offset (a dim; rows that begin behind a
 * cache of that length), with window w the last w of them alone. lengths[b]: the columns that there are of each batch,
 * axis 0. A bool mask keeps where it is true, a float mask is added; it broadcasts to [..., h, l, s]. What causal,
 * lengths and a bool mask leave out is no term: it may be infinite or NaN, and a row without any kept column is 0, as is
 * one to whose columns a float mask adds -inf. *scores becomes [..., h, l, s], of the step that scores_at names.
 * Dtypes: floats; bool or the same float for the mask, i32 or i64 for lengths.
 * Shape: [..., h, l, e]; rank 3 or more for grouped heads, else 2.
 * Numerics: 16-bit floats are computed in f32 and rounded once.
 * Errors: no scale where d is dynamic; offset or window without causal.
 * ATen: scaled_dot_product_attention (enable_gqa; softcap as flex_attention's score_mod).
 * ONNX: Attention, in whose conventions tc_onnx_attention is. */
#define tc_scaled_dot_product_attention(...)                                                                          \
    tc_scaled_dot_product_attention_at(&(const tc_attention_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_attention_args {
    tc_tensor q, k, v, mask;
    bool causal;
    double scale, softcap;
    tc_dim offset;
    int window;
    tc_tensor lengths, *scores;
    tc_attention_scores scores_at;
    tc_site at; /* set by the macro, here and below */
} tc_attention_args;
tc_tensor tc_scaled_dot_product_attention_at(const tc_attention_args *args);

/* tc_onnx_attention(q, k, v, .mask = m, .past_key = pk, .past_value = pv, .q_heads = 8, .kv_heads = 2, .causal = true,
 * .lengths = n, .scale, .softcap, .window, .present_key = &k, .present_value = &v, .scores = &scores, .scores_at)
 *
 * tc_scaled_dot_product_attention of q[b, h, l, d], k[b, h', s, d], v[b, h', s, e], or of rank 3 with heads side by
 * side, q[b, l, h
 * * d] and so on, whose numbers q_heads and kv_heads name; the result is of the same form. past_key[b, h', p, d] and
 * past_value[b, h', p, e] come before k and v, and rows then begin at p; present_key and present_value become both
 * together. A mask with fewer columns than there are hides the others.
 * Dtypes: as tc_scaled_dot_product_attention.
 * Shape: [b, h, l, e], or [b, l, h * e].
 * Numerics: as tc_scaled_dot_product_attention.
 * Errors: numbers of heads that do not divide; one of past_key and past_value alone.
 * ATen: none.
 * ONNX: Attention; MultiHeadAttention and GroupQueryAttention of com.microsoft in parts. */
#define tc_onnx_attention(...) tc_onnx_attention_at(&(const tc_onnx_attention_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_onnx_attention_args {
    tc_tensor q, k, v, mask, past_key, past_value, lengths;
    int q_heads, kv_heads;
    bool causal;
    double scale, softcap;
    int window;
    tc_tensor *present_key, *present_value, *scores;
    tc_attention_scores scores_at;
    tc_site at;
} tc_onnx_attention_args;
tc_tensor tc_onnx_attention_at(const tc_onnx_attention_args *args);

/* tc_rotary_embedding(x, cosines, sines, .positions = p, .heads = 8, .dims = 32, .interleaved = true)
 *
 * Turns pairs of features of x[b, h, l, d], or [b, l, h * d] with .heads = h, by the angles of their places: (x1, x2)
 * become (cos x1 - sin x2, sin x1 + cos x2). x1 and x2 are the halves of the first `dims` features (left out: of all),
 * or with interleaved those of even and of odd number; the others stay. cosines and sines are [b, l, dims / 2]; with
 * positions[b, l] tables [places, dims / 2] that are read at them.
 * Dtypes: floats, one for all; i32 or i64 for positions.
 * Shape: that of x.
 * Numerics: f16 and bf16 in f32, rounded once.
 * Errors: an odd or dynamic number of features. A position beyond the table is a status.
 * ATen: none.
 * ONNX: RotaryEmbedding. */
#define tc_rotary_embedding(...) tc_rotary_embedding_at(&(const tc_rotary_embedding_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_rotary_embedding_args {
    tc_tensor x, cosines, sines, positions;
    int heads, dims;
    bool interleaved;
    tc_site at;
} tc_rotary_embedding_args;
tc_tensor tc_rotary_embedding_at(const tc_rotary_embedding_args *args);

/* tc_linear_attention(q, k, v, .state = s, .decay = d, .beta = b, .q_heads = 8, .kv_heads = 2, .scale,
 * .present_state = &s)
 *
 * A state S[b, h', dk, dv] that the steps t of q[b, t, h * dk], k[b, t, h' * dk] and v[b, t, h' * dv] pass on, 0 where
 * none is given: S := exp(d) S where there is a decay [b, t, h' * dk] or [b, t, h']; S := S + k (v - S^T k)^T beta
 * where there is a beta [b, t, h'] or [b, t, 1], else S := S + k v^T; the result is scale * q^T S. q's head i uses state
 * i / (h / h'); the scale left out is 1 / sqrt(dk). *present_state becomes the last state.
 * Dtypes: floats of one dtype.
 * Shape: [b, t, h * dv].
 * Numerics: f16 and bf16 are computed in f32 throughout, and results rounded once.
 * Errors: no scale where dk is dynamic; numbers of heads that do not divide.
 * ATen: none.
 * ONNX: LinearAttention. */
#define tc_linear_attention(...) tc_linear_attention_at(&(const tc_linear_attention_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_linear_attention_args {
    tc_tensor q, k, v, state, decay, beta;
    int q_heads, kv_heads;
    double scale;
    tc_tensor *present_state;
    tc_site at;
} tc_linear_attention_args;
tc_tensor tc_linear_attention_at(const tc_linear_attention_args *args);

#endif
