/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "copies.h"
#include "data.h"
#include "duel.h"
#include "memory.h"

enum { FINALISTS = 3, SAMPLES = 3 /* of each in a turn of a duel, of which the least counts */ };
#define PLACES 1024      /* where a buffer may begin, in lines of a cache: 16 pages */
#define WORTH_EXACT 0.99 /* of the incumbent's count, where equal calls count equally */
#define APART 100        /* samples from one turn of a duel to the next: 20 ms, so that eleven are no single moment */
#define LARGE (1 << 20)  /* bytes of an operand that stays where it is: filling it again would take long */

/* What candidates are called with. The last two buffers are NULL: a call is told nothing of others. */
typedef struct {
    void *buffers[TC_MOST_PARAMS + 2];
    tc_copies constants;
} operands;

/* The mean of some calls; negative where the counter began anew. */
static double sample(const tc_case *a_case, const tc_candidate *candidate, operands *with, long calls)
{
    const double begin = tc_clock_begin();
    for (long i = 0; i < calls; ++i) {
        tc_copies_turn(&with->constants, a_case, with->buffers);
        candidate->run(with->buffers, a_case->dims, 0, 1);
    }
    return tc_clock_end(begin) / (double)calls;
}

/* The calls double until they last long enough for the clock. Returns the mean of the last ones. */
static double first_sample(const tc_case *a_case, const tc_candidate *candidate, operands *with, long *calls)
{
    for (*calls = 1;; *calls *= 2) {
        const double mean = sample(a_case, candidate, with, *calls);
        if (mean < 0 || mean * (double)*calls >= tc_clock_used.sample)
            return mean;
    }
}

static size_t bytes(const tc_param *param)
{
    return tc_data_size(param->type) * (size_t)param->elements;
}

/* The operands that are not there yet, each at another place for every number. Returns 0 where memory is short. */
static int take(const tc_case *a_case, operands *with, int place)
{
    void **const buffers = with->buffers;
    uint32_t state = (uint32_t)place * 2654435761u;
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *const param = &a_case->params[i];
        const size_t size = bytes(param), lines = size / TC_MEMORY_LINE;
        state = state * 1664525u + 1013904223u;
        if (buffers[i] || tc_copies_hold(&with->constants, param))
            continue;
        const size_t skipped = place ? (state >> 8) % (lines < PLACES ? lines + 1 : PLACES) : 0;
        buffers[i] = tc_memory_take_behind(size, skipped * TC_MEMORY_LINE);
        if (!buffers[i])
            return 0;
        tc_data_fill(buffers[i], param, TC_FILL_PLAIN, (uint64_t)i);
    }
    return 1;
}

/* Those of less than `limit` bytes, but for constants of which there are copies. */
static void give(const tc_case *a_case, operands *with, size_t limit)
{
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *const param = &a_case->params[i];
        if (bytes(param) < limit && !tc_copies_hold(&with->constants, param)) {
            tc_memory_give(with->buffers[i]);
            with->buffers[i] = NULL;
        }
    }
}

static void round_of(const tc_case *a_case, tc_timing *timings, operands *with, long *calls, int round)
{
    for (int c = 0; c < a_case->candidate_count; ++c) {
        tc_timing *timing = &timings[c];
        if (!timing->runs)
            continue;
        const tc_candidate *const candidate = &a_case->candidates[c];
        const int begun = calls[c] > 0;
        double mean = begun ? sample(a_case, candidate, with, calls[c])
                            : first_sample(a_case, candidate, with, &calls[c]);
        if (!begun && !tc_clock_used.exact && mean >= 0) { /* the first round may end a candidate: two samples */
            const double second = sample(a_case, candidate, with, calls[c]);
            mean = second < mean ? second : mean;
        }
        timing->samples[round] = mean;
        if (mean < 0) {
            timing->runs = 0;
            continue;
        }
        if (timing->rounds++ == 0 || mean < timing->least)
            timing->least = mean;
    }
}

/* Times those that run. calls: of a sample of each. Returns 0 where memory is short. */
static int turns(const tc_case *a_case, tc_timing *timings, operands *with, long *calls, int rounds, tc_calm *calm)
{
    int ready = 1;
    const double half = tc_duel_half(a_case->worth);
    for (int round = 0, all = rounds; round < all; ++round) {
        ready = take(a_case, with, round);
        if (!ready)
            break;
        tc_calm_wait(calm, 0, 0.5);
        round_of(a_case, timings, with, calls, round);
        if (tc_clock_used.exact)
            continue;
        tc_rank_drop(timings, a_case->candidate_count, a_case->incumbent, round);
        if (!tc_rank_open(timings, a_case->candidate_count, a_case->incumbent, half, round))
            all = round;
        give(a_case, with, LARGE);
    }
    give(a_case, with, SIZE_MAX);
    return ready;
}

/* One turn: some samples of each that runs, forwards and backwards, so that none is always behind the same one. The
 * incumbent has as many again, of which the least is `again`. */
static void turn(const tc_case *a_case, tc_timing *timings, operands *with, const long *calls, int place, double *again)
{
    const int count = a_case->candidate_count;
    for (int s = 0; s < SAMPLES; ++s)
        for (int i = 0; i <= count; ++i) {
            const int at = (s + place) % 2 ? count - i : i, c = at < count ? at : a_case->incumbent;
            double *const least = at < count ? timings[c].samples : again;
            if (!timings[c].runs)
                continue;
            const double mean = sample(a_case, &a_case->candidates[c], with, calls[c]);
            if (s == 0 || mean < *least)
                *least = mean;
        }
}

/* Duels of those that run with the incumbent, all in the same turns. Returns 0 where memory is short. */
static int duels(const tc_case *a_case, tc_timing *timings, operands *with, tc_duel *fought, const long *calls,
                 tc_calm *calm)
{
    const int incumbent = a_case->incumbent, count = a_case->candidate_count;
    int open = 1, ready = 1;
    double spent = 0; /* by the last turn */
    for (int place = 1; open; ++place) {
        double again = 0;
        open = 0;
        ready = take(a_case, with, place);
        if (!ready)
            break;
        tc_calm_wait(calm, place > 1 ? APART * tc_clock_used.sample - spent : 0, 0);
        const double begin = tc_clock_begin();
        turn(a_case, timings, with, calls, place, &again);
        spent = tc_clock_end(begin);
        give(a_case, with, LARGE);
        for (int c = 0; c < count; ++c) {
            tc_timing *const timing = &timings[c];
            if (!timing->runs)
                continue;
            if (place == 1 || timing->samples[0] < timing->least)
                timing->least = timing->samples[0];
            if (c == incumbent)
                continue;
            tc_duel_turn(&fought[c], timing->samples[0], timings[incumbent].samples[0], again, a_case->worth);
            timing->runs = tc_duel_open(&fought[c]) || tc_duel_won(&fought[c]);
            open |= tc_duel_open(&fought[c]);
        }
    }
    give(a_case, with, SIZE_MAX);
    return ready;
}

/* The winner of those that run, the incumbent where nobody beats it in a duel. */
static int decided(const tc_case *a_case, tc_timing *timings, operands *with, const long *calls, tc_calm *calm)
{
    const int incumbent = a_case->incumbent, count = a_case->candidate_count;
    const double quarter = tc_duel_half(tc_duel_half(a_case->worth)); /* of what is asked: few samples tell no more */
    tc_rank_finalists(timings, count, incumbent, quarter, FINALISTS);
    int running = 0;
    for (int c = 0; c < count; ++c)
        running += timings[c].runs;
    if (running < 2)
        return incumbent;
    tc_duel *const fought = calloc((size_t)count, sizeof *fought);
    int best = fought && duels(a_case, timings, with, fought, calls, calm) ? incumbent : -1;
    for (int c = 0; best >= 0 && c < count; ++c)
        if (tc_duel_better(&fought[c], a_case->worth) &&
            (best == incumbent || tc_duel_ratio(&fought[c]) < tc_duel_ratio(&fought[best])))
            best = c;
    free(fought);
    return best;
}

int tc_measure(const tc_case *a_case, tc_timing *timings, int rounds, tc_calm *calm)
{
    const int count = a_case->candidate_count, incumbent = a_case->incumbent;
    long *const calls = calloc((size_t)count, sizeof *calls);
    operands with = {0};
    int winner = -1;
    tc_copies_init(&with.constants, a_case);
    tc_calm_begin(calm);
    if (calls && turns(a_case, timings, &with, calls, rounds, calm))
        winner = tc_clock_used.exact || !timings[incumbent].runs ? tc_rank_best(timings, count, incumbent, WORTH_EXACT)
                                                                 : decided(a_case, timings, &with, calls, calm);
    tc_copies_finish(&with.constants);
    free(calls);
    return winner;
}
