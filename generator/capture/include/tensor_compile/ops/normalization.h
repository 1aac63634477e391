/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations over the last axes, channels and vectors. What all of them share is said in ../ops.h. All of them
 * compute 16-bit floats in f32 and round their result alone.
 */
#ifndef TENSOR_COMPILE_OPS_NORMALIZATION_H
#define TENSOR_COMPILE_OPS_NORMALIZATION_H

#include "../model.h"

/* tc_layer_norm(x[, weight][, bias], .eps = 1e-5, .axes = 1, .mean = &m, .inverse = &i): (x - mean) * (1 / sqrt(var +
 * eps)) * weight + bias, mean and population variance over the last `axes` axes (left out: as many as weight has, else
 * 1). tc_rms_norm(x[, weight], .eps, .axes, .inverse = &i): x * (1 / sqrt(mean(x^2) + eps)) * weight. weight and bias
 * have the shape of those axes. eps left out or 0 is 1e-5. *mean and *inverse become the mean and 1 / sqrt(...), of x's
 * shape with those axes of size 1, f32 for 16 bits.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: layer_norm, rms_norm.
 * ONNX: LayerNormalization, RMSNormalization. */
#define tc_layer_norm(...) tc_layer_norm_at(&(const tc_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_rms_norm(...) tc_rms_norm_at(&(const tc_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_norm_args {
    tc_tensor x, weight, bias;
    double eps;
    int axes;
    tc_tensor *mean, *inverse;
    tc_site at;
} tc_norm_args;
tc_tensor tc_layer_norm_at(const tc_norm_args *args);
tc_tensor tc_rms_norm_at(const tc_norm_args *args);

/* tc_batch_norm(x, mean, variance[, weight][, bias], .eps = 1e-5): inference, x[n, c, ...] and the others [c]:
 * (x - mean) * (1 / sqrt(variance + eps)) * weight + bias. eps left out or 0 is 1e-5.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: batch_norm with training=False.
 * ONNX: BatchNormalization. */
#define tc_batch_norm(...) tc_batch_norm_at(&(const tc_batch_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_batch_norm_args {
    tc_tensor x, mean, variance, weight, bias;
    double eps;
    tc_site at;
} tc_batch_norm_args;
tc_tensor tc_batch_norm_at(const tc_batch_norm_args *args);

/* tc_group_norm(x[, weight][, bias], .groups = 32, .eps = 1e-5)
 * tc_instance_norm(x[, weight][, bias], .eps = 1e-5)
 *
 * x[n, c, ...]: (x - mean) * (1 / sqrt(var + eps)) * weight + bias, mean and population variance over the channels of a
 * group and all axes behind, or over the axes behind each channel; weight[c], bias[c]. eps left out or 0 is 1e-5.
 * Dtypes: floats.
 * Shape: groups divides a constant c; instance_norm needs rank 3 or more.
 * Numerics: two passes, sums in order lanes.
 * ATen: group_norm, instance_norm (use_input_stats=True).
 * ONNX: GroupNormalization, InstanceNormalization. */
#define tc_group_norm(...) tc_group_norm_at(&(const tc_group_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_instance_norm(...) tc_instance_norm_at(&(const tc_group_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_group_norm_args {
    tc_tensor x, weight, bias;
    int groups;
    double eps;
    tc_site at;
} tc_group_norm_args;
tc_tensor tc_group_norm_at(const tc_group_norm_args *args);
tc_tensor tc_instance_norm_at(const tc_group_norm_args *args);

/* tc_local_response_norm(x, .size = 5, .alpha = 1e-4, .beta = 0.75, .k = 1)
 *
 * x / (k + alpha * sum / size)^beta, the sum that of the squares in `size` neighbouring channels, size / 2 of them
 * before; x[n, c, ...]. alpha, beta and k left out or 0 are as above.
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: the sum is in order seq; the power is that of tc_pow.
 * ATen: local_response_norm.
 * ONNX: LRN. */
#define tc_local_response_norm(...)                                                                                   \
    tc_local_response_norm_at(&(const tc_local_response_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_local_response_norm_args {
    tc_tensor x;
    int size;
    double alpha, beta, k;
    tc_site at;
} tc_local_response_norm_args;
tc_tensor tc_local_response_norm_at(const tc_local_response_norm_args *args);

/* tc_normalize(x, .p = 2, .axis = 1, .eps = 1e-12)
 *
 * x / maximum(norm, eps), the norm over one axis. p left out or 0 is 2, eps 1e-12; the axis left out is 0.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: normalize (whose axis left out is 1).
 * ONNX: LpNormalization. */
#define tc_normalize(...) tc_normalize_at(&(const tc_normalize_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_normalize_args {
    tc_tensor x;
    int axis;
    double p, eps;
    tc_site at;
} tc_normalize_args;
tc_tensor tc_normalize_at(const tc_normalize_args *args);

#endif
