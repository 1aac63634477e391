/* SPDX-License-Identifier: Apache-2.0
 *
 * A dot of any dims: what contractions and einsum are written with.
 */
#ifndef TC_CAPTURE_CONTRACTIONS_H
#define TC_CAPTURE_CONTRACTIONS_H

#include "internal.h"

/* Which dims of a and b are paired, in order. The others are free: the result has the batch dims, then those of a, then
 * those of b. */
typedef struct tc_contraction {
    int batch, a_batch[TC_MAX_RANK], b_batch[TC_MAX_RANK];
    int summed, a_summed[TC_MAX_RANK], b_summed[TC_MAX_RANK];
} tc_contraction;

/* The dot; its order follows from the types. Reports sizes that differ; poison for a poisoned operand. */
tc_tensor tc_contract(tc_graph *g, tc_tensor a, tc_tensor b, const tc_contraction *c);

#endif
