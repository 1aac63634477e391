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
 * ATen: reshape.
 * ONNX: Reshape. */
#define tc_reshape(x, ...) tc_reshape_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
#define tc_reshape_scalar(x) tc_reshape_at(TC_HERE, x, 0, NULL)
tc_tensor tc_reshape_at(tc_site at, tc_tensor x, int count, const tc_dim *shape);

/* tc_flatten(x, first)
 * Joins the axes from `first` to the last one.
 * Dtypes: all of them.
 * Shape: the axes before `first`, then the product of the others.
 * ATen: flatten.
 * ONNX: Flatten with axis=1 (which joins the axes before it, too). */
#define tc_flatten(x, first) tc_flatten_at(TC_HERE, x, first)
tc_tensor tc_flatten_at(tc_site at, tc_tensor x, int first);

/* tc_permute(x, axis...): result axis i is x's axis i of the list; tc_transpose swaps two.
 * Dtypes: all of them.
 * Shape: that of x in the new order.
 * ATen: permute, transpose.
 * ONNX: Transpose. */
#define tc_permute(x, ...) tc_permute_at(TC_HERE, x, TC_INT_LIST(__VA_ARGS__))
#define tc_transpose(x, a, b) tc_transpose_at(TC_HERE, x, a, b)
tc_tensor tc_permute_at(tc_site at, tc_tensor x, int count, const int *axes);
tc_tensor tc_transpose_at(tc_site at, tc_tensor x, int a, int b);

/* tc_expand(x, dim...): broadcasts to the shape; -1 keeps x's size; more dims than x has come first.
 * Dtypes: all of them.
 * Shape: the dims.
 * ATen: expand.
 * ONNX: Expand. */
#define tc_expand(x, ...) tc_expand_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_expand_at(tc_site at, tc_tensor x, int count, const tc_dim *shape);

/* tc_squeeze(x, axis), tc_unsqueeze(x, axis)
 * Removes an axis of size 1; inserts one (axis counts in the result).
 * Dtypes: all of them.
 * Shape: that of x without the axis, or with one of size 1.
 * ATen: squeeze, unsqueeze.
 * ONNX: Squeeze, Unsqueeze. */
#define tc_squeeze(x, axis) tc_squeeze_at(TC_HERE, x, axis)
#define tc_unsqueeze(x, axis) tc_unsqueeze_at(TC_HERE, x, axis)
tc_tensor tc_squeeze_at(tc_site at, tc_tensor x, int axis);
tc_tensor tc_unsqueeze_at(tc_site at, tc_tensor x, int axis);

/* tc_squeeze_axes(x, axis...): removes axes of size 1. tc_flatten_range(x, first, last): joins the axes first..last.
 * tc_unflatten(x, axis, dim...): splits one axis, one size may be -1. tc_movedim(x, from, to): moves one axis, the
 * others keep their order. tc_swapaxes(x, a, b): tc_transpose. tc_expand_as(x, like), tc_reshape_as(x, like): to the
 * shape of another tensor.
 * Dtypes: all of them.
 * Shape: as said of each.
 * ATen: squeeze, flatten, unflatten, movedim, moveaxis, swapaxes, swapdims, expand_as, view_as, reshape_as.
 * ONNX: Squeeze. */
#define tc_squeeze_axes(x, ...) tc_squeeze_axes_at(TC_HERE, x, TC_INT_LIST(__VA_ARGS__))
#define tc_flatten_range(x, first, last) tc_flatten_range_at(TC_HERE, x, first, last)
#define tc_unflatten(x, axis, ...) tc_unflatten_at(TC_HERE, x, axis, TC_DIM_LIST(__VA_ARGS__))
#define tc_movedim(x, from, to) tc_movedim_at(TC_HERE, x, from, to)
#define tc_swapaxes(x, a, b) tc_transpose_at(TC_HERE, x, a, b)
#define tc_expand_as(x, like) tc_expand_as_at(TC_HERE, x, like)
#define tc_reshape_as(x, like) tc_reshape_as_at(TC_HERE, x, like)
tc_tensor tc_squeeze_axes_at(tc_site at, tc_tensor x, int count, const int *axes);
tc_tensor tc_flatten_range_at(tc_site at, tc_tensor x, int first, int last);
tc_tensor tc_unflatten_at(tc_site at, tc_tensor x, int axis, int count, const tc_dim *sizes);
tc_tensor tc_movedim_at(tc_site at, tc_tensor x, int from, int to);
tc_tensor tc_expand_as_at(tc_site at, tc_tensor x, tc_tensor like);
tc_tensor tc_reshape_as_at(tc_site at, tc_tensor x, tc_tensor like);

#endif
