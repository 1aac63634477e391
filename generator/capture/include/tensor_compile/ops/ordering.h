/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefixes along an axis; sorting and what follows from it. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_ORDERING_H
#define TENSOR_COMPILE_OPS_ORDERING_H

#include "../model.h"

/* tc_cumsum(x, axis), tc_cumprod(x, axis), tc_cumulative_max(x, axis), tc_cumulative_min(x, axis),
 * tc_cumsum_reverse(x, axis)
 * y[0] = x[0], y[i] = y[i-1] op x[i] along the axis; tc_cumsum_reverse begins at the end. NaN propagates.
 * Dtypes: numbers.
 * Shape: that of x.
 * Numerics: in this order on every machine, rounded at every step.
 * ATen: cumsum, cumprod, cummax (values), cummin (values).
 * ONNX: CumSum, CumProd. */
#define tc_cumsum(x, axis) tc_cumulative_at(TC_HERE, "tc_cumsum", x, "sum", axis, false)
#define tc_cumprod(x, axis) tc_cumulative_at(TC_HERE, "tc_cumprod", x, "prod", axis, false)
#define tc_cumulative_max(x, axis) tc_cumulative_at(TC_HERE, "tc_cumulative_max", x, "max", axis, false)
#define tc_cumulative_min(x, axis) tc_cumulative_at(TC_HERE, "tc_cumulative_min", x, "min", axis, false)
#define tc_cumsum_reverse(x, axis) tc_cumulative_at(TC_HERE, "tc_cumsum_reverse", x, "sum", axis, true)
tc_tensor tc_cumulative_at(tc_site at, const char *name, tc_tensor x, const char *op, int axis, bool reverse);

/* tc_cumsum_exclusive(x, axis), tc_cumsum_exclusive_reverse(x, axis), tc_cumprod_exclusive(x, axis),
 * tc_cumprod_exclusive_reverse(x, axis), tc_cumprod_reverse(x, axis)
 * exclusive: of the elements before each one alone, y[0] = 0 (1 of products), y[i] = y[i-1] op x[i-1]. reverse: from
 * the end.
 * Dtypes: numbers.
 * Shape: that of x.
 * Numerics: as of tc_cumsum.
 * ATen: none.
 * ONNX: CumSum, CumProd. */
#define tc_cumsum_exclusive(x, axis) tc_cumulative_exclusive_at(TC_HERE, "tc_cumsum_exclusive", x, "sum", axis, false)
#define tc_cumsum_exclusive_reverse(x, axis)                                                                          \
    tc_cumulative_exclusive_at(TC_HERE, "tc_cumsum_exclusive_reverse", x, "sum", axis, true)
#define tc_cumprod_exclusive(x, axis) tc_cumulative_exclusive_at(TC_HERE, "tc_cumprod_exclusive", x, "prod", axis, false)
#define tc_cumprod_exclusive_reverse(x, axis)                                                                         \
    tc_cumulative_exclusive_at(TC_HERE, "tc_cumprod_exclusive_reverse", x, "prod", axis, true)
#define tc_cumprod_reverse(x, axis) tc_cumulative_at(TC_HERE, "tc_cumprod_reverse", x, "prod", axis, true)
tc_tensor tc_cumulative_exclusive_at(tc_site at, const char *name, tc_tensor x, const char *op, int axis, bool reverse);

/* tc_cummax(x, axis, indices), tc_cummin(x, axis, indices)
 * The largest (smallest) element so far, and in the tc_tensor *indices the i64 place of the last one that is equal to
 * it; the last NaN from the first one on.
 * Dtypes: numbers.
 * Shape: that of x.
 * ATen: cummax, cummin. */
#define tc_cummax(x, axis, indices) tc_cummax_at(TC_HERE, x, axis, false, indices)
#define tc_cummin(x, axis, indices) tc_cummax_at(TC_HERE, x, axis, true, indices)
tc_tensor tc_cummax_at(tc_site at, tc_tensor x, int axis, bool smallest, tc_tensor *indices);

/* tc_logcumsumexp(x, axis)
 * log(exp(x[0]) + ... + exp(x[i])): y[0] = x[0], y[i] = m + log1p(exp(l - m)), m the larger and l the smaller one of
 * y[i-1] and x[i].
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: nothing overflows or underflows; each step adds an error of at most 2^-22 and half a unit in y[i]'s last
 * place. f16 and bf16 in f32, rounded once. One iteration of a loop an element of the axis.
 * ATen: logcumsumexp. */
#define tc_logcumsumexp(x, axis) tc_logcumsumexp_at(TC_HERE, x, axis)
tc_tensor tc_logcumsumexp_at(tc_site at, tc_tensor x, int axis);

/* tc_sort(x, axis, descending, indices), tc_argsort(x, axis, descending)
 * The elements along the axis in order, and where they were: i64, in the tc_tensor *indices (NULL: not wanted). Stable:
 * equal elements keep their order, also descending. A NaN is above every number; -0 equals +0.
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: sort (stable), argsort. */
#define tc_sort(x, axis, descending, indices) tc_sort_at(TC_HERE, x, axis, descending, indices)
#define tc_argsort(x, axis, descending) tc_argsort_at(TC_HERE, x, axis, descending)
tc_tensor tc_sort_at(tc_site at, tc_tensor x, int axis, bool descending, tc_tensor *indices);
tc_tensor tc_argsort_at(tc_site at, tc_tensor x, int axis, bool descending);

/* tc_topk(x, k, axis, largest, indices)
 * The k largest (smallest where largest is false) elements along the axis, sorted, and their i64 places. k is a size.
 * Dtypes: all of them.
 * Shape: that of x with k along the axis.
 * Numerics: of equal elements those with the lower index.
 * Errors: k is not within 0..the axis's size.
 * ATen: topk.
 * ONNX: TopK. */
#define tc_topk(x, k, axis, largest, indices) tc_topk_at(TC_HERE, x, TC_DIM(k), axis, largest, indices)
tc_tensor tc_topk_at(tc_site at, tc_tensor x, tc_dim k, int axis, bool largest, tc_tensor *indices);

/* tc_kthvalue(x, k, axis, indices), tc_median(x, axis, indices)
 * The k-th smallest element, counted from 1; the lower one of the two in the middle (of an odd number the middle one).
 * The median of what holds a NaN is the first NaN.
 * Dtypes: all of them, numbers for tc_median.
 * Shape: x without the axis.
 * ATen: kthvalue, median. */
#define tc_kthvalue(x, k, axis, indices) tc_kthvalue_at(TC_HERE, x, TC_DIM(k), axis, indices)
#define tc_median(x, axis, indices) tc_median_at(TC_HERE, x, axis, indices)
tc_tensor tc_kthvalue_at(tc_site at, tc_tensor x, tc_dim k, int axis, tc_tensor *indices);
tc_tensor tc_median_at(tc_site at, tc_tensor x, int axis, tc_tensor *indices);

/* tc_searchsorted(sorted, values, right), tc_bucketize(values, boundaries, right)
 * How many elements of the ascending sorted[n] lie below a value (right: below or equal), for each of the values; or of
 * the sorted[..., n] of each row of values[..., k].
 * Dtypes: all of them, both the same.
 * Shape: i64 of the values' shape.
 * Numerics: counted, n comparisons a value; a NaN among the values lies above all.
 * ATen: searchsorted, bucketize. */
#define tc_searchsorted(sorted, values, right) tc_searchsorted_at(TC_HERE, sorted, values, right)
#define tc_bucketize(values, boundaries, right) tc_searchsorted_at(TC_HERE, boundaries, values, right)
tc_tensor tc_searchsorted_at(tc_site at, tc_tensor sorted, tc_tensor values, bool right);

#endif
