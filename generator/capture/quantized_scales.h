/* SPDX-License-Identifier: Apache-2.0
 *
 * Integers of quantized tensors (tc_affine): what they stand for, and integers of one scale as those of another.
 */
#ifndef TC_CAPTURE_QUANTIZED_SCALES_H
#define TC_CAPTURE_QUANTIZED_SCALES_H

#include "internal.h"

/* Positive and finite; reported with `what` behind "the scale". */
bool tc_affine_check_scale(tc_graph *g, const char *what, double scale);
/* What a result of the dtype is to have; reported. */
bool tc_affine_check_result(tc_graph *g, tc_dtype dtype, double scale, int zero);
/* The argument of that name: integers of 8 or, where `wide`, 16 bits with their scale and zero; reported. */
bool tc_affine_read(tc_graph *g, const char *argument, const tc_affine *a, bool wide);
/* Both operands and the result; reported. */
bool tc_affine_read_two(tc_graph *g, const tc_quantized_two_args *args);

/* x - zero in i32. */
tc_tensor tc_affine_centered(tc_graph *g, tc_site at, const tc_affine *a);
/* x * multiplier * 2^(shift - 31), x i32, rounded twice. */
tc_tensor tc_affine_multiplied(tc_graph *g, tc_site at, tc_tensor x, int32_t multiplier, int shift);
/* The same by the multiplier of a number. */
tc_tensor tc_affine_scaled(tc_graph *g, tc_site at, tc_tensor x, double scale);
/* x + zero in the dtype, x i32, saturating. */
tc_tensor tc_affine_finished(tc_site at, tc_tensor x, int zero, tc_dtype dtype);
/* round(x * scale) + zero in the dtype: halves to even, in f32. scale: f32 that broadcasts to x. */
tc_tensor tc_affine_in_floats(tc_graph *g, tc_site at, tc_tensor x, tc_tensor scale, int zero, tc_dtype dtype);
/* The same by one number; poison stays poison. */
tc_tensor tc_affine_by_number(tc_graph *g, tc_site at, tc_tensor x, double scale, int zero, tc_dtype dtype);

#endif
