/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that read or write at indices that are data. What all of them share is said in ../ops.h.
 *
 * An index outside 0..n-1 is a status of the call, negative ones too, whatever the operation; outputs and states are
 * then as they were. Where an operation stores several values at one place, it stores them in row-major order of the
 * index.
 *
 * Every size is known before a call, so there is no operation whose result's size is data (ATen nonzero, masked_select,
 * unique, unique_consecutive, repeat_interleave with a tensor). Instead: keep the size and a mask (tc_where,
 * tc_masked_fill, sums over tc_where), or take as many elements as there may be, and their number beside them:
 * tc_compress, tc_unique, tc_nonzero_static and tc_count_nonzero, tc_topk.
 */
#ifndef TENSOR_COMPILE_OPS_INDEXING_H
#define TENSOR_COMPILE_OPS_INDEXING_H

#include "../model.h"

/* tc_embedding(index, table)
 * The rows of table[n, d...] at each index, of any shape.
 * Dtypes: all of them; index i32 or i64.
 * Shape: the index's shape, then the table's other dims.
 * ATen: embedding.
 * ONNX: Gather with axis=0. */
#define tc_embedding(index, table) tc_embedding_at(TC_HERE, index, table)
tc_tensor tc_embedding_at(tc_site at, tc_tensor index, tc_tensor table);

/* tc_gather(x, index, axis)
 * x's slices along `axis` at each index: [x's dims before axis, index's shape, x's dims after].
 * Dtypes: all of them; index i32 or i64.
 * Shape: x's dims before the axis, the index's shape, x's dims after.
 * ATen: index_select, for an index of any rank.
 * ONNX: Gather. */
#define tc_gather(x, index, axis) tc_gather_at(TC_HERE, x, index, axis)
tc_tensor tc_gather_at(tc_site at, tc_tensor x, tc_tensor index, int axis);

/* tc_take_along(x, index, axis)
 * out[i, j, k] = x[i, index[i, j, k], k] for axis 1, and so on: an index an element.
 * Dtypes: all of them; index i32 or i64.
 * Shape: that of index, of x's rank, whose other sizes are at most x's.
 * ATen: gather, take_along_dim.
 * ONNX: GatherElements. */
#define tc_take_along(x, index, axis) tc_take_along_at(TC_HERE, x, index, axis)
tc_tensor tc_take_along_at(tc_site at, tc_tensor x, tc_tensor index, int axis);

/* tc_scatter(x, index, values, axis), tc_scatter_add, tc_scatter_mul, tc_scatter_max, tc_scatter_min
 * x, where for every element of values, in row-major order, out[i, index[i, j, k], k] (axis 1) becomes it, or itself
 * plus, times, the larger or smaller of both.
 * Dtypes: numbers, all of them for tc_scatter, x and values the same; index i32 or i64.
 * Shape: values and index have one shape, of x's rank, whose other sizes are at most x's.
 * Numerics: in that order on every machine: the last value stays, sums round at every step.
 * ATen: scatter, scatter_add, scatter_reduce (prod, amax, amin; include_self).
 * ONNX: ScatterElements. */
#define tc_scatter(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter", "set", x, index, values, axis)
#define tc_scatter_add(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_add", "add", x, index, values, axis)
#define tc_scatter_mul(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_mul", "mul", x, index, values, axis)
#define tc_scatter_max(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_max", "max", x, index, values, axis)
#define tc_scatter_min(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_min", "min", x, index, values, axis)
tc_tensor tc_scatter_at(tc_site at, const char *name, const char *op, tc_tensor x, tc_tensor index, tc_tensor values,
                        int axis);

/* tc_scatter_reduce(x, index, values, axis, op, include_self)
 * As tc_scatter, with the word op: "sum", "prod", "mean", "amax" or "amin" of the values that lead to an element, and
 * of the element itself where include_self is true. An element that nothing leads to stays.
 * Dtypes: numbers, x and values the same; index i32 or i64.
 * Shape: values and index have one shape, of x's rank, whose other sizes are at most x's.
 * Numerics: in row-major order of values, f16 and bf16 in f32 with one rounding of the result. The mean is the sum
 * divided by the count, of integers rounded down.
 * ATen: scatter_reduce.
 * ONNX: ScatterElements (reduction). */
#define tc_scatter_reduce(x, index, values, axis, op, include_self) \
    tc_scatter_reduce_at(TC_HERE, x, index, values, axis, op, include_self)
tc_tensor tc_scatter_reduce_at(tc_site at, tc_tensor x, tc_tensor index, tc_tensor values, int axis, const char *op,
                               bool include_self);

/* tc_index_add(x, axis, index, values), tc_index_copy, tc_index_mul, tc_index_max, tc_index_min
 * x with values' slices along the axis added to those at each index (written over them, multiplied, the larger, the
 * smaller of both), in ascending order.
 * Dtypes: numbers, all of them for tc_index_copy, x and values the same; index i32 or i64.
 * Shape: values as tc_gather(x, index, axis).
 * ATen: index_add, index_copy, index_reduce (prod), index_reduce (amax), index_reduce (amin). */
#define tc_index_add(x, axis, index, values) tc_index_reduce_at(TC_HERE, "tc_index_add", "add", x, axis, index, values)
#define tc_index_copy(x, axis, index, values) tc_index_reduce_at(TC_HERE, "tc_index_copy", "set", x, axis, index, values)
#define tc_index_mul(x, axis, index, values) tc_index_reduce_at(TC_HERE, "tc_index_mul", "mul", x, axis, index, values)
#define tc_index_max(x, axis, index, values) tc_index_reduce_at(TC_HERE, "tc_index_max", "max", x, axis, index, values)
#define tc_index_min(x, axis, index, values) tc_index_reduce_at(TC_HERE, "tc_index_min", "min", x, axis, index, values)
tc_tensor tc_index_reduce_at(tc_site at, const char *name, const char *op, tc_tensor x, int axis, tc_tensor index,
                             tc_tensor values);

/* tc_index_fill(x, axis, index, value)
 * x with value, a C number or a tensor of rank 0, in the slices at each index of the axis.
 * Dtypes: all of them; index i32 or i64.
 * Shape: that of x.
 * ATen: index_fill. */
#define tc_index_fill(x, axis, index, value) tc_index_fill_at(TC_HERE, x, axis, index, TC_OPERAND(value))
tc_tensor tc_index_fill_at(tc_site at, tc_tensor x, int axis, tc_tensor index, tc_operand value);

/* tc_take(x, index)
 * The elements of x at indices into all of them, counted in row-major order.
 * Dtypes: all of them; index i32 or i64.
 * Shape: that of index.
 * ATen: take. */
#define tc_take(x, index) tc_take_at(TC_HERE, x, index)
tc_tensor tc_take_at(tc_site at, tc_tensor x, tc_tensor index);

/* tc_index(x, index...), tc_index_put(x, values, accumulate, index...)
 * x's elements at indices of its axes; x with values written there, or added where accumulate is true. One index an
 * axis, from the first; NULL stands for all of an axis (x[:, a, :, b] is tc_index(x, NULL, a, NULL, b)). Indices
 * broadcast together to a shape s.
 * Dtypes: all of them, numbers to accumulate, x and values the same; indices i32 or i64.
 * Shape: x's, with s in the place of the axes that have indices; where there are others between those, s comes first.
 * Values broadcast to it.
 * ATen: index, index_put.
 * ONNX: none, see tc_gather_nd, tc_scatter_nd. */
#define tc_index(x, ...) tc_index_at(TC_HERE, x, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_index_put(x, values, accumulate, ...) \
    tc_index_put_at(TC_HERE, x, values, accumulate, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_index_at(tc_site at, tc_tensor x, int count, const tc_tensor *indices);
tc_tensor tc_index_put_at(tc_site at, tc_tensor x, tc_tensor values, bool accumulate, int count,
                          const tc_tensor *indices);

/* tc_one_hot(index, classes, dtype)
 * 1 where the new last axis, of size classes, is at the index, else 0.
 * Dtypes: index i32 or i64; the result's is given.
 * Shape: the index's, then the classes.
 * ATen: one_hot.
 * ONNX: none, see tc_one_hot_values. */
#define tc_one_hot(index, classes, dtype) tc_one_hot_at(TC_HERE, index, TC_DIM(classes), dtype)
tc_tensor tc_one_hot_at(tc_site at, tc_tensor index, tc_dim classes, tc_dtype dtype);

/* tc_one_hot_values(index, classes, values, axis)
 * values[1] where the new axis, of size classes, is at the index, else values[0]. A negative index counts from the end;
 * one outside of -classes..classes - 1 leaves values[0] alone. The axis counts in the result.
 * Dtypes: all of them for values[2], which is the result's; index i32 or i64.
 * Shape: the index's, with the classes along the new axis.
 * ATen: none.
 * ONNX: OneHot. */
#define tc_one_hot_values(index, classes, values, axis) tc_one_hot_values_at(TC_HERE, index, TC_DIM(classes), values, axis)
tc_tensor tc_one_hot_values_at(tc_site at, tc_tensor index, tc_dim classes, tc_tensor values, int axis);

/* tc_from_end(index, size), tc_from_end(index, size...)
 * The index with the size of its axis added where it is negative: -1 is the last one. Several sizes: of the axes that
 * the places of the index's last axis are in, as tc_gather_nd has them.
 * Dtypes: index i32 or i64; the result is i64.
 * Shape: the index's.
 * ATen: none.
 * ONNX: what negative indices of Gather, GatherElements, GatherND, ScatterElements and ScatterND mean. */
#define tc_from_end(index, ...) tc_from_end_at(TC_HERE, index, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_from_end_at(tc_site at, tc_tensor index, int count, const tc_dim *sizes);

/* tc_gather_nd(x, index, batch)
 * The slices of x at index[..., k], whose last axis holds a place in each of k axes of x: the first ones, or those
 * behind the `batch` first axes, which x and the index have in common.
 * Dtypes: all of them; index i32 or i64.
 * Shape: the index's without the last axis, then x's behind the axes that are indexed.
 * ATen: none.
 * ONNX: GatherND. */
#define tc_gather_nd(x, index, batch) tc_gather_nd_at(TC_HERE, x, index, batch)
tc_tensor tc_gather_nd_at(tc_site at, tc_tensor x, tc_tensor index, int batch);

/* tc_scatter_nd(x, index, values), tc_scatter_nd_add, tc_scatter_nd_mul, tc_scatter_nd_max, tc_scatter_nd_min
 * x, where each slice that tc_gather_nd(x, index, 0) reads becomes that of values, or itself plus, times, the larger or
 * smaller of both.
 * Dtypes: numbers, all of them for tc_scatter_nd, x and values the same; index i32 or i64.
 * Shape: that of x; values have tc_gather_nd's.
 * Numerics: in row-major order of the index on every machine; sums round at every step.
 * ATen: none.
 * ONNX: ScatterND. */
#define tc_scatter_nd(x, index, values) tc_scatter_nd_at(TC_HERE, "tc_scatter_nd", "set", x, index, values)
#define tc_scatter_nd_add(x, index, values) tc_scatter_nd_at(TC_HERE, "tc_scatter_nd_add", "add", x, index, values)
#define tc_scatter_nd_mul(x, index, values) tc_scatter_nd_at(TC_HERE, "tc_scatter_nd_mul", "mul", x, index, values)
#define tc_scatter_nd_max(x, index, values) tc_scatter_nd_at(TC_HERE, "tc_scatter_nd_max", "max", x, index, values)
#define tc_scatter_nd_min(x, index, values) tc_scatter_nd_at(TC_HERE, "tc_scatter_nd_min", "min", x, index, values)
tc_tensor tc_scatter_nd_at(tc_site at, const char *name, const char *op, tc_tensor x, tc_tensor index, tc_tensor values);

/* tc_tensor_scatter(x, y, start, axis, circular)
 * x, a cache [b, ..., n, ...], with the elements of y[b, ..., m, ...] along the axis from start[i] on, i the place in
 * the first axis; start NULL: from 0. circular: places are taken modulo n.
 * Dtypes: all of them, x and y the same; start i32 or i64.
 * Shape: that of x.
 * Errors: places behind the end are a status, without circular.
 * ATen: none.
 * ONNX: TensorScatter. */
#define tc_tensor_scatter(x, y, start, axis, circular) tc_tensor_scatter_at(TC_HERE, x, y, start, axis, circular)
tc_tensor tc_tensor_scatter_at(tc_site at, tc_tensor x, tc_tensor y, tc_tensor start, int axis, bool circular);

/* tc_masked_fill(x, mask, value)
 * The operand value where the bool mask is true, else x.
 * Dtypes: all of them; a bool mask.
 * Shape: the broadcast one of x and the mask.
 * ATen: masked_fill. */
#define tc_masked_fill(x, mask, value) tc_where_at(TC_HERE, mask, TC_OPERAND(value), tc_operand_tensor_(x))

/* tc_masked_scatter(x, mask, source)
 * x with the elements of source, one behind the other in row-major order, where the mask is true.
 * Dtypes: all of them, x and source the same; a bool mask.
 * Shape: the broadcast one of x and the mask; any of source.
 * Errors: a mask with more true elements than source has is a status.
 * ATen: masked_scatter. */
#define tc_masked_scatter(x, mask, source) tc_masked_scatter_at(TC_HERE, x, mask, source)
tc_tensor tc_masked_scatter_at(tc_site at, tc_tensor x, tc_tensor mask, tc_tensor source);

/* tc_nonzero_static(x, size, fill)
 * The indices of the first `size` elements that are not 0 (or are true), in row-major order; rows of the number fill
 * behind the last one. size is at most x's number of elements.
 * Dtypes: all of them; the result is i64.
 * Shape: [size, x's rank].
 * ATen: nonzero_static.
 * ONNX: NonZero, of which the first are taken. */
#define tc_nonzero_static(x, size, fill) tc_nonzero_static_at(TC_HERE, x, TC_DIM(size), TC_OPERAND(fill))
tc_tensor tc_nonzero_static_at(tc_site at, tc_tensor x, tc_dim size, tc_operand fill);

/* tc_bincount(index, bins)
 * How often each of 0..bins-1 is there. Of other sums, tc_scatter_add of weights.
 * Dtypes: index i32 or i64; the result is i64.
 * Shape: [bins], of an index of any shape.
 * ATen: bincount, with the number of bins given. */
#define tc_bincount(index, bins) tc_bincount_at(TC_HERE, index, TC_DIM(bins))
tc_tensor tc_bincount_at(tc_site at, tc_tensor index, tc_dim bins);

/* tc_histc(x, bins, low, high)
 * How many elements lie in each of `bins` parts of the same width between low and high, high itself in the last part.
 * Others, and NaN, count for nothing.
 * Dtypes: floats; the result has x's.
 * Shape: [bins], of x of any shape.
 * Numerics: the part of an element is trunc((x - low) * bins / (high - low)), from left to right.
 * Errors: a low that is not below high.
 * ATen: histc, with min and max given. */
#define tc_histc(x, bins, low, high) tc_histc_at(TC_HERE, x, bins, low, high)
tc_tensor tc_histc_at(tc_site at, tc_tensor x, int64_t bins, double low, double high);

#endif
