/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors made from nothing. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_MAKING_H
#define TENSOR_COMPILE_OPS_MAKING_H

#include "../model.h"

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

#endif
