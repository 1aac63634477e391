/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors made from nothing. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_MAKING_H
#define TENSOR_COMPILE_OPS_MAKING_H

#include "../model.h"

/* tc_arange(g, dtype, stop): 0, 1, ... stop - 1; tc_arange_step(g, dtype, start, stop, step), a C integer step,
 * downwards where it is negative. tc_linspace has steps that are no integers.
 * Dtypes: numbers.
 * Shape: one axis of ceil((stop - start) / step).
 * Numerics: counted in integers, each converted once.
 * ATen: arange.
 * ONNX: Range. */
#define tc_arange(g, dtype, stop) tc_arange_at(TC_HERE, g, dtype, TC_DIM(0), TC_DIM(stop), 1)
#define tc_arange_step(g, dtype, start, stop, step)                                                                   \
    tc_arange_at(TC_HERE, g, dtype, TC_DIM(start), TC_DIM(stop), step)
tc_tensor tc_arange_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim start, tc_dim stop, int step);

/* tc_full(g, value, dtype, dim...): every element `value` (a C number). tc_dim_value(g, dtype, dim): a rank-0 number,
 * the value of a size at run time.
 * Dtypes: all of them.
 * Shape: the dims; rank 0 of dim_value.
 * ATen: full, zeros, ones; sym_size.
 * ONNX: ConstantOfShape, Size. */
#define tc_full(g, value, ...) tc_full_at(TC_HERE, g, TC_OPERAND(value), TC_DIM_LIST(__VA_ARGS__))
#define tc_dim_value(g, dtype, dim) tc_dim_value_at(TC_HERE, g, dtype, TC_DIM(dim))
tc_tensor tc_full_at(tc_site at, tc_graph *g, tc_operand value, int count, const tc_dim *dtype_and_shape);
tc_tensor tc_dim_value_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim dim);

/* tc_dims_tensor(g, dtype, dim...)
 * A vector of sizes: their values at run time. No dims: a vector without elements.
 * Dtypes: numbers.
 * Shape: [the number of dims].
 * ATen: none.
 * ONNX: Shape, Concat of sizes. */
#define tc_dims_tensor(g, ...) tc_dims_tensor_at(TC_HERE, g, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_dims_tensor_at(tc_site at, tc_graph *g, int count, const tc_dim *dtype_and_dims);

/* tc_full_like(x, value)
 * Every element the C number value, in x's dtype and shape.
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: full_like, zeros_like, ones_like.
 * ONNX: ConstantOfShape. */
#define tc_full_like(x, value) tc_full_like_at(TC_HERE, x, TC_OPERAND(value))
tc_tensor tc_full_like_at(tc_site at, tc_tensor x, tc_operand value);

/* tc_eye(g, dtype, rows, columns)
 * 1 (true) where row and column are equal, else 0.
 * Dtypes: all of them.
 * Shape: [rows, columns].
 * ATen: eye.
 * ONNX: EyeLike with k=0. */
#define tc_eye(g, dtype, rows, columns) tc_eye_at(TC_HERE, g, dtype, TC_DIM(rows), TC_DIM(columns), 0)
tc_tensor tc_eye_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim rows, tc_dim columns, int offset);

/* tc_eye_offset(g, dtype, rows, columns, offset)
 * 1 (true) where the column is the row + offset, else 0.
 * Dtypes: all of them.
 * Shape: [rows, columns].
 * ATen: none.
 * ONNX: EyeLike. */
#define tc_eye_offset(g, dtype, rows, columns, offset)                                                                \
    tc_eye_at(TC_HERE, g, dtype, TC_DIM(rows), TC_DIM(columns), offset)

/* tc_linspace(g, dtype, start, stop, count), tc_logspace(g, dtype, start, stop, count, base)
 * `count` numbers from start to stop, C numbers both and both included, at even distances; base to the power of them.
 * With step = (stop - start) / (count - 1), number i is start + i*step, in the second half stop - (count - 1 - i)*step.
 * Dtypes: floats.
 * Shape: [count].
 * Numerics: f16 and bf16 in f32, rounded once.
 * ATen: linspace, logspace. */
#define tc_linspace(g, dtype, start, stop, count) tc_linspace_at(TC_HERE, g, dtype, start, stop, TC_DIM(count))
#define tc_logspace(g, dtype, start, stop, count, base) tc_logspace_at(TC_HERE, g, dtype, start, stop, TC_DIM(count), base)
tc_tensor tc_linspace_at(tc_site at, tc_graph *g, tc_dtype dtype, double start, double stop, tc_dim count);
tc_tensor tc_logspace_at(tc_site at, tc_graph *g, tc_dtype dtype, double start, double stop, tc_dim count, double base);

/* tc_meshgrid(grids, x...), tc_meshgrid_xy(grids, x...)
 * Of vectors x0[a], x1[b], ... the grids[i][j0, j1, ...] = xi[ji], an array of as many tensors. xy: with the first two
 * axes exchanged.
 * Dtypes: all of them.
 * Shape: [a, b, ...]; [b, a, ...].
 * ATen: meshgrid (indexing="ij"), meshgrid (indexing="xy"). */
#define tc_meshgrid(grids, ...) tc_meshgrid_at(TC_HERE, false, grids, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_meshgrid_xy(grids, ...) tc_meshgrid_at(TC_HERE, true, grids, TC_TENSOR_LIST(__VA_ARGS__))
void tc_meshgrid_at(tc_site at, bool columns_first, tc_tensor *grids, int count, const tc_tensor *vectors);

/* tc_cartesian_prod(x...)
 * Every choice of one element of each vector, a row each, the last vector's changing fastest. Of one vector, itself.
 * Dtypes: all of them, one for all.
 * Shape: [the product of the sizes, the number of vectors].
 * ATen: cartesian_prod. */
#define tc_cartesian_prod(...) tc_cartesian_prod_at(TC_HERE, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_cartesian_prod_at(tc_site at, int count, const tc_tensor *vectors);

/* tc_combinations(x, count, repeated)
 * Every choice of `count` elements of x[n] in their order, a row each; repeated: an element may stand several times.
 * Dtypes: all of them.
 * Shape: [n over count, count] (repeated: n + count - 1 over count), for a constant n.
 * ATen: combinations. */
#define tc_combinations(x, count, repeated) tc_combinations_at(TC_HERE, x, count, repeated)
tc_tensor tc_combinations_at(tc_site at, tc_tensor x, int count, bool repeated);

/* tc_tril_indices(g, rows, columns, offset), tc_triu_indices(g, rows, columns, offset)
 * Rows and columns of the elements that tc_tril (tc_triu) keeps of such a matrix, in row-major order; C integers.
 * Dtypes: the result is i64.
 * Shape: [2, the number of these elements].
 * ATen: tril_indices, triu_indices. */
#define tc_tril_indices(g, rows, columns, offset) tc_triangle_indices_at(TC_HERE, g, false, rows, columns, offset)
#define tc_triu_indices(g, rows, columns, offset) tc_triangle_indices_at(TC_HERE, g, true, rows, columns, offset)
tc_tensor tc_triangle_indices_at(tc_site at, tc_graph *g, bool upper, int rows, int columns, int offset);

#endif
