/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products and what they are cases of. What all operations share is said in ../ops.h. Those of several steps
 * compute 16-bit floats in f32 and round their result alone.
 */
#ifndef TENSOR_COMPILE_OPS_CONTRACTIONS_H
#define TENSOR_COMPILE_OPS_CONTRACTIONS_H

#include "../model.h"

/* tc_matmul(a, b)
 * a[..., m, k] x b[..., k, n] -> [..., m, n]; the dims before the last two broadcast. A rank-1 operand is a row (a) or
 * a column (b), and its dim vanishes.
 * Dtypes: numbers of one dtype.
 * Shape: [..., m, n].
 * ATen: matmul.
 * ONNX: MatMul. */
#define tc_matmul(a, b) tc_matmul_at(TC_HERE, a, b)
tc_tensor tc_matmul_at(tc_site at, tc_tensor a, tc_tensor b);

/* tc_matmul_where(a, b, where)
 * tc_matmul over the elements of a for which the predicate `where` is true; the others are factors of no term, so an
 * element of b that is infinite or NaN has no effect behind them. `where` broadcasts to a. Without any term a sum is
 * +0.
 * Dtypes: numbers of one dtype; where is bool.
 * Shape: that of tc_matmul(a, b).
 * Numerics: order seq; docs/numerics.md, Predicates.
 * Errors: a predicate that does not broadcast to a.
 * ATen: none. */
#define tc_matmul_where(a, b, where) tc_matmul_where_at(TC_HERE, a, b, where)
tc_tensor tc_matmul_where_at(tc_site at, tc_tensor a, tc_tensor b, tc_tensor where);

/* tc_linear(x, weight[, bias]): x[..., k], weight[n, k], bias[n] -> x weight^T + bias, [..., n].
 * Dtypes: numbers.
 * Shape: [..., n].
 * ATen: linear.
 * ONNX: Gemm with transB=1. */
#define tc_linear(...) tc_linear_at(&(const tc_linear_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_linear_args {
    tc_tensor x, weight, bias;
    tc_site at; /* set by the macro, here and below */
} tc_linear_args;
tc_tensor tc_linear_at(const tc_linear_args *args);

/* tc_einsum("bhqd,bhkd->bhqk", q, k)
 *
 * A label (a letter) a dim of each operand; labels that are not in the result are summed over. A label twice in one
 * operand takes the diagonal; "..." stands for any number of dims, aligned at the last, which broadcast. Without "->"
 * the result has the ellipsis and then the labels that occur once, in alphabetical order. A size of 1 repeats.
 * Dtypes: numbers of one dtype.
 * Shape: the result's labels.
 * Numerics: operands are taken from left to right, two at a time, each pair as a dot (order lanes or seq as of
 * tc_matmul, terms in the order of the left operand's dims); dims that one operand alone has are summed before.
 * ATen: einsum.
 * ONNX: Einsum. */
#define tc_einsum(text, ...) tc_einsum_at(TC_HERE, text, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_einsum_at(tc_site at, const char *text, int count, const tc_tensor *operands);

/* tc_mm(a, b): a[m, k] b[k, n]; tc_bmm(a, b): a[n, m, k] b[n, k, l], one n or 1; tc_mv(a, b): a[m, k] b[k];
 * tc_dot(a, b): a[k] b[k] -> []; tc_matmul with these ranks alone.
 * Dtypes: numbers of one dtype.
 * Shape: [m, n], [n, m, l], [m] and [].
 * ATen: mm, bmm, mv, dot, vdot.
 * ONNX: MatMul. */
#define tc_mm(a, b) tc_mm_at(TC_HERE, a, b)
#define tc_bmm(a, b) tc_bmm_at(TC_HERE, a, b)
#define tc_mv(a, b) tc_mv_at(TC_HERE, a, b)
#define tc_dot(a, b) tc_dot_at(TC_HERE, a, b)
tc_tensor tc_mm_at(tc_site at, tc_tensor a, tc_tensor b);
tc_tensor tc_bmm_at(tc_site at, tc_tensor a, tc_tensor b);
tc_tensor tc_mv_at(tc_site at, tc_tensor a, tc_tensor b);
tc_tensor tc_dot_at(tc_site at, tc_tensor a, tc_tensor b);

/* tc_addmm(bias, a, b, .beta = 1, .alpha = 1), tc_baddbmm(bias, a, b, .beta = 1, .alpha = 1)
 *
 * beta * bias + alpha * (a b), the product that of tc_mm or tc_bmm; bias broadcasts to it. A factor left out or 0 is 1,
 * and a factor of 1 multiplies nothing.
 * Dtypes: numbers of one dtype.
 * Shape: that of the product.
 * ATen: addmm, baddbmm.
 * ONNX: Gemm. */
#define tc_addmm(...) tc_addmm_at(&(const tc_addmm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_baddbmm(...) tc_baddbmm_at(&(const tc_addmm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_addmm_args {
    tc_tensor bias, a, b;
    double beta, alpha;
    tc_site at;
} tc_addmm_args;
tc_tensor tc_addmm_at(const tc_addmm_args *args);
tc_tensor tc_baddbmm_at(const tc_addmm_args *args);

/* tc_grouped_mm(a, b, ends)
 * a[m, k] b[e, k, n] -> [m, n]: rows of a in groups one behind the other, each group times its own matrix. ends[e] says
 * behind which row each group ends, and never falls. Rows behind the last group are 0.
 * Dtypes: floats, a and b of one dtype; ends i32 or i64.
 * Shape: [m, n].
 * Numerics: as of tc_matmul. 16 bits: in f32, rounded once.
 * ATen: _grouped_mm, of a matrix and a stack of matrices; grouped_mm_fallback of Transformers. */
#define tc_grouped_mm(a, b, ends) tc_grouped_mm_at(TC_HERE, a, b, ends)
tc_tensor tc_grouped_mm_at(tc_site at, tc_tensor a, tc_tensor b, tc_tensor ends);

/* tc_outer(a, b): a[m], b[n] -> [m, n]. tc_inner(a, b): a[..., k], b[..., k] -> [a's dims, b's dims] without k.
 * tc_tensordot(a, b, TC_AXES(2, 3), TC_AXES(0, 1)): sums over axis pairs; the other dims of a, then those of b.
 * Dtypes: numbers of one dtype.
 * Shape: as said of each.
 * ATen: outer, inner, tensordot. */
#define TC_AXES(...) TC_INT_LIST(__VA_ARGS__)
#define tc_outer(a, b) tc_outer_at(TC_HERE, a, b)
#define tc_inner(a, b) tc_inner_at(TC_HERE, a, b)
#define tc_tensordot(a, b, ...) tc_tensordot_at(TC_HERE, a, b, __VA_ARGS__)
tc_tensor tc_outer_at(tc_site at, tc_tensor a, tc_tensor b);
tc_tensor tc_inner_at(tc_site at, tc_tensor a, tc_tensor b);
tc_tensor tc_tensordot_at(tc_site at, tc_tensor a, tc_tensor b, int count, const int *a_axes, int b_count,
                          const int *b_axes);

/* tc_bilinear(a, b, weight[, bias]): a[..., i], b[..., j], weight[o, i, j], bias[o] -> [..., o], the sum over i and
 * then over j of a * weight * b.
 * Dtypes: numbers of one dtype.
 * Shape: [..., o].
 * ATen: bilinear. */
#define tc_bilinear(...) tc_bilinear_at(&(const tc_bilinear_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_bilinear_args {
    tc_tensor a, b, weight, bias;
    tc_site at;
} tc_bilinear_args;
tc_tensor tc_bilinear_at(const tc_bilinear_args *args);

/* tc_det(x)
 * The determinant of each matrix of the last two axes: the product of the pivots of an elimination, each the largest
 * magnitude of what is left of its column, of equal ones the first.
 * Dtypes: floats.
 * Shape: that of x without the last two axes, whose sizes are equal.
 * Numerics: f16 and bf16 in f32, rounded once. One iteration of a loop a row.
 * ATen: det.
 * ONNX: Det. */
#define tc_det(x) tc_det_at(TC_HERE, x)
tc_tensor tc_det_at(tc_site at, tc_tensor x);

#endif
