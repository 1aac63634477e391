/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_ELEMENTWISE_H
#define TENSOR_COMPILE_OPS_ELEMENTWISE_H

#include "../model.h"

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

#endif
