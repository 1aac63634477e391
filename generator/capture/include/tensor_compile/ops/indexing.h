/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that read or write at indices that are data. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_INDEXING_H
#define TENSOR_COMPILE_OPS_INDEXING_H

#include "../model.h"

/* tc_embedding(index, table)
 * table[n, d...], index (i32 or i64, any shape) -> [index's shape, d...]. An index outside 0..n-1 is a status at run
 * time, negative ones too.
 * Dtypes: any one for the table, i32 or i64 for the index.
 * Shape: the index's shape, then the table's other dims.
 * ATen: embedding. */
#define tc_embedding(index, table) tc_embedding_at(TC_HERE, index, table)
tc_tensor tc_embedding_at(tc_site at, tc_tensor index, tc_tensor table);

/* tc_gather(x, index, axis)
 * x's slices along `axis` at each index: [x's dims before axis, index's shape, x's dims after]. Range as embedding.
 * Dtypes: any one for x, i32 or i64 for the index.
 * Shape: x's dims before the axis, the index's shape, x's dims after.
 * ATen: index_select, for an index of any rank. */
#define tc_gather(x, index, axis) tc_gather_at(TC_HERE, x, index, axis)
tc_tensor tc_gather_at(tc_site at, tc_tensor x, tc_tensor index, int axis);

/* tc_take_along(x, index, axis)
 * out[i, j, k] = x[i, index[i, j, k], k] for axis 1, and so on: an index an element.
 * Dtypes: x all; index i32 or i64.
 * Shape: that of index, of x's rank, whose other sizes are at most x's.
 * Errors: an index outside 0..n-1 is a status at run time, negative ones too.
 * ATen: gather, take_along_dim.
 * ONNX: GatherElements. */
#define tc_take_along(x, index, axis) tc_take_along_at(TC_HERE, x, index, axis)
tc_tensor tc_take_along_at(tc_site at, tc_tensor x, tc_tensor index, int axis);

/* tc_scatter(x, index, values, axis), tc_scatter_add, tc_scatter_mul, tc_scatter_max, tc_scatter_min
 * x, where for every element of values, in row-major order, out[i, index[i, j, k], k] (axis 1) becomes it, or itself plus,
 * times, the larger or smaller of both.
 * Dtypes: x and values the same, numbers but for tc_scatter; index i32 or i64.
 * Shape: values and index have one shape, of x's rank, whose other sizes are at most x's.
 * Numerics: in that order on every machine: the last value stays, sums round at every step.
 * Errors: an index outside 0..n-1 is a status at run time, negative ones too.
 * ATen: scatter, scatter_add, scatter_reduce (prod, amax, amin; include_self).
 * ONNX: ScatterElements. */
#define tc_scatter(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter", "set", x, index, values, axis)
#define tc_scatter_add(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_add", "add", x, index, values, axis)
#define tc_scatter_mul(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_mul", "mul", x, index, values, axis)
#define tc_scatter_max(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_max", "max", x, index, values, axis)
#define tc_scatter_min(x, index, values, axis) tc_scatter_at(TC_HERE, "tc_scatter_min", "min", x, index, values, axis)
tc_tensor tc_scatter_at(tc_site at, const char *name, const char *op, tc_tensor x, tc_tensor index, tc_tensor values,
                        int axis);

/* tc_index_add(x, axis, index, values), tc_index_copy(x, axis, index, values)
 * x with values' slices along the axis added to (written over) those at each index, in ascending order.
 * Dtypes: x and values the same, numbers to add; index i32 or i64.
 * Shape: values as tc_gather(x, index, axis).
 * Errors: an index outside 0..n-1 is a status at run time, negative ones too.
 * ATen: index_add, index_copy. */
#define tc_index_add(x, axis, index, values) tc_index_add_at(TC_HERE, x, axis, index, values, true)
#define tc_index_copy(x, axis, index, values) tc_index_add_at(TC_HERE, x, axis, index, values, false)
tc_tensor tc_index_add_at(tc_site at, tc_tensor x, int axis, tc_tensor index, tc_tensor values, bool add);

/* tc_index(x, index...), tc_index_put(x, values, accumulate, index...)
 * Indices of x's first axes, one tensor an axis, broadcast together to a shape s: x's elements there; x with values
 * written there, in row-major order of s, or added where accumulate is true.
 * Dtypes: x and values the same, numbers to accumulate; indices i32 or i64.
 * Shape: s and x's dims behind those axes; values broadcast to it.
 * Errors: an index outside 0..n-1 is a status at run time, negative ones too.
 * ATen: index, index_put (leading axes).
 * ONNX: GatherND, ScatterND. */
#define tc_index(x, ...) tc_index_at(TC_HERE, x, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_index_put(x, values, accumulate, ...) \
    tc_index_put_at(TC_HERE, x, values, accumulate, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_index_at(tc_site at, tc_tensor x, int count, const tc_tensor *indices);
tc_tensor tc_index_put_at(tc_site at, tc_tensor x, tc_tensor values, bool accumulate, int count,
                          const tc_tensor *indices);

/* tc_one_hot(index, classes, dtype)
 * 1 where the new last axis, of size classes, is at the index, else 0; an index outside leaves zeros.
 * Dtypes: index i32 or i64; the result's is given.
 * Shape: the index's, then the classes.
 * ATen: one_hot.
 * ONNX: OneHot. */
#define tc_one_hot(index, classes, dtype) tc_one_hot_at(TC_HERE, index, TC_DIM(classes), dtype)
tc_tensor tc_one_hot_at(tc_site at, tc_tensor index, tc_dim classes, tc_dtype dtype);

/* tc_masked_fill(x, mask, value)
 * The operand value where the bool mask is true, else x.
 * Dtypes: any one for x and the value, bool for the mask.
 * Shape: the broadcast one of x and the mask.
 * ATen: masked_fill. */
#define tc_masked_fill(x, mask, value) tc_where_at(TC_HERE, mask, TC_OPERAND(value), tc_operand_tensor_(x))

#endif
