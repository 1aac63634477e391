/* SPDX-License-Identifier: Apache-2.0
 *
 * Products, deviations and logarithms of sums over axes. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_STATISTICS_H
#define TENSOR_COMPILE_OPS_STATISTICS_H

#include "../model.h"

/* tc_prod(x, axis...), tc_prod_keepdims(x, axis...)
 * The product over the named axes, all where none is named. An empty product is 1.
 * Dtypes: numbers; integers wrap.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * Numerics: floats in the order `lanes`.
 * ATen: prod.
 * ONNX: ReduceProd. */
#define tc_prod(...) tc_prod_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_prod_keepdims(...) tc_prod_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_prod_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);

/* tc_std(x, axis...), tc_std_unbiased(x, axis...), and the same with _keepdims
 * The square root of tc_var, of tc_var_unbiased.
 * Dtypes: floats.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * ATen: std with correction=0, std. */
#define tc_std(...) tc_std_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 0, false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_std_keepdims(...) tc_std_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 0, true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_std_unbiased(...) tc_std_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 1, false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_std_unbiased_keepdims(...) tc_std_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 1, true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_std_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *axes);

/* tc_logsumexp(x, axis...), tc_logsumexp_keepdims(x, axis...)
 * log(sum(exp(x - m))) + m, m the largest element over the axes, 0 where that is infinite or NaN.
 * Dtypes: floats.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * Errors: an axis of size 0.
 * ATen: logsumexp.
 * ONNX: ReduceLogSumExp. */
#define tc_logsumexp(...) tc_logsumexp_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_logsumexp_keepdims(...) tc_logsumexp_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_logsumexp_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);

#endif
