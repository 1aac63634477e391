/* SPDX-License-Identifier: Apache-2.0
 *
 * Distances and similarities of vectors. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_DISTANCES_H
#define TENSOR_COMPILE_OPS_DISTANCES_H

#include "../model.h"

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
