/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases for the harness of autotune/ whose candidates take as long as they say: a clock of their own counts it.
 * -DISA="…": an instruction set that runs here.
 */
#include <stdio.h>

#include "case.h"
#include "stub_clock.h"

enum { N = 3000, LARGE = 1 << 19 };

const tc_clock tc_clock_used = {.sample = 1};

/* The results are twice the operand. */
static void twice(void *const *p, tc_index thread, tc_index threads)
{
    for (tc_index i = 0; i < N; ++i)
        if (i % threads == thread)
            ((float *)p[1])[i] = 2 * ((const float *)p[0])[i];
}

static tc_index computed; /* points of the reference */

static void reference(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    (void)d;
    computed += (N - thread + threads - 1) / threads;
    twice(p, thread, threads);
}

#define CANDIDATE(name, ticks, more)                                                                                   \
    static void name(void *const *p, const tc_index *d, tc_index thread, tc_index threads)                             \
    {                                                                                                                  \
        (void)d;                                                                                                       \
        twice(p, thread, threads);                                                                                     \
        now += (ticks);                                                                                                \
        more;                                                                                                          \
    }

static const void *places[2];
static int moves[2]; /* of the operands of `moving`, between two of its calls */

static void placed(void *const *p)
{
    for (int i = 0; i < 2; ++i) {
        moves[i] += p[i] != places[i];
        places[i] = p[i];
    }
}

/* Calls that prove a candidate: for each of three kinds of data the pieces of teams of 1, 5 and 9 threads
 * (autotune/check.c). */
#define PROOF (3 * (1 + 5 + 9 * 8))

/* Of the constants of a case's calls one after the other: how often they stayed, where they lay, calls that found other
 * values than those that proved it. */
typedef struct {
    const void *places[8];
    int calls, same, count, other;
} seen;
static seen far, near_by;

static void constants(seen *of, const float *at)
{
    static const void *before;
    static float first;
    int known = 0;
    if (of->calls++ < PROOF)
        return;
    first = of->calls == PROOF + 1 ? at[N - 1] : first;
    of->other += at[N - 1] != first;
    of->same += at == before;
    before = at;
    while (known < of->count && of->places[known] != at)
        ++known;
    if (known == of->count && of->count < 8)
        of->places[of->count++] = at;
}

static int turns; /* calls of a candidate below */

CANDIDATE(usual, 1000, (void)0)
CANDIDATE(close, 975, (void)0)
CANDIDATE(near, 990, (void)0)
CANDIDATE(fast, 900, (void)0)
CANDIDATE(slow, 3000, (void)0)
CANDIDATE(lucky, ++turns <= PROOF + 25 ? 800 : 1000, (void)0)
/* A machine with other work: first samples vary, and the best has bad luck. */
static const double busy[] = {1000, 1200, 1180, 1150, 1120, 1100}, late[] = {1150, 1300, 1290, 1280, 1270, 1260};
static int of_usual, of_late;

static double after(const double *first, double then, int *calls)
{
    const int call = (*calls)++ - PROOF;
    return call >= 0 && call < 6 ? first[call] : then;
}

CANDIDATE(disturbed, after(busy, 1000, &of_usual), (void)0)
CANDIDATE(unlucky, after(late, 900, &of_late), (void)0)
CANDIDATE(moving, 900, placed(p))
CANDIDATE(distant, 900, constants(&far, p[0]))
CANDIDATE(at_hand, 900, constants(&near_by, p[0]))
CANDIDATE(wrong, 1, for (int i = 0; i < N; ++i)((float *)p[1])[i] += 1)
CANDIDATE(spoilt, 1, ((float *)p[1])[N - 1] = 7) /* one result */
CANDIDATE(writer, 1, ((float *)p[0])[0] = 7)     /* its operand */

static const tc_param params[] = {{"a", TC_DATA_F32, N, 0, 0, 0, 0, 0, 0}, {"y", TC_DATA_F32, N, 0, 1, 1, 0, 0, 0}};
static const tc_param large[] = {{"a", TC_DATA_F32, LARGE, 0, 0, 0, 0, 0, 0}, {"y", TC_DATA_F32, N, 0, 1, 1, 0, 0, 0}};
static const tc_param weights[] = {{"a", TC_DATA_F32, N, 0, 1, 0, 0, 0, 0, 1},
                                   {"y", TC_DATA_F32, N, 0, 1, 1, 0, 0, 0, 0}};
static const tc_index dims[] = {0};

#define OF(name)                                                                                                       \
    {                                                                                                                  \
#name, ISA, name                                                                                               \
    }
#define CASE_OF(title, params, all, first, worth, flops, between)                                                      \
    {                                                                                                                  \
        title, params, 2, dims, reference, all, sizeof all / sizeof all[0], first, worth, flops, between               \
    }

#define CASE(title, all, first, worth, flops) CASE_OF(title, params, all, first, worth, flops, 0)

static const tc_candidate gaining[] = {OF(usual), OF(close), OF(fast), OF(slow)};
static const tc_candidate two[] = {OF(usual), OF(close)};
static const tc_candidate kept[] = {OF(usual), OF(close), OF(near)};
static const tc_candidate chance[] = {OF(usual), OF(lucky)};
static const tc_candidate noisy[] = {OF(disturbed), OF(unlucky)};
static const tc_candidate moved[] = {OF(usual), OF(moving)};
static const tc_candidate cold[] = {OF(distant)}, warm[] = {OF(at_hand)};
static const tc_candidate bad[] = {OF(wrong), OF(usual), OF(spoilt), OF(writer)};

const tc_case tc_cases[] = {CASE("gaining", gaining, 0, 0.98, 1e3), CASE("short", bad, 0, 0.98, 1e3),
                            CASE("long", bad, 0, 0.98, 1e8),        CASE("ties", two, 0, 0.98, 1e3),
                            CASE("kept", kept, 0, 0.96, 1e3),       CASE("chance", chance, 0, 0.98, 1e3),
                            CASE("noisy", noisy, 0, 0.98, 1e3),     CASE_OF("large", large, moved, 0, 0.98, 1e3, 0),
                            CASE_OF("cold", weights, cold, 0, 0.98, 1e3, 4 * 4 * N),
                            CASE_OF("warm", weights, warm, 0, 0.98, 1e3, 0)};
const int tc_case_count = sizeof tc_cases / sizeof tc_cases[0];
const int tc_rounds = 0;

__attribute__((destructor)) static void told(void)
{
    printf("points %ld\nmoves %d %d\n", (long)computed, moves[0], moves[1]);
    printf("cold %d %d %d %d\n", far.calls - PROOF, far.same, far.count, far.other);
    printf("warm %d %d %d %d\n", near_by.calls - PROOF, near_by.same, near_by.count, near_by.other);
}
