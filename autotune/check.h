/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof of a case's candidates: equal to the reference on every kind of data, with teams of 1, 5 and 9 threads,
 * guard zones untouched.
 *
 * The reference takes a hundred times as long as a candidate. Of a long call it computes some points all over the
 * results; there one candidate has to agree with it, and all the others have to agree with that one everywhere.
 */
#ifndef TC_AUTOTUNE_CHECK_H
#define TC_AUTOTUNE_CHECK_H

#include "case.h"

#define TC_MOST_PARAMS 32

/* Whether this processor runs the instruction set. */
int tc_isa_runs(const char *isa);

/* What is known of a candidate. TC_WRONG has a reason. */
typedef struct {
    enum { TC_RIGHT, TC_WRONG, TC_SKIPPED } state;
    char why[200];
} tc_proof;

/* Of every candidate; to be given to free. whole: the reference computes every point of long calls too, and with
 * longer ones all teams are tried. NULL where memory is short. */
tc_proof *tc_prove(const tc_case *a_case, int whole);

#endif
