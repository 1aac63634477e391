/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed point in i32 as gemmlowp defines it, as compositions: a number x with b integer bits stands for x / 2^(31 - b).
 */
#ifndef TC_CAPTURE_FIXED_POINT_H
#define TC_CAPTURE_FIXED_POINT_H

#include "internal.h"

/* exp(a), with 0 integer bits, of an a <= 0 with `bits` of them, at most 5. */
tc_tensor tc_fixed_exp(tc_site at, tc_tensor a, int bits);
/* 1 / (1 + a) and (1 - a) / (1 + a) for 0 <= a < 1, all with 0 integer bits. */
tc_tensor tc_fixed_reciprocal(tc_site at, tc_tensor a);
tc_tensor tc_fixed_half_tangent(tc_site at, tc_tensor a);
/* The logistic function and the hyperbolic tangent of an a with 4 integer bits; the results have 0. */
tc_tensor tc_fixed_logistic(tc_site at, tc_tensor a);
tc_tensor tc_fixed_tanh(tc_site at, tc_tensor a);
/* x * 2^places, saturating. */
tc_tensor tc_fixed_shift(tc_site at, tc_tensor x, int places);

#endif
