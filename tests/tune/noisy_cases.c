/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases for the harness of autotune/ on a shared machine, the same in every run. What a call takes, in nanoseconds, is what
 * its candidate needs, more by a share that each call draws, by one that each candidate has as long as the operands lie
 * where they lie, and by what the machine does: phases in which all is slower by 1.4 to 2, in each of which candidates
 * differ a little in how they bear it, moments in which others run, and a clock that drifts by 3 %. dims: both shares in
 * permille, the part of the time that phases take and how much more of them candidate 2 feels, too; then what each needs. -DISA="…": an
 * instruction set that runs here.
 */
#include <stdint.h>

#include "case.h"
#include "stub_clock.h"

enum { N = 512, CANDIDATES = 6 };
enum { CALL, PLACE, BUSY, BEARS, NEEDS, SIZES = NEEDS + CANDIDATES }; /* dims */

#define MS 1e6
#define PHASE (400 * MS)  /* the longest */
#define SPIKES (5 * MS)   /* between two moments in which others run, in the mean */
#define DRIFT (3000 * MS) /* of a period */

static uint64_t state = 7;
static double of_place[CANDIDATES], of_phase[CANDIDATES]; /* a candidate's share of each, about normal */
static double until, slower = 1;                          /* of the phase */
static tc_index busy;                                     /* of the case that runs */

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

static void draw(double *shares)
{
    for (int c = 0; c < CANDIDATES; ++c)
        shares[c] = normal();
}

/* The time goes on by what takes so much on a machine without other work. bears: how much more of a phase it feels. */
static void pass(double ns, double bears)
{
    if (now >= until) {
        slower = uniform() * 1000 < (double)busy ? 1.4 + 0.6 * uniform() : 1;
        until = now + MS + PHASE * uniform() * uniform();
        draw(of_phase);
    }
    const double at = now / DRIFT - (double)(long)(now / DRIFT), drift = 0.06 * (at < 0.5 ? at : 1 - at);
    ns *= (1 + drift) * (1 + (slower - 1) * (1 + bears));
    now += ns + (busy && uniform() < ns / SPIKES ? MS * uniform() : 0);
}

static void known(void)
{
    pass(20e3, 0);
}

const tc_clock tc_clock_used = {.sample = 200e3, .known = known};

static void call(int which, void *const *p, const tc_index *d)
{
    static void *at[2];
    if (at[0] != p[0] || at[1] != p[1])
        draw(of_place);
    at[0] = p[0];
    at[1] = p[1];
    busy = d[BUSY];
    const double noise = (double)d[CALL] * normal() + (double)d[PLACE] * of_place[which];
    pass(100 * (double)d[NEEDS + which] * (1 + noise / 1000),
         0.02 * of_phase[which] + (which == 2 ? (double)d[BEARS] / 1000 : 0));
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
        call(i, p, d);                                                                                                 \
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

#define QUIET 5, 5, 0, 0
#define LOADED 15, 10, 400, 0
#define EQUAL 1000, 1000, 1000, 1000, 1000, 1000
#define OTHERS 1000, 1000, 1000

static const tc_index first_quiet[SIZES] = {QUIET, EQUAL}, first_loaded[SIZES] = {LOADED, EQUAL};
static const tc_index again_loaded[SIZES] = {LOADED, 1000, 985, 990, 1000, 1010, 1020};
static const tc_index gain_quiet[SIZES] = {QUIET, 1000, 1000, 970, OTHERS};
static const tc_index gain_loaded[SIZES] = {LOADED, 1000, 1000, 970, OTHERS};
static const tc_index more_loaded[SIZES] = {LOADED, 1000, 1000, 950, OTHERS};
static const tc_index bad_loaded[SIZES] = {LOADED, 1080, 1000, 1000, OTHERS};
static const tc_index mostly_calm[SIZES] = {15, 10, 400, 700, 1000, 1000, 880, OTHERS};
static const tc_index mostly_busy[SIZES] = {15, 10, 900, 700, 1000, 1000, 880, OTHERS};

#define CASE(of, worth) {#of, params, 2, of, reference, all, CANDIDATES, 0, worth, 1e3},
#define TEN(of, worth)                                                                                                 \
    CASE(of, worth)                                                                                                    \
    CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth) CASE(of, worth)    \
        CASE(of, worth) CASE(of, worth)
#define HUNDRED(of, worth)                                                                                             \
    TEN(of, worth)                                                                                                     \
    TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth) TEN(of, worth)           \
        TEN(of, worth) TEN(of, worth)

const tc_case tc_cases[] = {HUNDRED(first_quiet, 0.98) HUNDRED(first_loaded, 0.98) HUNDRED(again_loaded, 0.96)
                                HUNDRED(gain_quiet, 0.98) HUNDRED(gain_loaded, 0.98) HUNDRED(more_loaded, 0.98)
                                    HUNDRED(bad_loaded, 0.96) HUNDRED(mostly_calm, 0.98) HUNDRED(mostly_busy, 0.98)};
const int tc_case_count = sizeof tc_cases / sizeof tc_cases[0];
const int tc_rounds = 0;
