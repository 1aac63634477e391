/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of tensors, tensors joined of parts, padding; any dtype. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_PARTS_H
#define TENSOR_COMPILE_OPS_PARTS_H

#include "../model.h"

/* tc_slice(x, axis, start, stop), tc_slice_step(x, axis, start, stop, step)
 * Elements start, start + step, ... before stop along an axis. Negative constants count from the end, TC_END is the
 * end. Bounds outside the axis are errors (constant) or guards (dynamic), not clamped. step >= 1.
 * Dtypes: all of them.
 * Shape: that of x with ceil((stop - start) / step) along the axis.
 * ATen: slice.
 * ONNX: Slice. */
#define TC_END ((int64_t)INT64_MAX)
#define tc_slice(x, axis, start, stop) tc_slice_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(stop), 1)
#define tc_slice_step(x, axis, start, stop, step) tc_slice_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(stop), step)
tc_tensor tc_slice_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim stop, int step);

/* tc_select(x, axis, index)
 * The slice at one index of an axis, which vanishes.
 * Dtypes: all of them.
 * Shape: that of x without the axis.
 * ATen: select.
 * ONNX: Gather with a constant index. */
#define tc_select(x, axis, index) tc_select_at(TC_HERE, x, axis, TC_DIM(index))
tc_tensor tc_select_at(tc_site at, tc_tensor x, int axis, tc_dim index);

/* tc_split(x, axis, count, parts): `count` equal slices along the axis into parts[0..count-1]; the size must divide.
 * tc_split_sizes(x, axis, parts, dim...): slices of these sizes, whose sum is the axis's.
 * Dtypes: all of them.
 * Shape: that of x with the size of the part along the axis.
 * ATen: chunk (exact), split.
 * ONNX: Split. */
#define tc_split(x, axis, count, parts) tc_split_at(TC_HERE, x, axis, count, parts)
#define tc_split_sizes(x, axis, parts, ...) tc_split_sizes_at(TC_HERE, x, axis, parts, TC_DIM_LIST(__VA_ARGS__))
void tc_split_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);
void tc_split_sizes_at(tc_site at, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_dim *sizes);

/* tc_narrow(x, axis, start, length): the slice start..start + length. tc_chunk(x, axis, count, parts): slices of
 * ceil(size / count) elements, the last one shorter, into parts[0..]; their number, which may be below count.
 * tc_split_every(x, axis, size, most, parts): slices of `size`, at most `most` of them.
 * Dtypes: all of them.
 * Shape: chunk and split_every need a constant axis (tc_split and tc_split_sizes do not).
 * ATen: narrow, chunk, split (with one size). */
#define tc_narrow(x, axis, start, length) tc_narrow_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(length))
#define tc_chunk(x, axis, count, parts) tc_chunk_at(TC_HERE, x, axis, count, parts)
#define tc_split_every(x, axis, size, most, parts) tc_split_every_at(TC_HERE, x, axis, size, most, parts)
tc_tensor tc_narrow_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim length);
int tc_chunk_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);
int tc_split_every_at(tc_site at, tc_tensor x, int axis, int64_t size, int most, tc_tensor *parts);

/* tc_tensor_split(x, axis, count, parts), tc_tensor_split_places(x, axis, parts, dim...)
 * `count` slices of nearly equal size, the longer ones first, into parts[0..count-1]; slices that end (and begin) at
 * each of the dims and at the ends of the axis, into parts[0..number of dims].
 * Dtypes: all of them.
 * Shape: x with the part's size along the axis, which is constant where a count is given.
 * ATen: tensor_split, hsplit (axis 1), vsplit (axis 0), dsplit (axis 2). */
#define tc_tensor_split(x, axis, count, parts) tc_tensor_split_at(TC_HERE, x, axis, count, parts)
#define tc_tensor_split_places(x, axis, parts, ...)                                                                   \
    tc_tensor_split_places_at(TC_HERE, x, axis, parts, TC_DIM_LIST(__VA_ARGS__))
void tc_tensor_split_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);
void tc_tensor_split_places_at(tc_site at, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_dim *places);

/* tc_sliding(x, axis, size, step): windows of `size` elements, one every `step`, as a new last axis; the axis counts
 * them.
 * Dtypes: all of them.
 * Shape: x with the number of windows along the axis, and a last axis of `size`.
 * ATen: unfold (of a tensor). */
#define tc_sliding(x, axis, size, step) tc_sliding_at(TC_HERE, x, axis, size, step)
tc_tensor tc_sliding_at(tc_site at, tc_tensor x, int axis, int size, int step);

/* tc_concat(axis, x...): tensors of one dtype whose other sizes agree; tc_concat_list for an array.
 * Dtypes: all of them.
 * Shape: that of the tensors with the sum of their sizes along the axis.
 * ATen: cat.
 * ONNX: Concat. */
#define tc_concat(axis, ...) tc_concat_at(TC_HERE, axis, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_concat_list(axis, count, tensors) tc_concat_at(TC_HERE, axis, count, tensors)
tc_tensor tc_concat_at(tc_site at, int axis, int count, const tc_tensor *tensors);

/* tc_stack(axis, x...), tc_stack_list(axis, count, tensors) for an array, tc_unbind(x, axis, count, parts)
 * Tensors of one shape along a new axis (counted in the result); the slices along an axis of `count`, which vanishes,
 * into parts[0..count-1].
 * Dtypes: all of them.
 * Shape: with the new axis of the number of tensors; of a part that of x without the axis.
 * ATen: stack, unbind. */
#define tc_stack(axis, ...) tc_stack_at(TC_HERE, axis, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_stack_list(axis, count, tensors) tc_stack_at(TC_HERE, axis, count, tensors)
#define tc_unbind(x, axis, count, parts) tc_unbind_at(TC_HERE, x, axis, count, parts)
tc_tensor tc_stack_at(tc_site at, int axis, int count, const tc_tensor *tensors);
void tc_unbind_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);

/* tc_update_slice(x, y, start...): x with y written at the start, one dim an axis; y has x's rank and dtype. Must fit:
 * proved, or a guard. The write to a cache: tc_assign(cache, tc_update_slice(cache, y, 0, position, 0)).
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: slice_scatter. */
#define tc_update_slice(x, y, ...) tc_update_slice_at(TC_HERE, x, y, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_update_slice_at(tc_site at, tc_tensor x, tc_tensor y, int count, const tc_dim *start);

/* tc_slice_scatter(x, y, axis, start, stop, step), tc_select_scatter(x, y, axis, index)
 * x with y in the place of tc_slice_step(x, axis, start, stop, step), of tc_select(x, axis, index).
 * Dtypes: all of them, x and y the same.
 * Shape: that of x; y has that of what it replaces.
 * ATen: slice_scatter, select_scatter. */
#define tc_slice_scatter(x, y, axis, start, stop, step)                                                               \
    tc_slice_scatter_at(TC_HERE, x, y, axis, TC_DIM(start), TC_DIM(stop), step)
#define tc_select_scatter(x, y, axis, index) tc_select_scatter_at(TC_HERE, x, y, axis, TC_DIM(index))
tc_tensor tc_slice_scatter_at(tc_site at, tc_tensor x, tc_tensor y, int axis, tc_dim start, tc_dim stop, int step);
tc_tensor tc_select_scatter_at(tc_site at, tc_tensor x, tc_tensor y, int axis, tc_dim index);

/* tc_pad(x, .low = {0, 1}, .high = {0, 1}, .value = 0): adds elements of a constant before and after each axis (axis i:
 * low[i], high[i] >= 0). tc_pad_axis(x, axis, low, high, value) pads one axis by dims.
 * Dtypes: all of them.
 * Shape: that of x with low + high added along each axis.
 * ATen: constant_pad_nd (which
 * counts axes from the end).
 * ONNX: Pad with mode=constant. */
#define tc_pad(...) tc_pad_at(&(const tc_pad_args){__VA_ARGS__, .at = TC_HERE})
#define tc_pad_axis(x, axis, low, high, value)                                                                        \
    tc_pad_axis_at(TC_HERE, x, axis, TC_DIM(low), TC_DIM(high), TC_OPERAND(value))
typedef struct tc_pad_args {
    tc_tensor x;
    int low[TC_MAX_RANK], high[TC_MAX_RANK];
    double value;
    tc_site at;
} tc_pad_args;
tc_tensor tc_pad_at(const tc_pad_args *args);
tc_tensor tc_pad_axis_at(tc_site at, tc_tensor x, int axis, tc_dim low, tc_dim high, tc_operand value);

#endif
