/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof of a candidate: equal to the reference on every kind of data, with teams of 1, 5 and 23, guard zones untouched.
 */
#ifndef TC_AUTOTUNE_CHECK_H
#define TC_AUTOTUNE_CHECK_H

#include "case.h"

#define TC_MOST_PARAMS 32

/* Whether this processor runs the instruction set. */
int tc_isa_runs(const char *isa);

/* The reference's results for one kind of data. */
typedef struct {
    tc_fill fill;
    void *inputs[TC_MOST_PARAMS];  /* every parameter's values before the call */
    void *results[TC_MOST_PARAMS]; /* after it */
} tc_expectation;

/* Returns 0 where memory is short. */
int tc_expectation_init(tc_expectation *expectation, const tc_case *a_case, tc_fill fill);
void tc_expectation_finish(tc_expectation *expectation, const tc_case *a_case);

/* Returns whether the candidate is right; where it is not, `why` says how it differs. */
int tc_check(const tc_case *a_case, const tc_candidate *candidate, const tc_expectation *expectation, char *why,
             size_t why_size);

#endif
