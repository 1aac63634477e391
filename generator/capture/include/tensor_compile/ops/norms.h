/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations over channels and vectors, norms, distances. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_NORMS_H
#define TENSOR_COMPILE_OPS_NORMS_H

#include "../model.h"

/* tc_group_norm(x[, weight][, bias], .groups = 32, .eps = 1e-5)
 * tc_instance_norm(x[, weight][, bias], .eps = 1e-5)
 *
 * x[n, c, ...]: (x - mean) * (1 / sqrt(var + eps)) * weight + bias, mean and population variance over the channels of a
 * group and all axes behind, or over the axes behind each channel; weight[c], bias[c]. eps left out or 0 is 1e-5.
 * Dtypes: f32.
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
 * Dtypes: f32.
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

/* tc_norm(x, p, axis...), tc_norm_keepdims(x, p, axis...)
 *
 * (sum of |x|^p)^(1/p) over the axes, all where none is named; p a C number: 2 is sqrt(sum of x*x), 1 the sum of |x|,
 * INFINITY the largest and -INFINITY the smallest |x|, 0 how many are not 0.
 * Dtypes: f32.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * Numerics: sums in order lanes; other p by tc_pow.
 * ATen: linalg_vector_norm, norm. */
#define tc_norm(x, ...) tc_norm_at(TC_HERE, x, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_norm_keepdims(x, ...) tc_norm_at(TC_HERE, x, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_norm_at(tc_site at, tc_tensor x, double p, bool keepdims, int count, const int *axes);

/* tc_normalize(x, .p = 2, .axis = 1, .eps = 1e-12)
 *
 * x / maximum(norm, eps), the norm over one axis. p left out or 0 is 2, eps 1e-12; the axis left out is 0.
 * Dtypes: f32.
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

/* tc_cosine_similarity(a, b, axis, eps): sum of (a / maximum(|a|, eps)) * (b / maximum(|b|, eps)) along the axis, which
 * vanishes; |a| is sqrt(sum of a*a) along it.
 * Dtypes: f32.
 * Shape: the operands' broadcast one without the axis.
 * ATen: cosine_similarity. */
#define tc_cosine_similarity(a, b, axis, eps) tc_cosine_similarity_at(TC_HERE, a, b, axis, eps)
tc_tensor tc_cosine_similarity_at(tc_site at, tc_tensor a, tc_tensor b, int axis, double eps);

/* tc_cdist(a, b, p): a[..., m, d], b[..., n, d] -> [..., m, n], the p-norm (tc_norm) of each difference of two rows. The
 * dims before broadcast.
 * Dtypes: f32.
 * Shape: [..., p, r].
 * Numerics: of the differences themselves for every p (PyTorch may multiply matrices for p = 2).
 * ATen: cdist. */
#define tc_cdist(a, b, p) tc_cdist_at(TC_HERE, a, b, p)
tc_tensor tc_cdist_at(tc_site at, tc_tensor a, tc_tensor b, double p);

#endif
