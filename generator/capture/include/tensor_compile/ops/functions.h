/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of floats made of the elementary ones, element by element. What all operations share is said in ../ops.h.
 * All of them compute 16-bit floats in f32 and round their result alone.
 */
#ifndef TENSOR_COMPILE_OPS_FUNCTIONS_H
#define TENSOR_COMPILE_OPS_FUNCTIONS_H

#include "../model.h"

/* tc_square(x), tc_exp2(x), tc_log2(x), tc_log10(x)
 * x * x; tc_pow(2, x); log(x) / log(2), the exponent itself where x is a power of 2; log(x) / log(10).
 * Dtypes: floats; numbers for square.
 * Shape: that of x.
 * Numerics: exp2, log2 and log10 were within 0.8, 1.5 and 2 ULP of 20,000 sampled operands of f32 and 1,500 of f64.
 * ATen: square, exp2, log2, log10.
 * ONNX: Pow. */
#define tc_square(x) tc_square_at(TC_HERE, x)
#define tc_exp2(x) tc_exp2_at(TC_HERE, x)
#define tc_log2(x) tc_log2_at(TC_HERE, x)
#define tc_log10(x) tc_log10_at(TC_HERE, x)
tc_tensor tc_square_at(tc_site at, tc_tensor x);
tc_tensor tc_exp2_at(tc_site at, tc_tensor x);
tc_tensor tc_log2_at(tc_site at, tc_tensor x);
tc_tensor tc_log10_at(tc_site at, tc_tensor x);

/* tc_sinh(x), tc_cosh(x), tc_asinh(x), tc_acosh(x), tc_atanh(x)
 * With a = abs(x), of the sign of x where the function is odd: (e + e / (e + 1)) / 2 of e = expm1(a); (exp(a) + 1 /
 * exp(a)) / 2; beyond 20 both are exp(a / 2)^2 / 2. log1p(a + a^2 / (1 + sqrt(a^2 + 1))); log1p(t + sqrt(t * (t + 2)))
 * of t = x - 1; beyond 1e9 both are log(a) + log(2). log1p(2a / (1 - a)) / 2.
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: NaN outside of the domain; zeros keep their sign. Within 2.6, 2.6, 1.6, 2.4 and 1.9 ULP of the operands
 * sampled as for tc_exp2.
 * ATen: sinh, cosh, asinh, acosh, atanh.
 * ONNX: Sinh, Cosh, Asinh, Acosh, Atanh. */
#define tc_sinh(x) tc_sinh_at(TC_HERE, x)
#define tc_cosh(x) tc_cosh_at(TC_HERE, x)
#define tc_asinh(x) tc_asinh_at(TC_HERE, x)
#define tc_acosh(x) tc_acosh_at(TC_HERE, x)
#define tc_atanh(x) tc_atanh_at(TC_HERE, x)
tc_tensor tc_sinh_at(tc_site at, tc_tensor x);
tc_tensor tc_cosh_at(tc_site at, tc_tensor x);
tc_tensor tc_asinh_at(tc_site at, tc_tensor x);
tc_tensor tc_acosh_at(tc_site at, tc_tensor x);
tc_tensor tc_atanh_at(tc_site at, tc_tensor x);

/* tc_asin(x), tc_acos(x), tc_atan(x), tc_atan2(y, x)
 * The angles in radians whose sine, cosine and tangent is x, in -pi/2..pi/2, 0..pi and -pi/2..pi/2; and that of the
 * point (x, y), in -pi..pi, of the ratio of the smaller size to the larger.
 * Dtypes: floats.
 * Shape: that of x; the operands' broadcast one.
 * Numerics: polynomials of the square of an operand reduced to tan(pi/8) or to 1/2, within 2.2, 1.1, 2 and 2.3 ULP of
 * the operands sampled as for tc_exp2. NaN outside of -1..1; zeros keep their sign, and atan2 tells those of x apart.
 * ATen: asin, acos, atan, atan2.
 * ONNX: Asin, Acos, Atan. */
#define tc_asin(x) tc_asin_at(TC_HERE, x)
#define tc_acos(x) tc_acos_at(TC_HERE, x)
#define tc_atan(x) tc_atan_at(TC_HERE, x)
#define tc_atan2(y, x) tc_atan2_at(TC_HERE, TC_OPERAND(y), TC_OPERAND(x))
tc_tensor tc_asin_at(tc_site at, tc_tensor x);
tc_tensor tc_acos_at(tc_site at, tc_tensor x);
tc_tensor tc_atan_at(tc_site at, tc_tensor x);
tc_tensor tc_atan2_at(tc_site at, tc_operand y, tc_operand x);

/* tc_logit(x, eps), tc_sinc(x), tc_deg2rad(x), tc_rad2deg(x)
 * log(x / (1 - x)), of x limited to eps..1 - eps where eps is not 0; sin(pi x) / (pi x), 1 at 0; x * pi / 180 and
 * x * 180 / pi.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: logit, sinc, deg2rad, rad2deg. */
#define tc_logit(x, eps) tc_logit_at(TC_HERE, x, eps)
#define tc_sinc(x) tc_sinc_at(TC_HERE, x)
#define tc_deg2rad(x) tc_deg2rad_at(TC_HERE, x)
#define tc_rad2deg(x) tc_rad2deg_at(TC_HERE, x)
tc_tensor tc_logit_at(tc_site at, tc_tensor x, double eps);
tc_tensor tc_sinc_at(tc_site at, tc_tensor x);
tc_tensor tc_deg2rad_at(tc_site at, tc_tensor x);
tc_tensor tc_rad2deg_at(tc_site at, tc_tensor x);

/* tc_logaddexp(a, b), tc_logaddexp2(a, b), tc_xlogy(a, b), tc_hypot(a, b)
 * log(exp(a) + exp(b)) as m + log1p(exp(-d)), m the larger and d the distance of both; the same of base 2; a * log(b),
 * 0 where a is 0 and b no NaN; sqrt(a^2 + b^2) as m * sqrt(1 + (n / m)^2) of the larger size m and the smaller n, so
 * that no square overflows, infinite where one is.
 * Dtypes: floats.
 * Shape: the operands' broadcast one.
 * ATen: logaddexp, logaddexp2, xlogy, hypot.
 * ONNX: none, none, none, ReduceL2 of Concat. */
#define tc_logaddexp(a, b) tc_logaddexp_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_logaddexp2(a, b) tc_logaddexp2_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_xlogy(a, b) tc_xlogy_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_hypot(a, b) tc_hypot_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
tc_tensor tc_logaddexp_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_logaddexp2_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_xlogy_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_hypot_at(tc_site at, tc_operand a, tc_operand b);

/* tc_fmax(a, b), tc_fmin(a, b), tc_copysign(a, b), tc_heaviside(x, y)
 * The larger and the smaller, as tc_maximum and tc_minimum but the other operand where one is NaN; abs(a) with the sign
 * of b, that of its zeros too and + of a NaN; 0 below 0, 1 above, y at 0.
 * Dtypes: floats.
 * Shape: the operands' broadcast one.
 * ATen: fmax, fmin, copysign, heaviside. */
#define tc_fmax(a, b) tc_fmax_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_fmin(a, b) tc_fmin_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_copysign(a, b) tc_copysign_at(TC_HERE, TC_OPERAND(a), TC_OPERAND(b))
#define tc_heaviside(x, y) tc_heaviside_at(TC_HERE, TC_OPERAND(x), TC_OPERAND(y))
tc_tensor tc_fmax_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_fmin_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_copysign_at(tc_site at, tc_operand a, tc_operand b);
tc_tensor tc_heaviside_at(tc_site at, tc_operand a, tc_operand b);

/* tc_frac(x), tc_nan_to_num(x, .nan = 0, .posinf = 9, .neginf = -9)
 * x - trunc(x); and numbers in the place of NaN and the infinities. posinf and neginf left out or 0 are the largest
 * number of the dtype and its negative.
 * Dtypes: floats.
 * Shape: that of x.
 * ATen: frac, nan_to_num. */
#define tc_frac(x) tc_frac_at(TC_HERE, x)
#define tc_nan_to_num(...) tc_nan_to_num_at(&(const tc_nan_to_num_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_nan_to_num_args {
    tc_tensor x;
    double nan, posinf, neginf;
    tc_site at;
} tc_nan_to_num_args;
tc_tensor tc_frac_at(tc_site at, tc_tensor x);
tc_tensor tc_nan_to_num_at(const tc_nan_to_num_args *args);

/* tc_isposinf(x), tc_isneginf(x), tc_signbit(x), tc_isclose(a, b, relative, absolute)
 * Whether x is +inf, or -inf; is below 0 or -0 (false of every NaN); whether abs(a - b) <= absolute + relative *
 * abs(b), or a and b are equal: of the bounds, C numbers.
 * Dtypes: floats; the result is bool.
 * Shape: that of x; the operands' broadcast one.
 * ATen: isposinf, isneginf, signbit, isclose.
 * ONNX: IsInf. */
#define tc_isposinf(x) tc_isposinf_at(TC_HERE, x)
#define tc_isneginf(x) tc_isneginf_at(TC_HERE, x)
#define tc_signbit(x) tc_signbit_at(TC_HERE, x)
#define tc_isclose(a, b, relative, absolute) tc_isclose_at(TC_HERE, a, b, relative, absolute)
tc_tensor tc_isposinf_at(tc_site at, tc_tensor x);
tc_tensor tc_isneginf_at(tc_site at, tc_tensor x);
tc_tensor tc_signbit_at(tc_site at, tc_tensor x);
tc_tensor tc_isclose_at(tc_site at, tc_tensor a, tc_tensor b, double relative, double absolute);

/* tc_lerp(a, b, weight), tc_addcmul(x, a, b, number), tc_addcdiv(x, a, b, number)
 * a + weight * (b - a), from weight 0.5 on b - (1 - weight) * (b - a); the weight is an operand. x + number * a * b and
 * x + number * a / b, from left to right; the number is a C number.
 * Dtypes: floats of one dtype.
 * Shape: the operands' broadcast one.
 * ATen: lerp, addcmul, addcdiv. */
#define tc_lerp(a, b, weight) tc_lerp_at(TC_HERE, a, b, TC_OPERAND(weight))
#define tc_addcmul(x, a, b, number) tc_addcmul_at(TC_HERE, x, a, b, number)
#define tc_addcdiv(x, a, b, number) tc_addcdiv_at(TC_HERE, x, a, b, number)
tc_tensor tc_lerp_at(tc_site at, tc_tensor a, tc_tensor b, tc_operand weight);
tc_tensor tc_addcmul_at(tc_site at, tc_tensor x, tc_tensor a, tc_tensor b, double number);
tc_tensor tc_addcdiv_at(tc_site at, tc_tensor x, tc_tensor a, tc_tensor b, double number);

#endif
