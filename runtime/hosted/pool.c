/* SPDX-License-Identifier: Apache-2.0
 *
 * The team on POSIX threads: workers wait for a new round, run their share of its job and report. They wait
 * spinning first, then asleep.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pthread_setaffinity_np */
#endif
#include <tensor_compile/hosted.h>

#include "forks.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Yields before a thread that waits sleeps: some hundred microseconds on an idle machine, the pause between the calls of
 * a busy program. */
enum { YIELDS = 1000, SIZES = 1 << 13, LINE = 64 };

typedef struct worker {
    pthread_t thread;
    struct tc_pool *pool;
    tc_index number; /* 1.. */
} worker;

/* A round is started and joined without a lock where nobody sleeps. Who goes to sleep says so first (`sleepers`,
 * `joining`) and then looks once more; who has something to tell does so first and then looks for sleepers: one of the
 * two sees the other, as all four are sequentially consistent. */
struct tc_pool {
    tc_index threads;
    unsigned made;   /* tc_forks then: in a child of that process its workers do not exist, and its locks may be held */
    worker *workers; /* threads - 1 of them */
    pthread_mutex_t busy;
    pthread_mutex_t lock; /* for sleeping alone */
    pthread_cond_t start;
    pthread_cond_t finished;
    unsigned sleepers;
    /* What starts a round is one line of the cache, which each worker fetches once. The rest of it is written before
     * `round`, when nobody reads it. */
    _Alignas(
        LINE) uint64_t round; /* its number times SIZES, plus the size of its team: those beyond it read nothing else */
    tc_team_job *job;
    void *argument;
    int quit;
    /* Who counts on this line disturbs nobody who spins on the other. */
    _Alignas(LINE) tc_index running; /* workers of this round that have not finished */
    int joining;                     /* the caller sleeps until the last has finished */
};

/* The next round behind `seen`. */
static uint64_t wait_for_round(tc_pool *pool, uint64_t seen)
{
    for (int i = 0; i < YIELDS; ++i) {
        const uint64_t round = __atomic_load_n(&pool->round, __ATOMIC_ACQUIRE);
        if (round != seen)
            return round;
        sched_yield();
    }
    pthread_mutex_lock(&pool->lock);
    __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    uint64_t round;
    while ((round = __atomic_load_n(&pool->round, __ATOMIC_SEQ_CST)) == seen)
        pthread_cond_wait(&pool->start, &pool->lock);
    __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool->lock);
    return round;
}

static void *work(void *argument)
{
    worker *self = argument;
    tc_pool *pool = self->pool;
    uint64_t seen = 0;
    for (;;) {
        seen = wait_for_round(pool, seen);
        const tc_index size = (tc_index)(seen % SIZES);
        if (self->number >= size)
            continue;
        if (pool->quit)
            return NULL;
        pool->job(pool->argument, self->number, size);
        if (__atomic_sub_fetch(&pool->running, 1, __ATOMIC_SEQ_CST) == 0 &&
            __atomic_load_n(&pool->joining, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->finished);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void start_round(tc_pool *pool, tc_index size, tc_team_job *job, void *argument, int quit)
{
    pool->job = job;
    pool->argument = argument;
    pool->quit = quit;
    __atomic_store_n(&pool->running, size - 1, __ATOMIC_RELAXED);
    const uint64_t number = __atomic_load_n(&pool->round, __ATOMIC_RELAXED) / SIZES + 1;
    __atomic_store_n(&pool->round, number * SIZES + (uint64_t)size, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->start);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void join_round(tc_pool *pool)
{
    for (int i = 0; i < YIELDS; ++i) {
        if (__atomic_load_n(&pool->running, __ATOMIC_ACQUIRE) == 0)
            return;
        sched_yield();
    }
    pthread_mutex_lock(&pool->lock);
    __atomic_store_n(&pool->joining, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pool->running, __ATOMIC_SEQ_CST))
        pthread_cond_wait(&pool->finished, &pool->lock);
    __atomic_store_n(&pool->joining, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool->lock);
}

static void run(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    tc_pool *pool = user;
    const tc_index size = threads < pool->threads ? threads : pool->threads;
    if (size < 2 || tc_forks() != pool->made || pthread_mutex_trylock(&pool->busy)) {
        job(argument, 0, 1);
        return;
    }
    start_round(pool, size, job, argument, 0);
    job(argument, 0, size);
    join_round(pool);
    pthread_mutex_unlock(&pool->busy);
}

/* Ends and joins the first `started` workers, then frees everything. */
static void end(tc_pool *pool, tc_index started)
{
    start_round(pool, pool->threads, NULL, NULL, 1);
    for (tc_index i = 0; i < started; ++i)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->start);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    free(pool->workers);
    free(pool);
}

/* Holds a worker on a processor: whether the system does so. */
static int hold(pthread_t thread, int processor)
{
#if defined(__linux__)
    cpu_set_t set;
    if (processor < 0 || processor >= CPU_SETSIZE)
        return 0;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return pthread_setaffinity_np(thread, sizeof set, &set) == 0;
#else
    (void)thread, (void)processor;
    return 0;
#endif
}

tc_pool *tc_pool_create_with(const tc_pool_options *options)
{
    const tc_index threads = options ? options->threads : 0;
    tc_pool *pool = threads < 1 || threads >= SIZES ? NULL : aligned_alloc(LINE, sizeof *pool);
    if (!pool)
        return NULL;
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pool->made = tc_forks();
    pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (!pool->workers) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->finished, NULL);
    for (tc_index i = 0; i < threads - 1; ++i) {
        worker *one = &pool->workers[i];
        one->pool = pool;
        one->number = i + 1;
        if (pthread_create(&one->thread, NULL, work, one)) {
            end(pool, i);
            return NULL;
        }
        if (options->processors && options->processors[i + 1] != TC_ANY_PROCESSOR &&
            !hold(one->thread, options->processors[i + 1])) {
            end(pool, i + 1);
            return NULL;
        }
    }
    return pool;
}

tc_pool *tc_pool_create(tc_index threads)
{
    return tc_pool_create_with(&(tc_pool_options){.threads = threads});
}

void tc_pool_destroy(tc_pool *pool)
{
    if (!pool)
        return;
    if (tc_forks() == pool->made) {
        end(pool, pool->threads - 1);
        return;
    }
    free(pool->workers); /* there is nobody to join, and locks that may be held are not to be destroyed */
    free(pool);
}

static void yield(void *user)
{
    (void)user;
    sched_yield();
}

void tc_context_use_pool(tc_context *context, tc_pool *pool)
{
    if (!context)
        return;
    context->team = pool ? (tc_team){run, pool, pool->threads} : (tc_team){NULL, NULL, 1};
    context->yield = pool ? yield : NULL;
    context->yield_user = NULL;
}
