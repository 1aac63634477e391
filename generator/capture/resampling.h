/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubic weights: what resampling to sizes and sampling at a grid share.
 */
#ifndef TC_CAPTURE_RESAMPLING_H
#define TC_CAPTURE_RESAMPLING_H

#include "internal.h"

/* Keys' kernel at the distance d: below 1, (a + 2)d^3 - (a + 3)d^2 + 1, or (far) from 1 to 2, a(d^3 - 5d^2 + 8d - 4);
 * by Horner's rule. */
tc_tensor tc_cubic_weight(tc_site at, tc_tensor d, double a, bool far);

/* Those of the four elements around a place, a = -0.75; `above`: how far it lies behind the second one, 0 to 1. */
void tc_cubic_weights(tc_site at, tc_tensor above, tc_tensor weights[4]);

#endif
