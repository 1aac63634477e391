/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining, cutting and padding tensors; tensors made of constants. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_MAKING_H
#define TENSOR_COMPILE_OPS_MAKING_H

#include "../model.h"

/* tc_concat(axis, x...): tensors of one dtype whose other sizes agree; tc_concat_list for an array.
 * Dtypes: all of them.
 * Shape: that of the tensors with the sum of their sizes along the axis.
 * ATen: cat. */
#define tc_concat(axis, ...) tc_concat_at(TC_HERE, axis, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_concat_list(axis, count, tensors) tc_concat_at(TC_HERE, axis, count, tensors)
tc_tensor tc_concat_at(tc_site at, int axis, int count, const tc_tensor *tensors);

/* tc_split(x, axis, count, parts): `count` equal slices along the axis into parts[0..count-1]; the size must divide.
 * tc_split_sizes(x, axis, parts, dim...): slices of these sizes, whose sum is the axis's.
 * Dtypes: all of them.
 * Shape: that of x with the size of the part along the axis.
 * ATen: chunk (exact), split. */
#define tc_split(x, axis, count, parts) tc_split_at(TC_HERE, x, axis, count, parts)
#define tc_split_sizes(x, axis, parts, ...) tc_split_sizes_at(TC_HERE, x, axis, parts, TC_DIM_LIST(__VA_ARGS__))
void tc_split_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);
void tc_split_sizes_at(tc_site at, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_dim *sizes);

/* tc_pad(x, .low = {0, 1}, .high = {0, 1}, .value = 0): adds elements of a constant before and after each axis (axis i:
 * low[i], high[i] >= 0). tc_pad_axis(x, axis, low, high, value) pads one axis by dims.
 * Dtypes: all of them.
 * Shape: that of x with low + high added along each axis.
 * ATen: constant_pad_nd (which
 * counts axes from the end). */
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

/* tc_update_slice(x, y, start...): x with y written at the start, one dim an axis; y has x's rank and dtype. Must fit:
 * proved, or a guard. The write to a cache: tc_assign(cache, tc_update_slice(cache, y, 0, position, 0)).
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: slice_scatter. */
#define tc_update_slice(x, y, ...) tc_update_slice_at(TC_HERE, x, y, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_update_slice_at(tc_site at, tc_tensor x, tc_tensor y, int count, const tc_dim *start);

/* tc_arange(g, dtype, stop): 0, 1, ... stop - 1; tc_arange_step(g, dtype, start, stop, step), step >= 1. Numbers.
 * Dtypes: numbers.
 * Shape: one axis of ceil((stop - start) / step).
 * ATen: arange. */
#define tc_arange(g, dtype, stop) tc_arange_at(TC_HERE, g, dtype, TC_DIM(0), TC_DIM(stop), 1)
#define tc_arange_step(g, dtype, start, stop, step)                                                                   \
    tc_arange_at(TC_HERE, g, dtype, TC_DIM(start), TC_DIM(stop), step)
tc_tensor tc_arange_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim start, tc_dim stop, int step);

/* tc_full(g, value, dtype, dim...): every element `value` (a C number). tc_dim_value(g, dtype, dim): a rank-0 number, the
 * value of a size at run time.
 * Dtypes: all of them.
 * Shape: the dims; rank 0 of dim_value.
 * ATen: full; sym_size. */
#define tc_full(g, value, ...) tc_full_at(TC_HERE, g, TC_OPERAND(value), TC_DIM_LIST(__VA_ARGS__))
#define tc_dim_value(g, dtype, dim) tc_dim_value_at(TC_HERE, g, dtype, TC_DIM(dim))
tc_tensor tc_full_at(tc_site at, tc_graph *g, tc_operand value, int count, const tc_dim *dtype_and_shape);
tc_tensor tc_dim_value_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim dim);

/* tc_tril(x, diagonal), tc_triu(x, diagonal)
 * x where column <= row + diagonal in the last two axes, else 0 (tril); where column >= row + diagonal (triu). Any
 * dtype.
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: tril, triu. */
#define tc_tril(x, diagonal) tc_tril_at(TC_HERE, x, diagonal)
#define tc_triu(x, diagonal) tc_triu_at(TC_HERE, x, diagonal)
tc_tensor tc_tril_at(tc_site at, tc_tensor x, int diagonal);
tc_tensor tc_triu_at(tc_site at, tc_tensor x, int diagonal);

#endif
