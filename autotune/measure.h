/* SPDX-License-Identifier: Apache-2.0
 *
 * Times the candidates of a case side by side and says which wins.
 *
 * Candidates take turns in every round, so that whatever else the machine does hits all of them. A sample is the mean
 * of as many calls as the clock needs (clock.h); a candidate's time is its least sample. After three rounds those far
 * behind are dropped. A candidate beats the champion, at first the incumbent, only where its time is more than 1 % less
 * and it won so many of the rounds in which both ran that chance would do so less than once in twenty (sign test). Where
 * equal calls count equally, the least count is enough.
 */
#ifndef TC_AUTOTUNE_MEASURE_H
#define TC_AUTOTUNE_MEASURE_H

#include "case.h"

typedef struct {
    double *samples; /* rounds of the clock's unit; 0 where it did not run */
    double least;
    int rounds; /* in which it ran */
    int runs;   /* proved right, runs on this processor, and is not dropped */
} tc_timing;

/* timings: one a candidate, `runs` set by the caller, `samples` of `rounds` elements. Returns the winner's number, -1
 * where no candidate runs. */
int tc_measure(const tc_case *a_case, tc_timing *timings, int rounds);

/* The probability that a fair coin gives at least `wins` heads in `rounds`. */
double tc_sign_test(int wins, int rounds);

#endif
