/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions over axes, and what is made of them: deviations, logarithms of sums, norms. What all of
 * them share is said in ../ops.h. Those of several steps compute 16-bit floats in f32 and round their result alone.
 */
#ifndef TENSOR_COMPILE_OPS_REDUCTIONS_H
#define TENSOR_COMPILE_OPS_REDUCTIONS_H

#include "../model.h"

/* tc_sum(x, axis...) and so on: over the named axes, all where none is named. The axes vanish from the shape; the forms
 * ending in _keepdims leave size 1. sum: numbers (f32 in the order `lanes`), an empty sum is 0. mean: floats, the sum
 * divided by the count. amax, amin: numbers, no axis of size 0; NaN propagates. any, all: bool.
 * Dtypes: numbers for sum, amax and amin, floats for mean, bool for any and all.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * ATen: sum, mean, amax, amin, any, all.
 * ONNX: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceMax of bool, ReduceMin of bool. */
#define tc_sum(...) tc_sum_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_mean(...) tc_mean_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amax(...) tc_amax_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amin(...) tc_amin_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_any(...) tc_any_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_all(...) tc_all_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_sum_keepdims(...) tc_sum_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_mean_keepdims(...) tc_mean_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amax_keepdims(...) tc_amax_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amin_keepdims(...) tc_amin_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_any_keepdims(...) tc_any_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_all_keepdims(...) tc_all_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_sum_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_mean_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_amax_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_amin_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_any_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_all_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);

/* tc_sum_where(x, where, axis...), tc_prod_where, tc_amax_where, tc_amin_where, tc_mean_where, tc_any_where,
 * tc_all_where Over the elements of x for which the predicate `where` is true. The others are no terms: what they hold,
 * NaN too, has no effect. `where` broadcasts to x. Without any term a sum is +0, a product 1, a maximum -inf or the
 * smallest integer, a minimum +inf or the largest, a mean NaN, any false and all true. With _keepdims as above.
 * Dtypes: those of tc_sum and its kin; where is bool.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * Numerics: docs/numerics.md, Predicates; a mean is the sum divided by the number of terms.
 * Errors: a predicate that does not broadcast to x.
 * ATen: none, torch.masked has them in Python. */
#define tc_sum_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_SUM, x, false, __VA_ARGS__)
#define tc_prod_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_PROD, x, false, __VA_ARGS__)
#define tc_amax_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_AMAX, x, false, __VA_ARGS__)
#define tc_amin_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_AMIN, x, false, __VA_ARGS__)
#define tc_mean_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_MEAN, x, false, __VA_ARGS__)
#define tc_any_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_ANY, x, false, __VA_ARGS__)
#define tc_all_where(x, ...) TC_REDUCE_WHERE_(TC_WHERE_ALL, x, false, __VA_ARGS__)
#define tc_sum_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_SUM, x, true, __VA_ARGS__)
#define tc_prod_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_PROD, x, true, __VA_ARGS__)
#define tc_amax_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_AMAX, x, true, __VA_ARGS__)
#define tc_amin_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_AMIN, x, true, __VA_ARGS__)
#define tc_mean_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_MEAN, x, true, __VA_ARGS__)
#define tc_any_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_ANY, x, true, __VA_ARGS__)
#define tc_all_where_keepdims(x, ...) TC_REDUCE_WHERE_(TC_WHERE_ALL, x, true, __VA_ARGS__)
#define TC_REDUCE_WHERE_(kind, x, keepdims, ...)                                                                       \
    tc_reduce_where_at(TC_HERE, kind, x, TC_HEAD(__VA_ARGS__, 0), keepdims, TC_AXIS_LIST(__VA_ARGS__))
typedef enum tc_where_kind {
    TC_WHERE_SUM,
    TC_WHERE_PROD,
    TC_WHERE_AMAX,
    TC_WHERE_AMIN,
    TC_WHERE_MEAN,
    TC_WHERE_ANY,
    TC_WHERE_ALL
} tc_where_kind;
tc_tensor tc_reduce_where_at(tc_site at, tc_where_kind kind, tc_tensor x, tc_tensor where, bool keepdims, int count,
                             const int *axes);

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

/* tc_var(x, axis...), tc_var_keepdims(x, axis...), tc_var_unbiased(x, axis...), tc_var_unbiased_keepdims(x, axis...)
 * Variance, floats, two passes: the mean of (x - mean)^2. tc_var divides by the count n; tc_var_unbiased by n - 1, as
 * PyTorch does by default. NaN of no elements.
 * Dtypes: floats.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * ATen: var with correction=0, var. */
#define tc_var(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 0, false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_var_keepdims(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 0, true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_var_unbiased(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 1, false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_var_unbiased_keepdims(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 1, true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_var_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *axes);

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

/* tc_var_mean(x, &mean, axis...), tc_std_mean(x, &mean, axis...)
 * The variance or its root as tc_var and tc_std have them, and in the C variable `mean` the mean, which is computed
 * once for both. With _keepdims, _unbiased and _unbiased_keepdims as there.
 * Dtypes: floats.
 * Shape: both that of x without the axes, or with size 1 there (keepdims).
 * ATen: var_mean and std_mean with correction=0, var_mean, std_mean. */
#define tc_var_mean(x, ...) TC_VAR_MEAN_(x, false, 0, false, __VA_ARGS__)
#define tc_var_mean_keepdims(x, ...) TC_VAR_MEAN_(x, false, 0, true, __VA_ARGS__)
#define tc_var_mean_unbiased(x, ...) TC_VAR_MEAN_(x, false, 1, false, __VA_ARGS__)
#define tc_var_mean_unbiased_keepdims(x, ...) TC_VAR_MEAN_(x, false, 1, true, __VA_ARGS__)
#define tc_std_mean(x, ...) TC_VAR_MEAN_(x, true, 0, false, __VA_ARGS__)
#define tc_std_mean_keepdims(x, ...) TC_VAR_MEAN_(x, true, 0, true, __VA_ARGS__)
#define tc_std_mean_unbiased(x, ...) TC_VAR_MEAN_(x, true, 1, false, __VA_ARGS__)
#define tc_std_mean_unbiased_keepdims(x, ...) TC_VAR_MEAN_(x, true, 1, true, __VA_ARGS__)
#define TC_VAR_MEAN_(x, root, correction, keepdims, ...)                                                               \
    tc_var_mean_at(TC_HERE, x, TC_HEAD(__VA_ARGS__, 0), root, correction, keepdims, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_var_mean_at(tc_site at, tc_tensor x, tc_tensor *mean, bool root, int correction, bool keepdims, int count,
                         const int *axes);

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

/* tc_norm(x, p, axis...), tc_norm_keepdims(x, p, axis...)
 *
 * (sum of |x|^p)^(1/p) over the axes, all where none is named; p a C number: 2 is sqrt(sum of x*x), 1 the sum of |x|,
 * INFINITY the largest and -INFINITY the smallest |x|, 0 how many are not 0.
 * Dtypes: floats.
 * Shape: that of x without the axes, or with size 1 there (keepdims).
 * Numerics: sums in order lanes; other p by tc_pow.
 * ATen: linalg_vector_norm, norm.
 * ONNX: ReduceL2 and ReduceL1. */
#define tc_norm(x, ...) tc_norm_at(TC_HERE, x, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_norm_keepdims(x, ...) tc_norm_at(TC_HERE, x, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_norm_at(tc_site at, tc_tensor x, double p, bool keepdims, int count, const int *axes);

/* tc_argmax(x, axis), tc_argmin(x, axis), tc_argmax_keepdims(x, axis), tc_argmin_keepdims(x, axis)
 * The i64 index of the first largest (smallest) element along one axis, which vanishes; numbers; NaN is the extreme.
 * Dtypes: numbers; the result is i64.
 * Shape: that of x without the axis, or with size 1 there (keepdims).
 * ATen: argmax, argmin.
 * ONNX: ArgMax, ArgMin. */
#define tc_argmax(x, axis) tc_argmax_at(TC_HERE, x, axis, false)
#define tc_argmin(x, axis) tc_argmin_at(TC_HERE, x, axis, false)
#define tc_argmax_keepdims(x, axis) tc_argmax_at(TC_HERE, x, axis, true)
#define tc_argmin_keepdims(x, axis) tc_argmin_at(TC_HERE, x, axis, true)
tc_tensor tc_argmax_at(tc_site at, tc_tensor x, int axis, bool keepdims);
tc_tensor tc_argmin_at(tc_site at, tc_tensor x, int axis, bool keepdims);

#endif
