/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations. Each is a composition of the primitives of docs/graph.md; docs/numerics.md says what they compute to
 * the bit. "ATen" names PyTorch's operation of the same meaning.
 *
 * Operands. `x`, `a`, `b` are tensors; where the comment says `operand`, a C number may stand instead, and takes the
 * dtype of the tensor beside it. There are no implicit conversions between dtypes: use tc_cast. Operands of different
 * shapes broadcast as in NumPy: aligned at the last axis, a size of 1 repeats. Two dynamic sizes that are not known to
 * be equal become a guard; a dynamic size against a constant other than 1 is an error.
 *
 * "float" below is f32; "number" is f32, i32 or i64. Results have the operands' dtype unless stated otherwise.
 */
#ifndef TENSOR_COMPILE_OPS_H
#define TENSOR_COMPILE_OPS_H

#include "model.h"

/* -- elementwise, two operands ------------------------------------------------------------------------------------- */

/* Numbers. Integers wrap; integer division truncates, x / 0 is 0. maximum and minimum propagate NaN and order -0 < +0.
 * ATen: add, sub, mul, div (integers: div with rounding_mode='trunc'), maximum, minimum. */
#define tc_add(a, b) tc_add_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_sub(a, b) tc_sub_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_mul(a, b) tc_mul_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_div(a, b) tc_div_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_maximum(a, b) tc_maximum_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_minimum(a, b) tc_minimum_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_add_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_sub_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_mul_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_div_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_maximum_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_minimum_at(tc_site at, tc_operand a, tc_operand b);

/* Comparisons, any dtype; the result is bool. A comparison with NaN is false, ne is true.
 * ATen: eq, ne, lt, le, gt, ge. */
#define tc_eq(a, b) tc_eq_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_ne(a, b) tc_ne_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_lt(a, b) tc_lt_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_le(a, b) tc_le_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_gt(a, b) tc_gt_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_ge(a, b) tc_ge_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_eq_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_ne_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_lt_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_le_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_gt_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_ge_at(tc_site at, tc_operand a, tc_operand b);

/* bool operands. ATen: logical_and, logical_or, logical_xor. */
#define tc_logical_and(a, b) tc_logical_and_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_logical_or(a, b) tc_logical_or_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_logical_xor(a, b) tc_logical_xor_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_logical_and_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_logical_or_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_logical_xor_at(tc_site at, tc_operand a, tc_operand b);

/* a where the bool tensor `condition` is true, else b; all three broadcast. ATen: where. */
#define tc_where(condition, a, b) tc_where_at(TC_HERE, condition, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_where_at(tc_site at, tc_tensor condition, tc_operand a, tc_operand b);

/* min(max(x, low), high): numbers. ATen: clamp. */
#define tc_clamp(x, low, high) tc_clamp_at(TC_HERE, x, TC_OPERAND(low), TC_OPERAND(high))
tc_tensor tc_clamp_at(tc_site at, tc_tensor x, tc_operand low, tc_operand high);

/* -- elementwise, one operand -------------------------------------------------------------------------------------- */

/* Numbers; the smallest integer maps to itself. ATen: neg, abs. */
#define tc_neg(x) tc_neg_at(TC_HERE, x)
#define tc_abs(x) tc_abs_at(TC_HERE, x)
/* Floats; the largest errors are stated in docs/numerics.md. rsqrt is 1 / sqrt(x), two roundings.
 * floor is exact. ATen: exp, log, sqrt, rsqrt, floor, tanh, erf. */
#define tc_exp(x) tc_exp_at(TC_HERE, x)
#define tc_log(x) tc_log_at(TC_HERE, x)
#define tc_sqrt(x) tc_sqrt_at(TC_HERE, x)
#define tc_rsqrt(x) tc_rsqrt_at(TC_HERE, x)
#define tc_floor(x) tc_floor_at(TC_HERE, x)
#define tc_tanh(x) tc_tanh_at(TC_HERE, x)
#define tc_erf(x) tc_erf_at(TC_HERE, x)
/* bool. ATen: logical_not. */
#define tc_logical_not(x) tc_logical_not_at(TC_HERE, x)
tc_tensor tc_neg_at(tc_site at, tc_tensor x);
tc_tensor tc_abs_at(tc_site at, tc_tensor x);
tc_tensor tc_exp_at(tc_site at, tc_tensor x);
tc_tensor tc_log_at(tc_site at, tc_tensor x);
tc_tensor tc_sqrt_at(tc_site at, tc_tensor x);
tc_tensor tc_rsqrt_at(tc_site at, tc_tensor x);
tc_tensor tc_floor_at(tc_site at, tc_tensor x);
tc_tensor tc_tanh_at(tc_site at, tc_tensor x);
tc_tensor tc_erf_at(tc_site at, tc_tensor x);
tc_tensor tc_logical_not_at(tc_site at, tc_tensor x);

/* Activations. relu: numbers, maximum(x, 0). The others: floats. leaky_relu is maximum(x, 0) + slope * minimum(x, 0),
 * slope a C number; sigmoid is 1 / (1 + exp(-x)); silu is x * sigmoid(x);
 * gelu is x/2 * (1 + erf(x * sqrt(1/2))); gelu_tanh is x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))).
 * ATen: relu, leaky_relu, sigmoid, silu, gelu, gelu with approximate='tanh'. */
#define tc_relu(x) tc_relu_at(TC_HERE, x)
#define tc_leaky_relu(x, slope) tc_leaky_relu_at(TC_HERE, x, slope)
#define tc_sigmoid(x) tc_sigmoid_at(TC_HERE, x)
#define tc_silu(x) tc_silu_at(TC_HERE, x)
#define tc_gelu(x) tc_gelu_at(TC_HERE, x)
#define tc_gelu_tanh(x) tc_gelu_tanh_at(TC_HERE, x)
tc_tensor tc_relu_at(tc_site at, tc_tensor x);
tc_tensor tc_leaky_relu_at(tc_site at, tc_tensor x, double slope);
tc_tensor tc_sigmoid_at(tc_site at, tc_tensor x);
tc_tensor tc_silu_at(tc_site at, tc_tensor x);
tc_tensor tc_gelu_at(tc_site at, tc_tensor x);
tc_tensor tc_gelu_tanh_at(tc_site at, tc_tensor x);

/* x to a constant power. Whole exponents from -64 to 64 are products by squaring (numbers; negative ones floats only),
 * and halves of odd ones (0.5, -0.5, 1.5 ...) multiply those by sqrt(x) (floats; inf for x = -inf is NaN here); any
 * other exponent is exp(exponent * log(x)) (floats; NaN for x < 0). ATen: pow with a scalar exponent. */
#define tc_pow(x, exponent) tc_pow_at(TC_HERE, x, exponent)
tc_tensor tc_pow_at(tc_site at, tc_tensor x, double exponent);

/* The value in another dtype: floats to integers truncate and saturate, NaN gives 0; to bool: x != 0; wider integers to
 * narrower wrap. The same dtype gives x itself. ATen: to. */
#define tc_cast(x, dtype) tc_cast_at(TC_HERE, x, dtype)
tc_tensor tc_cast_at(tc_site at, tc_tensor x, tc_dtype dtype);

/* -- reductions ---------------------------------------------------------------------------------------------------- */

/* tc_sum(x, axis...) and so on: over the named axes, all where none is named. The axes vanish from the shape; the forms
 * ending in _keepdims leave size 1. sum: numbers (f32 in the order `lanes`), an empty sum is 0. mean: floats, the sum
 * divided by the count. amax, amin: numbers, no axis of size 0; NaN propagates. any, all: bool.
 * ATen: sum, mean, amax, amin, any, all. */
#define tc_sum(...) tc_sum_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_mean(...) tc_mean_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amax(...) tc_amax_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amin(...) tc_amin_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_any(...) tc_any_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_all(...) tc_all_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_sum_keepdims(...) tc_sum_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_mean_keepdims(...) tc_mean_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amax_keepdims(...) tc_amax_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_amin_keepdims(...) tc_amin_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_any_keepdims(...) tc_any_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_all_keepdims(...) tc_all_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_sum_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_mean_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_amax_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_amin_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_any_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);
tc_tensor tc_all_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes);

/* Variance, floats, two passes: the mean of (x - mean)^2. tc_var divides by the count n; tc_var_unbiased by n - 1, as
 * PyTorch does by default. ATen: var with correction=0, var. */
#define tc_var(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 0, false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_var_keepdims(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 0, true, TC_AXIS_LIST(__VA_ARGS__))
#define tc_var_unbiased(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 1, false, TC_AXIS_LIST(__VA_ARGS__))
#define tc_var_unbiased_keepdims(...) tc_var_at(TC_HERE, TC_HEAD(__VA_ARGS__, 0), 1, true, TC_AXIS_LIST(__VA_ARGS__))
tc_tensor tc_var_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *axes);

/* The i64 index of the first largest (smallest) element along one axis, which vanishes; numbers; NaN is the extreme.
 * ATen: argmax, argmin. */
#define tc_argmax(x, axis) tc_argmax_at(TC_HERE, x, axis, false)
#define tc_argmin(x, axis) tc_argmin_at(TC_HERE, x, axis, false)
#define tc_argmax_keepdims(x, axis) tc_argmax_at(TC_HERE, x, axis, true)
#define tc_argmin_keepdims(x, axis) tc_argmin_at(TC_HERE, x, axis, true)
tc_tensor tc_argmax_at(tc_site at, tc_tensor x, int axis, bool keepdims);
tc_tensor tc_argmin_at(tc_site at, tc_tensor x, int axis, bool keepdims);

/* -- contractions -------------------------------------------------------------------------------------------------- */

/* a[..., m, k] x b[..., k, n] -> [..., m, n]; the dims before the last two broadcast. A rank-1 operand is a row (a) or
 * a column (b), and its dim vanishes. f32. ATen: matmul. */
#define tc_matmul(a, b) tc_matmul_at(TC_HERE, a, b)
tc_tensor tc_matmul_at(tc_site at, tc_tensor a, tc_tensor b);

/* tc_linear(x, weight[, bias]): x[..., k], weight[n, k], bias[n] -> x weight^T + bias, [..., n]. f32. ATen: linear. */
#define tc_linear(...) tc_linear_at(&(const tc_linear_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_linear_args {
    tc_tensor x, weight, bias;
    tc_site at; /* set by the macro, here and below */
} tc_linear_args;
tc_tensor tc_linear_at(const tc_linear_args *args);

/* tc_conv2d(x, weight[, bias], .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}, .groups = 1)
 *
 * Cross-correlation: x[n, c, h, w], weight[o, c/groups, kh, kw], bias[o] -> [n, o, h', w'],
 * h' = floor((h + 2*padding - dilation*(kh - 1) - 1) / stride) + 1. Padding is zeros. f32. Left out: stride, dilation
 * and groups 1, padding 0. ATen: conv2d. */
#define tc_conv2d(...) tc_conv2d_at(&(const tc_conv2d_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_conv2d_args {
    tc_tensor x, weight, bias;
    int stride[2], padding[2], dilation[2], groups;
    tc_site at;
} tc_conv2d_args;
tc_tensor tc_conv2d_at(const tc_conv2d_args *args);

/* tc_max_pool2d(x, .kernel = {2, 2}, .stride = {2, 2}, .padding = {0, 0}, .dilation = {1, 1})
 * tc_avg_pool2d(x, the same without .dilation, .exclude_padding = false, .divisor = 0)
 *
 * x[n, c, h, w] -> [n, c, h', w'], sizes as of a convolution. Stride left out is the kernel's size. The padding never
 * is the maximum (numbers). An average (floats) divides by the kernel's size, or with .exclude_padding by the number of
 * elements that are not padding (ATen: count_include_pad=False), or by .divisor. ATen: max_pool2d, avg_pool2d
 * (ceil_mode=False). */
#define tc_max_pool2d(...) tc_max_pool2d_at(&(const tc_pool2d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_avg_pool2d(...) tc_avg_pool2d_at(&(const tc_pool2d_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_pool2d_args {
    tc_tensor x;
    int kernel[2], stride[2], padding[2], dilation[2], divisor;
    bool exclude_padding;
    tc_site at;
} tc_pool2d_args;
tc_tensor tc_max_pool2d_at(const tc_pool2d_args *args);
tc_tensor tc_avg_pool2d_at(const tc_pool2d_args *args);

/* -- normalizations ------------------------------------------------------------------------------------------------ */

/* tc_batch_norm(x, mean, variance[, weight][, bias], .eps = 1e-5): inference, x[n, c, ...] and the others [c]:
 * (x - mean) * (1 / sqrt(variance + eps)) * weight + bias. f32. eps left out or 0 is 1e-5.
 * ATen: batch_norm with training=False. */
#define tc_batch_norm(...) tc_batch_norm_at(&(const tc_batch_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_batch_norm_args {
    tc_tensor x, mean, variance, weight, bias;
    double eps;
    tc_site at;
} tc_batch_norm_args;
tc_tensor tc_batch_norm_at(const tc_batch_norm_args *args);

/* tc_layer_norm(x[, weight][, bias], .eps = 1e-5, .axes = 1): (x - mean) * (1 / sqrt(var + eps)) * weight + bias, mean
 * and population variance over the last `axes` axes (left out: as many as weight has, else 1). tc_rms_norm(x[, weight],
 * .eps, .axes): x * (1 / sqrt(mean(x^2) + eps)) * weight. weight and bias have the shape of those axes. f32. eps left
 * out or 0 is 1e-5. ATen: layer_norm, rms_norm. */
#define tc_layer_norm(...) tc_layer_norm_at(&(const tc_norm_args){__VA_ARGS__, .at = TC_HERE})
#define tc_rms_norm(...) tc_rms_norm_at(&(const tc_norm_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_norm_args {
    tc_tensor x, weight, bias;
    double eps;
    int axes;
    tc_site at;
} tc_norm_args;
tc_tensor tc_layer_norm_at(const tc_norm_args *args);
tc_tensor tc_rms_norm_at(const tc_norm_args *args);

/* exp(x - max) / sum along one axis; log_softmax is (x - max) - log(sum). Floats. A row of -inf alone is NaN.
 * ATen: softmax, log_softmax. */
#define tc_softmax(x, axis) tc_softmax_at(TC_HERE, x, axis)
#define tc_log_softmax(x, axis) tc_log_softmax_at(TC_HERE, x, axis)
tc_tensor tc_softmax_at(tc_site at, tc_tensor x, int axis);
tc_tensor tc_log_softmax_at(tc_site at, tc_tensor x, int axis);

/* tc_scaled_dot_product_attention(q, k, v, .mask = m, .causal = true, .scale = 0.125)
 *
 * q[..., h, l, d], k[..., h', s, d], v[..., h', s, e] -> [..., h, l, e]: softmax(q k^T * scale + mask) v over s. h is a
 * multiple of h' (grouped heads: q's head i uses head i / (h / h')). scale left out is 1/sqrt(d). A bool mask keeps
 * where it is true, an f32 mask is added; it broadcasts to [..., h, l, s]. causal: row i sees columns 0..i.
 * Rank >= 3 for grouped heads, else >= 2. f32. A row without any kept column is NaN.
 * ATen: scaled_dot_product_attention (enable_gqa). */
#define tc_scaled_dot_product_attention(...)                                                                          \
    tc_scaled_dot_product_attention_at(&(const tc_attention_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_attention_args {
    tc_tensor q, k, v, mask;
    bool causal;
    double scale;
    tc_site at;
} tc_attention_args;
tc_tensor tc_scaled_dot_product_attention_at(const tc_attention_args *args);

/* -- lookups ------------------------------------------------------------------------------------------------------- */

/* table[n, d...], index (i32 or i64, any shape) -> [index's shape, d...]. An index outside 0..n-1 is a status at run
 * time, negative ones too. ATen: embedding. */
#define tc_embedding(index, table) tc_embedding_at(TC_HERE, index, table)
tc_tensor tc_embedding_at(tc_site at, tc_tensor index, tc_tensor table);

/* x's slices along `axis` at each index: [x's dims before axis, index's shape, x's dims after]. Range as embedding.
 * ATen: index_select, for an index of any rank. */
#define tc_gather(x, index, axis) tc_gather_at(TC_HERE, x, index, axis)
tc_tensor tc_gather_at(tc_site at, tc_tensor x, tc_tensor index, int axis);

/* -- views: the same elements, any dtype --------------------------------------------------------------------------- */

/* tc_reshape(x, dim...): row-major order kept; at most one dim is -1 and takes what remains. tc_reshape_scalar(x): to
 * rank 0. ATen: reshape. */
#define tc_reshape(x, ...) tc_reshape_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
#define tc_reshape_scalar(x) tc_reshape_at(TC_HERE, x, 0, NULL)
tc_tensor tc_reshape_at(tc_site at, tc_tensor x, int count, const tc_dim *shape);

/* Joins the axes from `first` to the last one. ATen: flatten. */
#define tc_flatten(x, first) tc_flatten_at(TC_HERE, x, first)
tc_tensor tc_flatten_at(tc_site at, tc_tensor x, int first);

/* tc_permute(x, axis...): result axis i is x's axis i of the list; tc_transpose swaps two. ATen: permute, transpose. */
#define tc_permute(x, ...) tc_permute_at(TC_HERE, x, TC_INT_LIST(__VA_ARGS__))
#define tc_transpose(x, a, b) tc_transpose_at(TC_HERE, x, a, b)
tc_tensor tc_permute_at(tc_site at, tc_tensor x, int count, const int *axes);
tc_tensor tc_transpose_at(tc_site at, tc_tensor x, int a, int b);

/* tc_expand(x, dim...): broadcasts to the shape; -1 keeps x's size; more dims than x has come first. ATen: expand. */
#define tc_expand(x, ...) tc_expand_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_expand_at(tc_site at, tc_tensor x, int count, const tc_dim *shape);

/* Elements start, start + step, ... before stop along an axis. Negative constants count from the end, TC_END is the end.
 * Bounds outside the axis are errors (constant) or guards (dynamic), not clamped. step >= 1. ATen: slice. */
#define TC_END ((int64_t)INT64_MAX)
#define tc_slice(x, axis, start, stop) tc_slice_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(stop), 1)
#define tc_slice_step(x, axis, start, stop, step) tc_slice_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(stop), step)
tc_tensor tc_slice_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim stop, int step);

/* The slice at one index of an axis, which vanishes. ATen: select. */
#define tc_select(x, axis, index) tc_select_at(TC_HERE, x, axis, TC_DIM(index))
tc_tensor tc_select_at(tc_site at, tc_tensor x, int axis, tc_dim index);

/* Removes an axis of size 1; inserts one (axis counts in the result). ATen: squeeze, unsqueeze. */
#define tc_squeeze(x, axis) tc_squeeze_at(TC_HERE, x, axis)
#define tc_unsqueeze(x, axis) tc_unsqueeze_at(TC_HERE, x, axis)
tc_tensor tc_squeeze_at(tc_site at, tc_tensor x, int axis);
tc_tensor tc_unsqueeze_at(tc_site at, tc_tensor x, int axis);

/* -- joining and making -------------------------------------------------------------------------------------------- */

/* tc_concat(axis, x...): tensors of one dtype whose other sizes agree; tc_concat_list for an array. ATen: cat. */
#define tc_concat(axis, ...) tc_concat_at(TC_HERE, axis, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_concat_list(axis, count, tensors) tc_concat_at(TC_HERE, axis, count, tensors)
tc_tensor tc_concat_at(tc_site at, int axis, int count, const tc_tensor *tensors);

/* tc_split(x, axis, count, parts): `count` equal slices along the axis into parts[0..count-1]; the size must divide.
 * tc_split_sizes(x, axis, parts, dim...): slices of these sizes, whose sum is the axis's. ATen: chunk (exact), split. */
#define tc_split(x, axis, count, parts) tc_split_at(TC_HERE, x, axis, count, parts)
#define tc_split_sizes(x, axis, parts, ...) tc_split_sizes_at(TC_HERE, x, axis, parts, TC_DIM_LIST(__VA_ARGS__))
void tc_split_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);
void tc_split_sizes_at(tc_site at, tc_tensor x, int axis, tc_tensor *parts, int count, const tc_dim *sizes);

/* tc_pad(x, .low = {0, 1}, .high = {0, 1}, .value = 0): adds elements of a constant before and after each axis (axis i:
 * low[i], high[i] >= 0). tc_pad_axis(x, axis, low, high, value) pads one axis by dims. ATen: constant_pad_nd (which
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
 * ATen: slice_scatter. */
#define tc_update_slice(x, y, ...) tc_update_slice_at(TC_HERE, x, y, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_update_slice_at(tc_site at, tc_tensor x, tc_tensor y, int count, const tc_dim *start);

/* tc_arange(g, dtype, stop): 0, 1, ... stop - 1; tc_arange_step(g, dtype, start, stop, step), step >= 1. Numbers.
 * ATen: arange. */
#define tc_arange(g, dtype, stop) tc_arange_at(TC_HERE, g, dtype, TC_DIM(0), TC_DIM(stop), 1)
#define tc_arange_step(g, dtype, start, stop, step)                                                                   \
    tc_arange_at(TC_HERE, g, dtype, TC_DIM(start), TC_DIM(stop), step)
tc_tensor tc_arange_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim start, tc_dim stop, int step);

/* tc_full(g, value, dtype, dim...): every element `value` (a C number). tc_dim_value(g, dtype, dim): a rank-0 number, the
 * value of a size at run time. ATen: full; sym_size. */
#define tc_full(g, value, ...) tc_full_at(TC_HERE, g, TC_OPERAND(value), TC_DIM_LIST(__VA_ARGS__))
#define tc_dim_value(g, dtype, dim) tc_dim_value_at(TC_HERE, g, dtype, TC_DIM(dim))
tc_tensor tc_full_at(tc_site at, tc_graph *g, tc_operand value, int count, const tc_dim *dtype_and_shape);
tc_tensor tc_dim_value_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim dim);

/* x where column <= row + diagonal in the last two axes, else 0 (tril); where column >= row + diagonal (triu). Any
 * dtype. ATen: tril, triu. */
#define tc_tril(x, diagonal) tc_tril_at(TC_HERE, x, diagonal)
#define tc_triu(x, diagonal) tc_triu_at(TC_HERE, x, diagonal)
tc_tensor tc_tril_at(tc_site at, tc_tensor x, int diagonal);
tc_tensor tc_triu_at(tc_site at, tc_tensor x, int diagonal);

#endif
