/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations, softmax and attention. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_NORMALIZATION_H
#define TENSOR_COMPILE_OPS_NORMALIZATION_H

#include "../model.h"

/* tc_batch_norm(x, mean, variance[, weight][, bias], .eps = 1e-5): inference, x[n, c, ...] and the others [c]:
 * (x - mean) * (1 / sqrt(variance + eps)) * weight + bias. f32. eps left out or 0 is 1e-5.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: batch_norm with training=False. */
#define tc_batch_norm(...) tc_batch_norm_at(&(const tc_batch_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_batch_norm_args {
    tc_tensor x, mean, variance, weight, bias;
    double eps;
    tc_site at;
} tc_batch_norm_args;
tc_tensor tc_batch_norm_at(const tc_batch_norm_args *args);

/* tc_layer_norm(x[, weight][, bias], .eps = 1e-5, .axes = 1): (x - mean) * (1 / sqrt(var + eps)) * weight + bias, mean
 * and population variance over the last `axes` axes (left out: as many as weight has, else 1). tc_rms_norm(x[, weight],
 * .eps, .axes): x * (1 / sqrt(mean(x^2) + eps)) * weight. weight and bias have the shape of those axes. f32. eps left
 * out or 0 is 1e-5.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: layer_norm, rms_norm. */
#define tc_layer_norm(...) tc_layer_norm_at(&(const tc_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_rms_norm(...) tc_rms_norm_at(&(const tc_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_norm_args {
    tc_tensor x, weight, bias;
    double eps;
    int axes;
    tc_site at;
} tc_norm_args;
tc_tensor tc_layer_norm_at(const tc_norm_args *args);
tc_tensor tc_rms_norm_at(const tc_norm_args *args);

/* tc_softmax(x, axis), tc_log_softmax(x, axis)
 * exp(x - max) / sum along one axis; log_softmax is (x - max) - log(sum). Floats. A row of -inf alone is NaN.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: softmax, log_softmax. */
#define tc_softmax(x, axis) tc_softmax_at(TC_HERE, x, axis)
#define tc_log_softmax(x, axis) tc_log_softmax_at(TC_HERE, x, axis)
tc_tensor tc_softmax_at(tc_site at, tc_tensor x, int axis);
tc_tensor tc_log_softmax_at(tc_site at, tc_tensor x, int axis);

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
