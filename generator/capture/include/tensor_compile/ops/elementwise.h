/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations: arithmetic, comparison, logic, bits, functions, rounding, conversion. What all of them share
 * is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_ELEMENTWISE_H
#define TENSOR_COMPILE_OPS_ELEMENTWISE_H

#include "../model.h"

/* -- two operands -------------------------------------------------------------------------------------------------- */

/* tc_add(a, b), tc_sub(a, b), tc_mul(a, b), tc_div(a, b)
 * The sum, difference, product and quotient of two operands.
 * Dtypes: numbers.
 * Shape: the operands' broadcast one.
 * Numerics: floats are rounded once; integers wrap, their quotient truncates, x / 0 is 0.
 * ATen: add, sub, mul, div (integers: div with rounding_mode='trunc').
 * ONNX: Add, Sub, Mul, Div. */
#define tc_add(a, b) tc_add_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_sub(a, b) tc_sub_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_mul(a, b) tc_mul_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_div(a, b) tc_div_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_add_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_sub_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_mul_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_div_at(tc_site at, tc_operand a, tc_operand b);

/* tc_maximum(a, b), tc_minimum(a, b)
 * The larger and the smaller of two operands.
 * Dtypes: numbers.
 * Shape: the operands' broadcast one.
 * Numerics: NaN where an operand is NaN; -0 is less than +0.
 * ATen: maximum, minimum.
 * ONNX: Max, Min. */
#define tc_maximum(a, b) tc_maximum_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_minimum(a, b) tc_minimum_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_maximum_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_minimum_at(tc_site at, tc_operand a, tc_operand b);

/* tc_rem(a, b), tc_fmod(a, b), tc_remainder(a, b)
 * The remainder of a division. rem and fmod are one operation, a - b * trunc(a / b), whose result has the sign of a;
 * remainder is a - b * floor(a / b), rem moved by b where their signs differ, whose result has the sign of b.
 * Dtypes: numbers.
 * Shape: the operands' broadcast one.
 * Numerics: rem is exact (C's fmod: NaN for an infinite a or b = 0; a for an infinite b); remainder rounds the addition
 *   of b once. Of integers x rem 0 is 0.
 * ATen: fmod, fmod, remainder.
 * ONNX: Mod with fmod=1, Mod with fmod=1, Mod with fmod=0 (integers). */
#define tc_rem(a, b) tc_rem_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_fmod(a, b) tc_fmod_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_remainder(a, b) tc_remainder_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_rem_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_fmod_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_remainder_at(tc_site at, tc_operand a, tc_operand b);

/* tc_floor_divide(a, b)
 * The quotient rounded down: of floats (a - rem(a, b)) / b made whole, as PyTorch does, so that a is near b * result +
 * remainder(a, b).
 * Dtypes: numbers.
 * Shape: the operands' broadcast one.
 * Numerics: a float divided by 0 is a / b; an integer divided by 0 is 0.
 * ATen: floor_divide. */
#define tc_floor_divide(a, b) tc_floor_divide_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_floor_divide_at(tc_site at, tc_operand a, tc_operand b);

/* tc_pow(x, exponent)
 * x to the power of exponent; one of them may be a C number. Constant whole exponents from -64 to 64 are products by
 * squaring (negative ones: 1 / product), halves of odd ones (0.5, -0.5, 1.5 ...) multiply those by sqrt(x); every other
 * power is the primitive pow, with the special cases of C's pow.
 * Dtypes: floats; integers for a constant whole exponent from 0 to 64.
 * Shape: the operands' broadcast one.
 * Numerics: the primitive is within 1 ULP. A constant exponent of 0.5 gives NaN, not inf, for x = -inf.
 * ATen: pow (all three overloads).
 * ONNX: Pow. */
#define tc_pow(x, exponent) tc_pow_at(TC_HERE, TC_OPERAND(x), TC_OPERAND(exponent))
tc_tensor tc_pow_at(tc_site at, tc_operand x, tc_operand exponent);

/* tc_eq(a, b), tc_ne(a, b), tc_lt(a, b), tc_le(a, b), tc_gt(a, b), tc_ge(a, b)
 * Comparisons; the result is bool.
 * Dtypes: all of them.
 * Shape: the operands' broadcast one.
 * Numerics: a comparison with NaN is false, ne is true.
 * ATen: eq, ne, lt, le, gt, ge.
 * ONNX: Equal, Not of Equal, Less, LessOrEqual, Greater, GreaterOrEqual. */
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

/* tc_logical_and(a, b), tc_logical_or(a, b), tc_logical_xor(a, b)
 * Logic of two truth values.
 * Dtypes: bool.
 * Shape: the operands' broadcast one.
 * ATen: logical_and, logical_or, logical_xor.
 * ONNX: And, Or, Xor. */
#define tc_logical_and(a, b) tc_logical_and_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_logical_or(a, b) tc_logical_or_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_logical_xor(a, b) tc_logical_xor_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_logical_and_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_logical_or_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_logical_xor_at(tc_site at, tc_operand a, tc_operand b);

/* tc_bit_and(a, b), tc_bit_or(a, b), tc_bit_xor(a, b)
 * Logic of the bits of two integers (two's complement).
 * Dtypes: integers.
 * Shape: the operands' broadcast one.
 * ATen: bitwise_and, bitwise_or, bitwise_xor.
 * ONNX: BitwiseAnd, BitwiseOr, BitwiseXor. */
#define tc_bit_and(a, b) tc_bit_and_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_bit_or(a, b) tc_bit_or_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_bit_xor(a, b) tc_bit_xor_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_bit_and_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_bit_or_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_bit_xor_at(tc_site at, tc_operand a, tc_operand b);

/* tc_shift_left(a, b), tc_shift_right(a, b)
 * The bits of a moved by b places. To the right signed integers keep their sign (an arithmetic shift), unsigned ones
 * are filled with zeros.
 * Dtypes: integers.
 * Shape: the operands' broadcast one.
 * Numerics: b counts as unsigned; from the width of the dtype on the result is 0, or -1 where a negative a is shifted
 * right.
 * ATen: bitwise_left_shift, bitwise_right_shift.
 * ONNX: BitShift (unsigned). */
#define tc_shift_left(a, b) tc_shift_left_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_shift_right(a, b) tc_shift_right_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_shift_left_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_shift_right_at(tc_site at, tc_operand a, tc_operand b);

/* tc_where(condition, a, b)
 * a where the condition is true, else b; a and b may be numbers.
 * Dtypes: bool for the condition, any one dtype for a and b; two numbers give i64 if both are integers, else f32.
 * Shape: the broadcast one of all three.
 * ATen: where.
 * ONNX: Where. */
#define tc_where(condition, a, b) tc_where_at(TC_HERE, condition, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_where_at(tc_site at, tc_tensor condition, tc_operand a, tc_operand b);

/* tc_clamp(x, low, high)
 * minimum(maximum(x, low), high); low and high are tensors or numbers, one of them NULL for no bound on that side.
 * Where low is above high, high.
 * Dtypes: numbers.
 * Shape: the broadcast one of all three.
 * ATen: clamp, clamp_min, clamp_max.
 * ONNX: Clip. */
#define tc_clamp(x, low, high) tc_clamp_at(TC_HERE, x, TC_OPERAND(low), TC_OPERAND(high))
tc_tensor tc_clamp_at(tc_site at, tc_tensor x, tc_operand low, tc_operand high);

/* -- one operand --------------------------------------------------------------------------------------------------- */

/* tc_neg(x), tc_abs(x), tc_sign(x)
 * The opposite, the magnitude, and -1, 0 or 1 by the sign.
 * Dtypes: numbers.
 * Shape: that of x.
 * Numerics: the smallest integer is its own opposite and magnitude; the sign of NaN is 0.
 * ATen: neg, abs, sign.
 * ONNX: Neg, Abs, Sign. */
#define tc_neg(x) tc_neg_at(TC_HERE, x)
#define tc_abs(x) tc_abs_at(TC_HERE, x)
#define tc_sign(x) tc_sign_at(TC_HERE, x)
tc_tensor tc_neg_at(tc_site at, tc_tensor x);
tc_tensor tc_abs_at(tc_site at, tc_tensor x);
tc_tensor tc_sign_at(tc_site at, tc_tensor x);

/* tc_exp(x), tc_expm1(x), tc_log(x), tc_log1p(x)
 * The exponential function, exp(x) - 1, the natural logarithm, and log(1 + x).
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: within 1.1, 1.5, 1 and 1.6 ULP for every f32, 1, 1.1, 1 and 1 ULP in f64; expm1 and log1p keep small x and
 * the sign of zero.
 * ATen: exp, expm1, log, log1p.
 * ONNX: Exp, Sub of Exp, Log, Log of Add. */
#define tc_exp(x) tc_exp_at(TC_HERE, x)
#define tc_expm1(x) tc_expm1_at(TC_HERE, x)
#define tc_log(x) tc_log_at(TC_HERE, x)
#define tc_log1p(x) tc_log1p_at(TC_HERE, x)
tc_tensor tc_exp_at(tc_site at, tc_tensor x);
tc_tensor tc_expm1_at(tc_site at, tc_tensor x);
tc_tensor tc_log_at(tc_site at, tc_tensor x);
tc_tensor tc_log1p_at(tc_site at, tc_tensor x);

/* tc_sin(x), tc_cos(x), tc_tan(x)
 * Of an angle in radians; tan is sin(x) / cos(x).
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: within 1.6, 1.6 and 3.8 ULP for every f32, 0.8, 0.8 and 2.2 ULP in f64, whatever the size; NaN for
 * infinities.
 * ATen: sin, cos, tan.
 * ONNX: Sin, Cos, Tan. */
#define tc_sin(x) tc_sin_at(TC_HERE, x)
#define tc_cos(x) tc_cos_at(TC_HERE, x)
#define tc_tan(x) tc_tan_at(TC_HERE, x)
tc_tensor tc_sin_at(tc_site at, tc_tensor x);
tc_tensor tc_cos_at(tc_site at, tc_tensor x);
tc_tensor tc_tan_at(tc_site at, tc_tensor x);

/* tc_tanh(x), tc_erf(x)
 * The hyperbolic tangent and the error function.
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: within 2.7 and 6.3 ULP for every f32; never beyond 1.
 * ATen: tanh, erf.
 * ONNX: Tanh, Erf. */
#define tc_tanh(x) tc_tanh_at(TC_HERE, x)
#define tc_erf(x) tc_erf_at(TC_HERE, x)
tc_tensor tc_tanh_at(tc_site at, tc_tensor x);
tc_tensor tc_erf_at(tc_site at, tc_tensor x);

/* tc_erfc(x), tc_lgamma(x)
 * 1 - erf(x) without its cancellation, and log(abs(gamma(x))), infinite for 0, whole numbers below it and both
 * infinities.
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: within 4.5 and 3 ULP for every f32, 4.3 and 2.7 ULP in f64; lgamma of a negative x within 3 ULP of the
 * largest of its size, lgamma(-x) and 1.
 * ATen: erfc, lgamma. */
#define tc_erfc(x) tc_erfc_at(TC_HERE, x)
#define tc_lgamma(x) tc_lgamma_at(TC_HERE, x)
tc_tensor tc_erfc_at(tc_site at, tc_tensor x);
tc_tensor tc_lgamma_at(tc_site at, tc_tensor x);

/* tc_sqrt(x), tc_rsqrt(x), tc_reciprocal(x)
 * The square root, 1 / sqrt(x) and 1 / x.
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: every step is rounded correctly, so rsqrt has two roundings.
 * ATen: sqrt, rsqrt, reciprocal.
 * ONNX: Sqrt, Reciprocal of Sqrt, Reciprocal. */
#define tc_sqrt(x) tc_sqrt_at(TC_HERE, x)
#define tc_rsqrt(x) tc_rsqrt_at(TC_HERE, x)
#define tc_reciprocal(x) tc_reciprocal_at(TC_HERE, x)
tc_tensor tc_sqrt_at(tc_site at, tc_tensor x);
tc_tensor tc_rsqrt_at(tc_site at, tc_tensor x);
tc_tensor tc_reciprocal_at(tc_site at, tc_tensor x);

/* tc_floor(x), tc_ceil(x), tc_trunc(x), tc_round(x)
 * The whole number below, above, towards zero, and the nearest one (of two the even one).
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: exact; the sign of zero is kept.
 * ATen: floor, ceil, trunc, round.
 * ONNX: Floor, Ceil, none, Round. */
#define tc_floor(x) tc_floor_at(TC_HERE, x)
#define tc_ceil(x) tc_ceil_at(TC_HERE, x)
#define tc_trunc(x) tc_trunc_at(TC_HERE, x)
#define tc_round(x) tc_round_at(TC_HERE, x)
tc_tensor tc_floor_at(tc_site at, tc_tensor x);
tc_tensor tc_ceil_at(tc_site at, tc_tensor x);
tc_tensor tc_trunc_at(tc_site at, tc_tensor x);
tc_tensor tc_round_at(tc_site at, tc_tensor x);

/* tc_isnan(x), tc_isinf(x), tc_isfinite(x)
 * Whether x is NaN; an infinity; neither. The result is bool.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: isnan, isinf, isfinite.
 * ONNX: IsNaN, IsInf, none. */
#define tc_isnan(x) tc_isnan_at(TC_HERE, x)
#define tc_isinf(x) tc_isinf_at(TC_HERE, x)
#define tc_isfinite(x) tc_isfinite_at(TC_HERE, x)
tc_tensor tc_isnan_at(tc_site at, tc_tensor x);
tc_tensor tc_isinf_at(tc_site at, tc_tensor x);
tc_tensor tc_isfinite_at(tc_site at, tc_tensor x);

/* tc_logical_not(x)
 * The other truth value.
 * Dtypes: bool.
 * Shape: that of x.
 * ATen: logical_not.
 * ONNX: Not. */
#define tc_logical_not(x) tc_logical_not_at(TC_HERE, x)
tc_tensor tc_logical_not_at(tc_site at, tc_tensor x);

/* tc_bit_not(x)
 * Every bit turned over: -1 - x.
 * Dtypes: integers.
 * Shape: that of x.
 * ATen: bitwise_not.
 * ONNX: BitwiseNot. */
#define tc_bit_not(x) tc_bit_not_at(TC_HERE, x)
tc_tensor tc_bit_not_at(tc_site at, tc_tensor x);

/* tc_cast(x, dtype)
 * The value in another dtype; the same dtype gives x itself.
 * Dtypes: all of them.
 * Shape: that of x.
 * Numerics: floats to integers truncate and saturate, NaN gives 0; to bool it is x != 0; wider integers to narrower
 *   ones wrap.
 * ATen: to.
 * ONNX: Cast. */
#define tc_cast(x, dtype) tc_cast_at(TC_HERE, x, dtype)
tc_tensor tc_cast_at(tc_site at, tc_tensor x, tc_dtype dtype);

/* tc_bitcast(x, dtype)
 * The bits of every element as an element of another dtype of the same width: f32 1.0 as i32 is 0x3f800000.
 * Dtypes: all of them; to bool from bool alone.
 * Shape: that of x.
 * Numerics: exact. A NaN that an operation made has whatever sign and digits the machine gives it, and a 16-bit NaN may
 *   change its digits where it is moved.
 * ATen: view (of a dtype).
 * ONNX: BitCast. */
#define tc_bitcast(x, dtype) tc_bitcast_at(TC_HERE, x, dtype)
tc_tensor tc_bitcast_at(tc_site at, tc_tensor x, tc_dtype dtype);

#endif
