/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads a call has: by its work, and by how many are awake where that is little.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "fixture.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>
#include <time.h>
#include <unistd.h>

/* What a call with so much work asks a team, and the team that it gets. */
static uint64_t work;

static uint64_t work_said(const tc_index *dims)
{
    (void)dims;
    return work;
}

typedef struct answers {
    tc_index awake, asked, got; /* asked: 0 where nobody asked */
} answers;

static tc_index answer(void *user, tc_index threads, uint64_t operations)
{
    (void)operations;
    answers *a = user;
    a->asked = threads;
    return a->awake;
}

static void run_alone(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    ((answers *)user)->got = threads;
    job(argument, 0, 1);
}

/* A call by a team that yields so; whether its results are right. chosen, barriers: those of the variant. */
static int call_by(fixture *f, tc_team team, void (*yield)(void *), uint64_t operations, tc_index chosen,
                   unsigned barriers)
{
    tc_function function = fake_run_function;
    tc_variant variants[8];
    for (unsigned i = 0; i < function.variant_count; ++i) {
        variants[i] = function.variants[i];
        variants[i].work = work_said;
        variants[i].threads = chosen;
        variants[i].barriers = barriers;
    }
    function.variants = variants;
    function.max_threads = 6;
    setup(f, 61, 60);
    f->context.team = team;
    f->context.yield = yield;
    work = operations;
    const tc_index dims[] = {61, 60};
    void *const buffers[] = {f->x, f->index, f->y};
    return tc_run(&f->context, &function, dims, buffers, f->state, NULL, NULL) == TC_STATUS_OK && right(f);
}

static answers call_with(fixture *f, uint64_t operations, const answers *a, int knows, tc_index chosen, unsigned barriers)
{
    answers found = *a;
    if (!call_by(f, (tc_team){run_alone, &found, 8, knows ? answer : NULL}, NULL, operations, chosen, barriers))
        found.got = -1;
    return found;
}

/* Long calls have threads by their work, whoever sleeps; short ones have those that are awake, as far as they know. */
static void test_awake(fixture *f)
{
    enum { BARRIERS = 4 };
    const uint64_t each = TC_WORK_PER_AWAKE_THREAD + BARRIERS * TC_WORK_PER_BARRIER, full = TC_WORK_PER_THREAD;
    const struct {
        const char *what;
        uint64_t work;
        int knows;
        tc_index chosen, awake, asked, got; /* got: 0 where the call is the calling thread's alone */
    } cases[] = {
        {"a call that is worth no second thread asks nobody", 2 * each - 1, 1, 0, 8, 0, 0},
        {"a short call has what is awake", 3 * each, 1, 0, 2, 3, 2},
        {"no more than it is worth", 3 * each, 1, 0, 8, 3, 3},
        {"nobody is awake", 3 * each, 1, 0, 1, 3, 0},
        {"nobody, not even the calling thread", 3 * each, 1, 0, 0, 3, 0},
        {"fewer than nobody", 3 * each, 1, 0, -1, 3, 0},
        {"as few as a number can say", 3 * each, 1, 0, PTRDIFF_MIN, 3, 0},
        {"as many as a number can say", 3 * each, 1, 0, PTRDIFF_MAX, 3, 3},
        {"of a longer call, too", 3 * full, 1, 0, PTRDIFF_MAX, 6, 6},
        {"fewer than nobody of a longer call", 3 * full, 1, 0, -1, 6, 3},
        {"a team that cannot tell", 3 * each, 0, 0, 8, 0, 0},
        {"a longer call has those that it is worth to wake up", 3 * full, 1, 0, 1, 6, 3},
        {"and more that are awake", 3 * full, 1, 0, 5, 6, 5},
        {"a long call has all and asks nobody", 6 * full, 1, 0, 1, 0, 6},
        {"as many as a tuning lock says", 3 * each, 1, 4, 1, 0, 4},
        {"but no more than there are", 3 * each, 1, 9, 1, 0, 6},
        {"one, as a tuning lock says", 6 * full, 1, 1, 8, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const answers a = {cases[i].awake, 0, 0};
        const answers found = call_with(f, cases[i].work, &a, cases[i].knows, cases[i].chosen, BARRIERS);
        if (!tc_ok(found.got == cases[i].got && found.asked == cases[i].asked, "team: %s", cases[i].what))
            tc_note("asked for %d, got %d", (int)found.asked, (int)found.got);
    }
    const answers many = call_with(f, 3 * full, &(answers){8, 0, 0}, 1, 0, 13);
    tc_ok(many.got == 3 && many.asked == 0, "team: of many barriers, which is worth no more threads that are awake");
}

/* A team of a pool's threads that says what it likes of them. */
typedef struct liar {
    tc_team pool;
    tc_index says, largest; /* largest: the most threads that a call asked for */
} liar;

static void run_of_pool(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    liar *l = user;
    l->largest = threads > l->largest ? threads : l->largest;
    l->pool.run(l->pool.user, threads, job, argument);
}

static tc_index says(void *user, tc_index threads, uint64_t operations)
{
    (void)threads, (void)operations;
    return ((liar *)user)->says;
}

/* What a team says of its threads changes no result, and gives no call more threads than it is worth. */
static void test_liars(fixture *f)
{
    enum { THREADS = 3, WORTH = 2, CALLS = 20 };
    static const tc_index said[] = {PTRDIFF_MIN, -1, 0, 1, 2, 3, 4, 99, PTRDIFF_MAX};
    tc_pool *pool = tc_pool_create(THREADS);
    tc_context context = {0};
    tc_context_use_pool(&context, pool);
    for (size_t i = 0; i < sizeof said / sizeof *said; ++i) {
        liar l = {context.team, said[i], 1};
        int wrong = 0;
        for (int call = 0; call < CALLS; ++call)
            wrong += !call_by(f, (tc_team){run_of_pool, &l, THREADS, says}, context.yield,
                              WORTH * TC_WORK_PER_AWAKE_THREAD, 0, 0);
        tc_ok(wrong == 0 && l.largest == (said[i] < 1 ? 1 : said[i] < WORTH ? said[i] : WORTH),
              "a team that says %td of its threads are awake", said[i]);
    }
    tc_pool_destroy(pool);
}

static void long_job(void *argument, tc_index thread, tc_index threads)
{
    (void)argument, (void)thread, (void)threads;
    nanosleep(&(struct timespec){0, 5000000}, NULL);
}

/* A pool says who is awake: never more than it has; some, once calls follow one another. */
static void test_pool_awake(void)
{
    enum { THREADS = 2, SECONDS = 20 };
    tc_pool *pool = tc_pool_create(THREADS), *many = tc_pool_create(1 + (tc_index)sysconf(_SC_NPROCESSORS_CONF));
#if defined(__linux__)
    cpu_set_t allowed;
    const int alone = sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < THREADS;
#else
    const int alone = 1; /* a pool does not know how many processors it has */
#endif
    tc_context context = {0};
    tc_context_use_pool(&context, many);
    tc_ok(context.team.awake(many, 5, 0) == 1, "more threads than processors: short calls are one thread's");
    tc_pool_destroy(many);
    tc_context_use_pool(&context, pool);
    tc_ok(context.team.awake(pool, 1, 0) == 1 && context.team.awake(pool, 0, 0) == 1, "one thread is always awake");
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    tc_index first = context.team.awake(pool, 5, 0), last = first;
    for (const time_t end = time(NULL) + SECONDS; !alone && last == 1 && time(NULL) < end;)
        last = context.team.awake(pool, 5, 0);
    tc_ok(first == 1, "workers of a pool sleep behind a pause");
    tc_ok(last == (alone ? 1 : THREADS), "they are woken where calls follow one another");
    if (!alone) {
        context.team.run(pool, THREADS, long_job, NULL);
        tc_ok(context.team.awake(pool, THREADS, 0) == 1, "behind a late call short ones are one thread's");
        last = 1;
        for (const time_t end = time(NULL) + SECONDS; last == 1 && time(NULL) < end;)
            last = context.team.awake(pool, THREADS, 0);
        tc_ok(last == THREADS, "for a while");
    }
    tc_pool_destroy(pool);
}

int main(void)
{
    fixture *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    test_awake(f);
    test_liars(f);
    test_pool_awake();
    free(f);
    return tc_done();
}
