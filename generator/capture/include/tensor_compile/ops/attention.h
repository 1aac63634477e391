/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_ATTENTION_H
#define TENSOR_COMPILE_OPS_ATTENTION_H

#include "../model.h"

/* tc_scaled_dot_product_attention(q, k, v, .mask = m, .causal = true, .scale = 0.125, .softcap = 50)
 *
 * q[..., h, l, d], k[..., h', s, d], v[..., h', s, e] -> [..., h, l, e]: softmax(q k^T * scale + mask) v over s. h is a
 * multiple of h' (grouped heads: q's head i uses head i / (h / h')). scale left out is 1/sqrt(d). softcap c: c * tanh(y / c)
 * of y = q k^T * scale, before any mask. causal: row i sees columns 0..i. A bool mask keeps where it is true, a float mask
 * is added; it broadcasts to [..., h, l, s]. A row without any kept column is NaN. For rows that begin later than the
 * columns (a cache) compare positions: tc_le(columns, rows) is a mask.
 * Dtypes: floats; bool or the same float for the mask.
 * Shape: [..., h, l, e]; rank 3 or more for grouped heads, else 2.
 * Numerics: 16-bit floats are computed in f32 and rounded once.
 * Errors: no scale where d is dynamic.
 * ATen: scaled_dot_product_attention (enable_gqa; softcap as flex_attention's score_mod).
 * ONNX: Attention. */
#define tc_scaled_dot_product_attention(...)                                                                          \
    tc_scaled_dot_product_attention_at(&(const tc_attention_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_attention_args {
    tc_tensor q, k, v, mask;
    bool causal;
    double scale, softcap;
    tc_site at;
} tc_attention_args;
tc_tensor tc_scaled_dot_product_attention_at(const tc_attention_args *args);

#endif
