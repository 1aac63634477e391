/* SPDX-License-Identifier: Apache-2.0
 *
 * What losses share. All of them compute 16-bit floats in f32, the mean of the terms too, and round their result alone.
 */
#ifndef TC_CAPTURE_LOSSES_H
#define TC_CAPTURE_LOSSES_H

#include "compose.h"

/* Floats of one dtype, as each loss takes them; NULLs are skipped. Reported and false where they are not. */
bool tc_loss_operands(tc_graph *g, int count, const tc_tensor *tensors);
/* What becomes of the terms, in `dtype`. */
tc_tensor tc_loss_reduced(tc_graph *g, tc_site at, tc_tensor terms, tc_loss_reduction reduction, tc_dtype dtype);
/* maximum(x, 0) + log1p(exp(-abs(x))), which is log(1 + exp(x)) */
tc_tensor tc_loss_softplus(tc_site at, tc_tensor x);

#endif
