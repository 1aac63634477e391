/* SPDX-License-Identifier: Apache-2.0
 *
 * What resampling to sizes in PyTorch's ways, in ONNX's, and sampling at a grid share: cubic weights, elements of an
 * axis.
 */
#ifndef TC_CAPTURE_RESAMPLING_H
#define TC_CAPTURE_RESAMPLING_H

#include "internal.h"

/* Keys' kernel at the distance d: below 1, (a + 2)d^3 - (a + 3)d^2 + 1, or (far) from 1 to 2, a(d^3 - 5d^2 + 8d - 4);
 * by Horner's rule. */
tc_tensor tc_cubic_weight(tc_site at, tc_tensor d, double a, bool far);

/* floor(in * scale); NULL where a dynamic size cannot be multiplied by the scale. */
const tc_expr *tc_scaled_size(tc_graph *g, const tc_expr *in, double scale);
/* x's elements along an axis of the size `in`, at i64 places of any rank, which are limited to the axis. */
tc_tensor tc_limited_elements(tc_graph *g, tc_site at, tc_tensor x, int axis, const tc_expr *in, tc_tensor places);
/* v, along the axis or along that and the next one, repeated to the shape of x; and x times that. */
tc_tensor tc_spread_along(tc_graph *g, tc_tensor v, tc_tensor x, int axis);
tc_tensor tc_weighted_along(tc_graph *g, tc_site at, tc_tensor x, tc_tensor weight, int axis);
/* x[..., n, ...] -> [..., n*times, ...], each element `times` times in a row. */
tc_tensor tc_repeated_along(tc_graph *g, tc_tensor x, int axis, int64_t times);

/* Those of the four elements around a place, a = -0.75; `above`: how far it lies behind the second one, 0 to 1. */
void tc_cubic_weights(tc_site at, tc_tensor above, tc_tensor weights[4]);

#endif
