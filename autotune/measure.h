/* SPDX-License-Identifier: Apache-2.0
 *
 * Times the candidates of a case side by side and says which wins.
 *
 * Candidates take turns in every round, so that whatever else the machine does hits all of them. A sample is the mean
 * of as many calls as the clock needs (clock.h). The three best of those that are better than the incumbent by what is
 * worth it then fight a duel with it (duel.h); of those that win, the one whose ratio to it is the least wins. Rounds and
 * turns begin when the processor is as it usually is (calm.h), turns of a duel some time apart.
 */
#ifndef TC_AUTOTUNE_MEASURE_H
#define TC_AUTOTUNE_MEASURE_H

#include "calm.h"
#include "case.h"
#include "rank.h"

/* timings: one a candidate, `runs` set by the caller, `samples` of `rounds` elements. calm: of the program. Returns the winner's number, -1
 * where no candidate runs. */
int tc_measure(const tc_case *a_case, tc_timing *timings, int rounds, tc_calm *calm);

#endif
