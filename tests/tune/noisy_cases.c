/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases for the harness of autotune/ on a machine with noise, the same in every run: what a call takes is what its
 * candidate needs, more by a share that each call draws, by one that each candidate has as long as the operands lie where
 * they lie, and by other work that comes and goes. dims: the shares of both in permille, and of the time that other work
 * is there; then what each candidate needs. -DISA="…": an instruction set that runs here.
 */
#include <stdint.h>

#include "case.h"
#include "clock.h"

enum { N = 16, CANDIDATES = 6 };
enum { CALL, PLACE, BUSY, NEEDS, SIZES = NEEDS + CANDIDATES }; /* dims */

static double now;
static uint64_t state = 7;
static double of_place[CANDIDATES];
static int busy; /* calls during which other work is there, or during which it is not where negative */

const tc_clock tc_clock_used = {.sample = 1};

const char *tc_clock_init(void)
{
    return NULL;
}

double tc_clock_begin(void)
{
    return now;
}

double tc_clock_end(double begin)
{
    return now - begin;
}

/* In 0..1. */
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* About normal, of spread 1. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; ++i)
        sum += uniform();
    return sum;
}

/* Other work: how much slower a call is. */
static double disturbance(const tc_index *d)
{
    if (busy == 0)
        busy = (int)(1 + 60 * uniform()) * (uniform() * 1000 < (double)d[BUSY] ? 1 : -1);
    const int there = busy > 0;
    busy -= there ? 1 : -1;
    return there ? 1.1 + 0.5 * uniform() : 1;
}

static double taken(int which, void *const *p, const tc_index *d)
{
    static void *at[2];
    if (at[0] != p[0] || at[1] != p[1])
        for (int c = 0; c < CANDIDATES; ++c)
            of_place[c] = normal();
    at[0] = p[0];
    at[1] = p[1];
    const double noise = (double)d[CALL] * normal() + (double)d[PLACE] * of_place[which];
    return (double)d[NEEDS + which] * (1 + noise / 1000) * disturbance(d);
}

static void twice(void *const *p, tc_index thread, tc_index threads)
{
    for (tc_index i = thread; i < N; i += threads)
        ((float *)p[1])[i] = 2 * ((const float *)p[0])[i];
}

static void reference(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    (void)d;
    twice(p, thread, threads);
}

#define CANDIDATE(i)                                                                                                   \
    static void run##i(void *const *p, const tc_index *d, tc_index thread, tc_index threads)                           \
    {                                                                                                                  \
        twice(p, thread, threads);                                                                                     \
        now += taken(i, p, d);                                                                                         \
    }

CANDIDATE(0)
CANDIDATE(1)
CANDIDATE(2)
CANDIDATE(3)
CANDIDATE(4)
CANDIDATE(5)

static const tc_param params[] = {{"a", TC_DATA_F32, N, 0, 0, 0, 0, 0, 0}, {"y", TC_DATA_F32, N, 0, 1, 1, 0, 0, 0}};
static const tc_candidate all[] = {{"0", ISA, run0}, {"1", ISA, run1}, {"2", ISA, run2},
                                   {"3", ISA, run3}, {"4", ISA, run4}, {"5", ISA, run5}};

#define QUIET 5, 5, 0
#define LOADED 20, 15, 400
#define EQUAL 1000, 1000, 1000, 1000, 1000, 1000

static const tc_index first_quiet[SIZES] = {QUIET, EQUAL}, first_loaded[SIZES] = {LOADED, EQUAL};
static const tc_index again_loaded[SIZES] = {LOADED, 1000, 985, 990, 1000, 1010, 1020};
static const tc_index gain_quiet[SIZES] = {QUIET, 1000, 1000, 950, 1000, 1000, 1000};
static const tc_index gain_loaded[SIZES] = {LOADED, 1000, 1000, 920, 1000, 1000, 1000};
static const tc_index bad_loaded[SIZES] = {LOADED, 1150, 1000, 1000, 1000, 1000, 1000};

#define CASE(of, worth) {#of, params, 2, of, reference, all, CANDIDATES, 0, worth, 1e3},
#define TEN(of, worth)                                                                                                 \
    CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth)    \
        CASE(of, worth) CASE(of, worth) CASE(of, worth)
#define HUNDRED(of, worth)                                                                                             \
    TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth)           \
        TEN(of, worth) TEN(of, worth) TEN(of, worth)

const tc_case tc_cases[] = {HUNDRED(first_quiet, 0.98) HUNDRED(first_loaded, 0.98) HUNDRED(again_loaded, 0.96)
                                HUNDRED(gain_quiet, 0.98) HUNDRED(gain_loaded, 0.98) HUNDRED(bad_loaded, 0.96)};
const int tc_case_count = sizeof tc_cases / sizeof tc_cases[0];
const int tc_rounds = 0;
