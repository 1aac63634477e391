/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_ATTENTION_H
#define TENSOR_COMPILE_OPS_ATTENTION_H

#include "../model.h"

/* tc_scaled_dot_product_attention(q, k, v, .mask = m, .causal = true, .scale = 0.125)
 *
 * q[..., h, l, d], k[..., h', s, d], v[..., h', s, e] -> [..., h, l, e]: softmax(q k^T * scale + mask) v over s. h is a
 * multiple of h' (grouped heads: q's head i uses head i / (h / h')). scale left out is 1/sqrt(d). A bool mask keeps
 * where it is true, an f32 mask is added; it broadcasts to [..., h, l, s]. causal: row i sees columns 0..i.
 * Rank >= 3 for grouped heads, else >= 2. f32. A row without any kept column is NaN.
 * Dtypes: floats; bool or the same float for the mask.
 * Shape: [..., h, l, e].
 * ATen: scaled_dot_product_attention (enable_gqa). */
#define tc_scaled_dot_product_attention(...)                                                                          \
    tc_scaled_dot_product_attention_at(&(const tc_attention_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_attention_args {
    tc_tensor q, k, v, mask;
    bool causal;
    double scale;
    tc_site at;
} tc_attention_args;
tc_tensor tc_scaled_dot_product_attention_at(const tc_attention_args *args);

#endif
