/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "data.h"
#include "duel.h"
#include "memory.h"

enum { MOST_PARAMS = 32, FINALISTS = 3, SAMPLES = 3 /* of each in a turn of a duel, of which the least counts */ };
#define PLACES 1024      /* where a buffer may begin, in lines of a cache: 16 pages */
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

/* The operands, each at another place for every number. Returns 0 where memory is short. */
static int take(const tc_case *a_case, void **buffers, int place)
{
    uint32_t state = (uint32_t)place * 2654435761u;
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *const param = &a_case->params[i];
        const size_t size = tc_data_size(param->type) * (size_t)param->elements, lines = size / TC_MEMORY_LINE;
        state = state * 1664525u + 1013904223u;
        const size_t skipped = place ? (state >> 8) % (lines < PLACES ? lines + 1 : PLACES) : 0;
        buffers[i] = tc_memory_take_behind(size, skipped * TC_MEMORY_LINE);
        if (!buffers[i])
            return 0;
        tc_data_fill(buffers[i], param, TC_FILL_PLAIN, (uint64_t)i);
    }
    return 1;
}

static void give(const tc_case *a_case, void **buffers)
{
    for (int i = 0; i < a_case->param_count; ++i) {
        tc_memory_give(buffers[i]);
        buffers[i] = NULL;
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

/* Times those that run. calls: of a sample of each. Returns 0 where memory is short. */
static int turns(const tc_case *a_case, tc_timing *timings, long *calls, int rounds)
{
    void *buffers[MOST_PARAMS] = {0};
    const int ready = take(a_case, buffers, 0);
    for (int round = 0, all = rounds; ready && round < all; ++round) {
        round_of(a_case, timings, buffers, calls, round);
        if (tc_clock_used.exact)
            continue;
        tc_rank_drop(timings, a_case->candidate_count, a_case->incumbent, round);
        if (!tc_rank_open(timings, a_case->candidate_count, a_case->incumbent, a_case->worth, round))
            all = round;
    }
    give(a_case, buffers);
    return ready;
}

/* One turn: some samples of each that runs, forwards and backwards, so that none is always behind the same one. */
static int turn(const tc_case *a_case, tc_timing *timings, const long *calls, int place)
{
    void *buffers[MOST_PARAMS] = {0};
    const int ready = take(a_case, buffers, place), count = a_case->candidate_count;
    for (int s = 0; ready && s < SAMPLES; ++s)
        for (int i = 0; i < count; ++i) {
            const int c = (s + place) % 2 ? count - 1 - i : i;
            tc_timing *const timing = &timings[c];
            if (!timing->runs)
                continue;
            const double mean = sample(a_case, &a_case->candidates[c], buffers, calls[c]);
            if (s == 0 || mean < timing->samples[0])
                timing->samples[0] = mean;
        }
    give(a_case, buffers);
    return ready;
}

/* Duels of those that run with the incumbent, all in the same turns. */
static int duels(const tc_case *a_case, tc_timing *timings, tc_duel *fought, const long *calls)
{
    const int incumbent = a_case->incumbent, count = a_case->candidate_count;
    int open = 1;
    for (int place = 1; open; ++place) {
        if (!turn(a_case, timings, calls, place))
            return 0;
        open = 0;
        for (int c = 0; c < count; ++c) {
            tc_timing *const timing = &timings[c];
            if (!timing->runs)
                continue;
            if (place == 1 || timing->samples[0] < timing->least)
                timing->least = timing->samples[0];
            if (c == incumbent)
                continue;
            tc_duel_turn(&fought[c], timing->samples[0], timings[incumbent].samples[0], a_case->worth);
            timing->runs = tc_duel_open(&fought[c]) || tc_duel_won(&fought[c]);
            open |= tc_duel_open(&fought[c]);
        }
    }
    return 1;
}

/* The winner of those that run, the incumbent where nobody beats it in a duel, and by least times, too: what is faster
 * only while other work disturbs is no better. */
static int decided(const tc_case *a_case, tc_timing *timings, const long *calls)
{
    const int incumbent = a_case->incumbent, count = a_case->candidate_count;
    tc_rank_finalists(timings, count, incumbent, a_case->worth, FINALISTS);
    int running = 0;
    for (int c = 0; c < count; ++c)
        running += timings[c].runs;
    if (running < 2)
        return incumbent;
    tc_duel *const fought = calloc((size_t)count, sizeof *fought);
    int best = fought && duels(a_case, timings, fought, calls) ? incumbent : -1;
    const double most = a_case->worth * timings[incumbent].least;
    for (int c = 0; best >= 0 && c < count; ++c)
        if (tc_duel_won(&fought[c]) && timings[c].least < most &&
            (best == incumbent || tc_duel_ratio(&fought[c]) < tc_duel_ratio(&fought[best])))
            best = c;
    free(fought);
    return best;
}

int tc_measure(const tc_case *a_case, tc_timing *timings, int rounds)
{
    const int count = a_case->candidate_count, incumbent = a_case->incumbent;
    long *const calls = calloc((size_t)count, sizeof *calls);
    int winner = -1;
    if (calls && turns(a_case, timings, calls, rounds))
        winner = tc_clock_used.exact || !timings[incumbent].runs ? tc_rank_best(timings, count, incumbent, WORTH_EXACT)
                                                                 : decided(a_case, timings, calls);
    free(calls);
    return winner;
}
