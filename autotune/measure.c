/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdlib.h>

#include "clock.h"
#include "data.h"
#include "memory.h"

#define FAR_BEHIND 1.25 /* after three rounds */
#define BEHIND 1.05     /* after six */

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

double tc_sign_test(int wins, int rounds)
{
    double term = 1.0, sum = 0.0; /* term: rounds over i, divided by 2^rounds at the end */
    for (int i = 0; i <= rounds; ++i) {
        if (i >= wins)
            sum += term;
        term = term * (rounds - i) / (i + 1);
    }
    for (int i = 0; i < rounds; ++i)
        sum /= 2.0;
    return sum;
}

static int beats(const tc_timing *a, const tc_timing *b, int rounds)
{
    if (!b->runs)
        return a->runs;
    int wins = 0, both = 0;
    for (int r = 0; r < rounds; ++r)
        if (a->samples[r] > 0 && b->samples[r] > 0) {
            ++both;
            wins += a->samples[r] < b->samples[r];
        }
    return a->runs && a->least < 0.99 * b->least && (tc_clock_used.exact || tc_sign_test(wins, both) < 0.05);
}

static void drop(const tc_case *a_case, tc_timing *timings, double limit)
{
    double best = 0;
    for (int c = 0; c < a_case->candidate_count; ++c)
        if (timings[c].runs && (best == 0 || timings[c].least < best))
            best = timings[c].least;
    for (int c = 0; c < a_case->candidate_count; ++c)
        if (c != a_case->incumbent && timings[c].least > best * limit)
            timings[c].runs = 0;
}

static int winner(const tc_case *a_case, const tc_timing *timings, int rounds)
{
    int champion = a_case->incumbent;
    for (int c = 0; c < a_case->candidate_count; ++c)
        if (c != champion && beats(&timings[c], &timings[champion], rounds))
            champion = c;
    return timings[champion].runs ? champion : -1;
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
        if (round == 2 || round == 5)
            drop(a_case, timings, round == 2 ? FAR_BEHIND : BEHIND);
    }
    free(calls);
    result = winner(a_case, timings, rounds);
finish:
    for (int i = 0; i < a_case->param_count; ++i)
        tc_memory_give(buffers[i]);
    return result;
}
