/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of a pool that are put on one processor part (runtime/hosted/places.h), and stay free to be moved.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "tap.h"

#include <sched.h>
#include <string.h>
#include <tensor_compile/hosted.h>
#include <time.h>

#ifdef __linux__
enum { ROUNDS = 60, MOST = 8 };

/* What the threads of a round have: where they were, and may be. together: the first worker goes to `processor` at the
 * end. */
typedef struct round {
    tc_context *context;
    int at[MOST], processor;
    cpu_set_t allowed[MOST];
} round;

static void note(void *p, tc_index thread, tc_index threads)
{
    round *r = p;
    (void)threads;
    r->at[thread] = sched_getcpu();
    sched_getaffinity(0, sizeof r->allowed[thread], &r->allowed[thread]);
}

/* The first worker goes where the caller is, and may go everywhere then, as if the system had put it there. */
static void meet(void *p, tc_index thread, tc_index threads)
{
    round *r = p;
    (void)threads;
    if (thread != 1)
        return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(r->processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof r->allowed[0], &r->allowed[0]);
}

static void run(const tc_context *context, tc_index threads, tc_team_job *job, round *r)
{
    context->team.run(context->team.user, threads, job, r);
}

/* The caller is held, so that it is the worker who moves; it is asked for in the next round. */
static void test_parting(tc_index threads, int sleeps)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    tc_context context = {0};
    tc_pool *pool = tc_pool_create(threads);
    tc_context_use_pool(&context, pool);
    round r = {.allowed = {before}, .processor = sched_getcpu()};
    CPU_ZERO(&one);
    CPU_SET(r.processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    int apart = 0, free_again = 1, whole = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        r.allowed[0] = before;
        run(&context, threads, meet, &r);
        if (sleeps)
            nanosleep(&(struct timespec){0, 3000000}, NULL); /* longer than workers wait before they sleep */
        r.at[1] = -1;
        run(&context, threads, note, &r);
        if (r.at[1] < 0)
            continue; /* the round began without it */
        ++whole;
        apart += r.at[1] != r.processor;
        free_again &= CPU_EQUAL(&r.allowed[1], &before);
    }
    sched_setaffinity(0, sizeof before, &before);
    tc_ok(whole > 0 && apart == whole, "a worker leaves the caller's processor, %d threads%s: %d of %d", (int)threads,
          sleeps ? " that slept" : "", apart, whole);
    tc_ok(free_again, "it may be where it could be before");
    tc_pool_destroy(pool);
}

/* A caller that comes to the worker's processor takes it over: another thread that calls, or one that was moved. */
static void test_callers(void)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    tc_context context = {0};
    tc_pool *pool = tc_pool_create(2);
    tc_context_use_pool(&context, pool);
    round r = {.at = {-1, -1}};
    int apart = 0, free_again = 1, whole = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        const int here = r.at[1] < 0 ? sched_getcpu() : r.at[1];
        CPU_ZERO(&one);
        CPU_SET(here, &one);
        sched_setaffinity(0, sizeof one, &one);
        r.at[1] = -1;
        run(&context, 2, note, &r);
        if (r.at[1] < 0)
            continue; /* the round began without it */
        ++whole;
        apart += r.at[0] == here && r.at[1] != here;
        free_again &= CPU_EQUAL(&r.allowed[1], &before);
    }
    sched_setaffinity(0, sizeof before, &before);
    tc_ok(whole > 0 && apart == whole && free_again, "a worker makes room for a caller: %d of %d", apart, whole);
    tc_pool_destroy(pool);
}

/* A pool whose threads share the only processor works, and so does one that is told where they are. */
static void test_staying(void)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    const int here = sched_getcpu(), told[] = {TC_ANY_PROCESSOR, here};
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < 2; ++i) {
        tc_context context = {0};
        round r = {.at = {-1, -1}};
        tc_pool *pool = i ? tc_pool_create_with(&(tc_pool_options){.threads = 2, .processors = told})
                          : tc_pool_create(2);
        tc_context_use_pool(&context, pool);
        if (i)
            sched_setaffinity(0, sizeof before, &before);
        run(&context, 2, note, &r);
        tc_ok(r.at[1] == here && CPU_EQUAL(&r.allowed[1], &one), "a worker stays on the processor that %s",
              i ? "it was told" : "is the only one");
        tc_pool_destroy(pool);
    }
    sched_setaffinity(0, sizeof before, &before);
}
#endif

int main(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) >= 2) {
        test_parting(2, 0);
        test_parting(2, 1);
        test_callers();
        if (CPU_COUNT(&allowed) >= 4)
            test_parting(4, 0);
    } else {
        tc_skip(1, "one processor: no worker can leave it");
    }
    test_staying();
#else
    tc_skip(1, "threads are moved on Linux alone");
#endif
    return tc_done();
}
