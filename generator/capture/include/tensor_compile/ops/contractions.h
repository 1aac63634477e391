/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_CONTRACTIONS_H
#define TENSOR_COMPILE_OPS_CONTRACTIONS_H

#include "../model.h"

/* tc_matmul(a, b)
 * a[..., m, k] x b[..., k, n] -> [..., m, n]; the dims before the last two broadcast. A rank-1 operand is a row (a) or
 * a column (b), and its dim vanishes. f32.
 * Dtypes: numbers of one dtype.
 * Shape: [..., m, n].
 * ATen: matmul. */
#define tc_matmul(a, b) tc_matmul_at(TC_HERE, a, b)
tc_tensor tc_matmul_at(tc_site at, tc_tensor a, tc_tensor b);

/* tc_linear(x, weight[, bias]): x[..., k], weight[n, k], bias[n] -> x weight^T + bias, [..., n]. f32.
 * Dtypes: floats.
 * Shape: [..., n].
 * ATen: linear. */
#define tc_linear(...) tc_linear_at(&(const tc_linear_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_linear_args {
    tc_tensor x, weight, bias;
    tc_site at; /* set by the macro, here and below */
} tc_linear_args;
tc_tensor tc_linear_at(const tc_linear_args *args);

#endif
