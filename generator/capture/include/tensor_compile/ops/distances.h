/* SPDX-License-Identifier: Apache-2.0
 *
 * Distances and similarities of vectors. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_DISTANCES_H
#define TENSOR_COMPILE_OPS_DISTANCES_H

#include "../model.h"

/* tc_cosine_similarity(a, b, axis, eps): sum of (a / maximum(|a|, eps)) * (b / maximum(|b|, eps)) along the axis, which
 * vanishes; |a| is sqrt(sum of a*a) along it.
 * Dtypes: floats.
 * Shape: the operands' broadcast one without the axis.
 * Numerics: 16-bit floats are computed in f32 and rounded once.
 * ATen: cosine_similarity. */
#define tc_cosine_similarity(a, b, axis, eps) tc_cosine_similarity_at(TC_HERE, a, b, axis, eps)
tc_tensor tc_cosine_similarity_at(tc_site at, tc_tensor a, tc_tensor b, int axis, double eps);

/* tc_cdist(a, b, p): a[..., m, d], b[..., n, d] -> [..., m, n], the p-norm (tc_norm) of each difference of two rows.
 * The dims before broadcast.
 * Dtypes: floats.
 * Shape: [..., m, n].
 * Numerics: of the differences themselves for every p (PyTorch may multiply matrices for p = 2); 16-bit floats are
 * computed in f32 and rounded once.
 * ATen: cdist. */
#define tc_cdist(a, b, p) tc_cdist_at(TC_HERE, a, b, p)
tc_tensor tc_cdist_at(tc_site at, tc_tensor a, tc_tensor b, double p);

/* tc_pairwise_distance(a, b, .p = 2, .eps = 1e-6, .keepdims = true)
 *
 * The p-norm (tc_norm) of a - b + eps along the last axis, which vanishes but with .keepdims. p left out or 0 is 2, eps
 * 1e-6.
 * Dtypes: floats.
 * Shape: the operands' broadcast one without the last axis, or with size 1 there.
 * Numerics: 16-bit floats are computed in f32 and rounded once.
 * ATen: pairwise_distance. */
#define tc_pairwise_distance(...) tc_pairwise_distance_at(&(const tc_pairwise_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_pairwise_args {
    tc_tensor a, b;
    double p, eps;
    bool keepdims;
    tc_site at;
} tc_pairwise_args;
tc_tensor tc_pairwise_distance_at(const tc_pairwise_args *args);

#endif
