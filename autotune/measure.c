/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdlib.h>

#include "clock.h"
#include "data.h"
#include "memory.h"

/* The mean of some calls; negative where the counter began anew. */
static double sample(const tc_case *a_case, const tc_candidate *candidate, void *const *buffers, long calls)
{
    const double begin = tc_clock_begin();
    for (long i = 0; i < calls; ++i)
        candidate->run(buffers, a_case->dims, 0, 1);
    return tc_clock_end(begin) / (double)calls;
}

/* The calls double until they last long enough for the clock. */
static long enough(const tc_case *a_case, const tc_candidate *candidate, void *const *buffers)
{
    for (long calls = 1;; calls *= 2) {
        const double mean = sample(a_case, candidate, buffers, calls);
        if (mean < 0 || mean * (double)calls >= tc_clock_used.sample)
            return calls;
    }
}

int tc_measure(const tc_case *a_case, tc_timing *timings, int rounds)
{
    void *buffers[32] = {0};
    int result = -1;
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        const size_t size = tc_data_size(param->type) * (size_t)param->elements;
        buffers[i] = tc_memory_take(size);
        if (!buffers[i])
            goto finish;
        tc_data_fill(buffers[i], param, TC_FILL_PLAIN, (uint64_t)i);
    }
    long *calls = calloc((size_t)a_case->candidate_count, sizeof *calls);
    if (!calls)
        goto finish;
    for (int round = 0; round < rounds; ++round) {
        for (int c = 0; c < a_case->candidate_count; ++c) {
            tc_timing *timing = &timings[c];
            timing->samples[round] = 0;
            if (!timing->runs)
                continue;
            if (calls[c] == 0)
                calls[c] = enough(a_case, &a_case->candidates[c], buffers);
            const double mean = timing->samples[round] = sample(a_case, &a_case->candidates[c], buffers, calls[c]);
            if (mean < 0) {
                timing->runs = 0;
                continue;
            }
            if (timing->rounds++ == 0 || mean < timing->least)
                timing->least = mean;
        }
        tc_rank_drop(timings, a_case->candidate_count, a_case->incumbent, round);
    }
    free(calls);
    result = tc_rank_winner(timings, a_case->candidate_count, a_case->incumbent, rounds, tc_clock_used.exact);
finish:
    for (int i = 0; i < a_case->param_count; ++i)
        tc_memory_give(buffers[i]);
    return result;
}
