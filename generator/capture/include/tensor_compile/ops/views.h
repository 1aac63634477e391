/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: the same elements in another order or shape, any dtype. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_VIEWS_H
#define TENSOR_COMPILE_OPS_VIEWS_H

#include "../model.h"

/* tc_reshape(x, dim...): row-major order kept; at most one dim is -1 and takes what remains. tc_reshape_scalar(x): to
 * rank 0.
 * Dtypes: all of them.
 * Shape: the dims.
 * ATen: reshape. */
#define tc_reshape(x, ...) tc_reshape_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
#define tc_reshape_scalar(x) tc_reshape_at(TC_HERE, x, 0, NULL)
tc_tensor tc_reshape_at(tc_site at, tc_tensor x, int count, const tc_dim *shape);

/* tc_flatten(x, first)
 * Joins the axes from `first` to the last one.
 * Dtypes: all of them.
 * Shape: the axes before `first`, then the product of the others.
 * ATen: flatten. */
#define tc_flatten(x, first) tc_flatten_at(TC_HERE, x, first)
tc_tensor tc_flatten_at(tc_site at, tc_tensor x, int first);

/* tc_permute(x, axis...): result axis i is x's axis i of the list; tc_transpose swaps two.
 * Dtypes: all of them.
 * Shape: that of x in the new order.
 * ATen: permute, transpose. */
#define tc_permute(x, ...) tc_permute_at(TC_HERE, x, TC_INT_LIST(__VA_ARGS__))
#define tc_transpose(x, a, b) tc_transpose_at(TC_HERE, x, a, b)
tc_tensor tc_permute_at(tc_site at, tc_tensor x, int count, const int *axes);
tc_tensor tc_transpose_at(tc_site at, tc_tensor x, int a, int b);

/* tc_expand(x, dim...): broadcasts to the shape; -1 keeps x's size; more dims than x has come first.
 * Dtypes: all of them.
 * Shape: the dims.
 * ATen: expand. */
#define tc_expand(x, ...) tc_expand_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_expand_at(tc_site at, tc_tensor x, int count, const tc_dim *shape);

/* tc_slice(x, axis, start, stop), tc_slice_step(x, axis, start, stop, step)
 * Elements start, start + step, ... before stop along an axis. Negative constants count from the end, TC_END is the end.
 * Bounds outside the axis are errors (constant) or guards (dynamic), not clamped. step >= 1.
 * Dtypes: all of them.
 * Shape: that of x with ceil((stop - start) / step) along the axis.
 * ATen: slice. */
#define TC_END ((int64_t)INT64_MAX)
#define tc_slice(x, axis, start, stop) tc_slice_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(stop), 1)
#define tc_slice_step(x, axis, start, stop, step) tc_slice_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(stop), step)
tc_tensor tc_slice_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim stop, int step);

/* tc_select(x, axis, index)
 * The slice at one index of an axis, which vanishes.
 * Dtypes: all of them.
 * Shape: that of x without the axis.
 * ATen: select. */
#define tc_select(x, axis, index) tc_select_at(TC_HERE, x, axis, TC_DIM(index))
tc_tensor tc_select_at(tc_site at, tc_tensor x, int axis, tc_dim index);

/* tc_squeeze(x, axis), tc_unsqueeze(x, axis)
 * Removes an axis of size 1; inserts one (axis counts in the result).
 * Dtypes: all of them.
 * Shape: that of x without the axis, or with one of size 1.
 * ATen: squeeze, unsqueeze. */
#define tc_squeeze(x, axis) tc_squeeze_at(TC_HERE, x, axis)
#define tc_unsqueeze(x, axis) tc_unsqueeze_at(TC_HERE, x, axis)
tc_tensor tc_squeeze_at(tc_site at, tc_tensor x, int axis);
tc_tensor tc_unsqueeze_at(tc_site at, tc_tensor x, int axis);

#endif
