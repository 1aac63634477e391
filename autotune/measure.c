/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "data.h"
#include "memory.h"

enum { MOST_PARAMS = 32 };
#define WORTH_EXACT 0.99 /* of the incumbent's count, where equal calls count equally */

/* The mean of some calls; negative where the counter began anew. */
static double sample(const tc_case *a_case, const tc_candidate *candidate, void *const *buffers, long calls)
{
    const double begin = tc_clock_begin();
    for (long i = 0; i < calls; ++i)
        candidate->run(buffers, a_case->dims, 0, 1);
    return tc_clock_end(begin) / (double)calls;
}

/* The calls double until they last long enough for the clock. Returns the mean of the last ones. */
static double first_sample(const tc_case *a_case, const tc_candidate *candidate, void *const *buffers, long *calls)
{
    for (*calls = 1;; *calls *= 2) {
        const double mean = sample(a_case, candidate, buffers, *calls);
        if (mean < 0 || mean * (double)*calls >= tc_clock_used.sample)
            return mean;
    }
}

static void round_of(const tc_case *a_case, tc_timing *timings, void *const *buffers, long *calls, int round)
{
    for (int c = 0; c < a_case->candidate_count; ++c) {
        tc_timing *timing = &timings[c];
        if (!timing->runs)
            continue;
        const tc_candidate *const candidate = &a_case->candidates[c];
        const double mean = timing->samples[round] = calls[c] ? sample(a_case, candidate, buffers, calls[c])
                                                              : first_sample(a_case, candidate, buffers, &calls[c]);
        if (mean < 0) {
            timing->runs = 0;
            continue;
        }
        if (timing->rounds++ == 0 || mean < timing->least)
            timing->least = mean;
    }
}

/* Times those that run, in memory of their own. Returns 0 where that is short. */
static int turns(const tc_case *a_case, tc_timing *timings, int rounds)
{
    void *buffers[MOST_PARAMS] = {0};
    long *calls = calloc((size_t)a_case->candidate_count, sizeof *calls);
    int ready = calls != NULL;
    for (int c = 0; c < a_case->candidate_count; ++c)
        memset(timings[c].samples, 0, (size_t)rounds * sizeof *timings[c].samples);
    for (int i = 0; ready && i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        buffers[i] = tc_memory_take(tc_data_size(param->type) * (size_t)param->elements);
        if (buffers[i])
            tc_data_fill(buffers[i], param, TC_FILL_PLAIN, (uint64_t)i);
        else
            ready = 0;
    }
    for (int round = 0, all = rounds; ready && round < all; ++round) {
        round_of(a_case, timings, buffers, calls, round);
        if (tc_clock_used.exact)
            continue;
        tc_rank_drop(timings, a_case->candidate_count, a_case->incumbent, round);
        if (!tc_rank_open(timings, a_case->candidate_count, a_case->incumbent, a_case->worth, round))
            all = round;
    }
    free(calls);
    for (int i = 0; i < a_case->param_count; ++i)
        tc_memory_give(buffers[i]);
    return ready;
}

int tc_measure(const tc_case *a_case, tc_timing *timings, int rounds)
{
    const int incumbent = a_case->incumbent;
    if (!turns(a_case, timings, rounds))
        return -1;
    const int exact = tc_clock_used.exact;
    const int best = tc_rank_best(timings, a_case->candidate_count, incumbent, exact ? WORTH_EXACT : a_case->worth);
    if (best < 0 || best == incumbent || exact || !timings[incumbent].runs)
        return best;
    /* the two once more, elsewhere in memory: what was chance or the lie of the buffers does not come twice */
    for (int c = 0; c < a_case->candidate_count; ++c) {
        timings[c].runs = c == best || c == incumbent;
        if (timings[c].runs)
            timings[c].rounds = 0;
    }
    if (!turns(a_case, timings, rounds))
        return -1;
    return tc_rank_beats(&timings[best], &timings[incumbent], rounds, a_case->worth) ? best : incumbent;
}
