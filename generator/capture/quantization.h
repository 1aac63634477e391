/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operations of quantized tensors share.
 */
#ifndef TC_CAPTURE_QUANTIZATION_H
#define TC_CAPTURE_QUANTIZATION_H

#include "internal.h"

/* Reported where it is none. */
bool tc_check_small_float(tc_graph *g, tc_small_float which);
/* tc_encode_float of operands that are no poison. */
tc_tensor tc_encode_float_of(tc_graph *g, const tc_encode_float_args *args);
/* A scale or zero (`what`) as a tensor that broadcasts to x: one number has rank 0; one a slice stands along the axis;
 * one a block (0: none) is repeated. Reported and poison where it is none of them. */
tc_tensor tc_quantized_along(tc_graph *g, tc_site at, const char *what, tc_tensor p, const tc_type *x, int axis,
                             int block);
/* Whether the dtype is an integer of at most 16 bits. */
bool tc_is_short_integer(tc_dtype dtype);
/* round(x * scale) + zero in the dtype, x i32: the scale f32 and broadcast to x already, zero (NULL: none) too. */
tc_tensor tc_requantize_by(tc_graph *g, tc_site at, tc_tensor x, tc_tensor scale, tc_tensor zero, tc_dtype dtype);
/* The range of integers of the dtype, of `bits` where not 0. */
void tc_integer_range(tc_dtype dtype, int bits, int64_t *low, int64_t *high);
/* As TensorFlow Lite: x, i32, times q * 2^(e - 31); q and e are i32 that broadcast to x. Rounded twice, or once. */
tc_tensor tc_requantize_fixed(tc_graph *g, tc_site at, tc_tensor x, tc_tensor q, tc_tensor e, bool once);

/* The same rounded twice where every q is 0 or at least 2^30, as tc_quantized_multiplier gives it: in fewer steps. */
tc_tensor tc_requantize_normal(tc_graph *g, tc_site at, tc_tensor x, tc_tensor q, tc_tensor e);
/* mulhigh_round(x, q) for q from 2^30 on. */
tc_tensor tc_scaled_high(tc_graph *g, tc_site at, tc_tensor x, int32_t q);

/* -- meanings.c --------------------------------------------------------------------------------------------------- */

/* The call under way reads the integers x, its argument of that name, as (x - zero) * scale: warns where the operation
 * that wrote them, or the first that read them, said something else. Nothing for poison. */
void tc_read_as(tc_graph *g, const char *argument, tc_tensor x, double scale, int zero);
/* The call under way writes y so; returns y. */
tc_tensor tc_written_as(tc_graph *g, tc_tensor y, double scale, int zero);
/* y has integers of the meaning of x; returns y. */
tc_tensor tc_means_as(tc_graph *g, tc_tensor y, tc_tensor x);
/* The same where scale and zero (NULL: 0) are tensors: nothing unless both are constants of one number. */
void tc_read_by(tc_graph *g, const char *argument, tc_tensor x, tc_tensor scale, tc_tensor zero);
tc_tensor tc_written_by(tc_graph *g, tc_tensor y, tc_tensor scale, tc_tensor zero);

#endif
