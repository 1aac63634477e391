/* SPDX-License-Identifier: Apache-2.0
 *
 * Complex numbers: tensors of floats whose last axis is 2, the real part first, as tc_dft has them. What all operations
 * share is said in ../ops.h. Sums, reshapes and parts along other axes need nothing here: they are those of the pairs.
 */
#ifndef TENSOR_COMPILE_OPS_COMPLEX_H
#define TENSOR_COMPILE_OPS_COMPLEX_H

#include "../model.h"

/* tc_complex(re, im), tc_polar(r, angle): re + im i, and r (cos(angle) + sin(angle) i), of operands.
 * Dtypes: floats of one dtype.
 * Shape: [..., 2] of what both operands broadcast to.
 * ATen: complex, polar. */
#define tc_complex(re, im) tc_complex_at(TC_HERE, TC_OPERAND(re), TC_OPERAND(im))
#define tc_polar(r, angle) tc_polar_at(TC_HERE, TC_OPERAND(r), TC_OPERAND(angle))
tc_tensor tc_complex_at(tc_site at, tc_operand re, tc_operand im);
tc_tensor tc_polar_at(tc_site at, tc_operand r, tc_operand angle);

/* tc_complex_mul(x, y), tc_complex_div(x, y): the product and the quotient of complex numbers x = a + b i and y = c + d
 * i: (a c - b d) + (a d + b c) i, and with c' = c / max(|c|, |d|) and d' = d / max(|c|, |d|)
 * ((a c' + b d') / (c c' + d d')) + ((b c' - a d') / (c c' + d d')) i.
 * Dtypes: floats of one dtype.
 * Shape: [..., 2]; the axes before broadcast.
 * Numerics: 16 bits in f32, rounded once.
 * Errors: a last axis that is not 2.
 * ATen: mul and div of complex numbers. */
#define tc_complex_mul(x, y) tc_complex_mul_at(TC_HERE, x, y)
#define tc_complex_div(x, y) tc_complex_div_at(TC_HERE, x, y)
tc_tensor tc_complex_mul_at(tc_site at, tc_tensor x, tc_tensor y);
tc_tensor tc_complex_div_at(tc_site at, tc_tensor x, tc_tensor y);

/* tc_complex_matmul(x, y): x[..., m, k, 2] x y[..., k, n, 2] -> [..., m, n, 2], the matrix product of complex numbers:
 * with x = a + b i and y = c + d i, (a c - b d) + (a d + b c) i of four products as of tc_matmul.
 * Dtypes: floats of one dtype.
 * Shape: [..., m, n, 2]; the axes before broadcast.
 * Numerics: 16 bits in f32, rounded once.
 * Errors: a last axis that is not 2, fewer than three axes.
 * ATen: matmul of complex numbers. */
#define tc_complex_matmul(x, y) tc_complex_matmul_at(TC_HERE, x, y)
tc_tensor tc_complex_matmul_at(tc_site at, tc_tensor x, tc_tensor y);

/* tc_complex_conj(x), tc_complex_exp(x), tc_complex_log(x): a - b i, exp(a) cos(b) + exp(a) sin(b) i,
 * and log(hypot(a, b)) + atan2(b, a) i of x = a + b i.
 * Dtypes: floats.
 * Shape: that of x.
 * Numerics: 16 bits in f32, rounded once.
 * Errors: a last axis that is not 2.
 * ATen: conj, exp and log of complex numbers. */
#define tc_complex_conj(x) tc_complex_conj_at(TC_HERE, x)
#define tc_complex_exp(x) tc_complex_exp_at(TC_HERE, x)
#define tc_complex_log(x) tc_complex_log_at(TC_HERE, x)
tc_tensor tc_complex_conj_at(tc_site at, tc_tensor x);
tc_tensor tc_complex_exp_at(tc_site at, tc_tensor x);
tc_tensor tc_complex_log_at(tc_site at, tc_tensor x);

/* tc_complex_abs(x), tc_complex_angle(x): hypot(a, b) and atan2(b, a) of complex numbers x = a + b i.
 * Dtypes: floats.
 * Shape: that of x without its last axis.
 * Errors: a last axis that is not 2.
 * ATen: abs and angle of complex numbers. */
#define tc_complex_abs(x) tc_complex_abs_at(TC_HERE, x)
#define tc_complex_angle(x) tc_complex_angle_at(TC_HERE, x)
tc_tensor tc_complex_abs_at(tc_site at, tc_tensor x);
tc_tensor tc_complex_angle_at(tc_site at, tc_tensor x);

#endif
