/* SPDX-License-Identifier: Apache-2.0 */
#include "calm.h"

#include "clock.h"
#include "sorted.h"

enum { LOOPS = 3, PATIENCE = 2000 /* samples of the clock: 0.4 seconds */ };
#define NEAR 1.1 /* of the usual time, and its inverse */

/* The least of some loops. */
static double probe(void)
{
    double least = 0;
    for (int i = 0; i < LOOPS; ++i) {
        const double begin = tc_clock_begin();
        tc_clock_used.known();
        const double took = tc_clock_end(begin);
        if (i == 0 || took < least)
            least = took;
    }
    return least;
}

static double usual(const tc_calm *calm)
{
    double sorted[TC_CALM_KEPT];
    const int count = calm->count < TC_CALM_KEPT ? (int)calm->count : TC_CALM_KEPT;
    for (int i = 0; i < count; ++i)
        tc_sorted_insert(sorted, i, calm->times[i]);
    return sorted[count / 4];
}

void tc_calm_begin(tc_calm *calm)
{
    calm->patience = PATIENCE * tc_clock_used.sample;
}

void tc_calm_wait(tc_calm *calm, double apart, double later)
{
    if (!tc_clock_used.known)
        return;
    const double begin = tc_clock_begin();
    double took = probe(), passed = tc_clock_end(begin);
    calm->times[calm->count++ % TC_CALM_KEPT] = took;
    const double left = later * PATIENCE * tc_clock_used.sample, wanted = usual(calm);
    while (passed < apart || (calm->patience > left && (took > wanted * NEAR || took * NEAR < wanted))) {
        took = probe();
        const double now = tc_clock_end(begin);
        if (passed >= apart)
            calm->patience -= now - passed;
        passed = now;
    }
}
