/* SPDX-License-Identifier: Apache-2.0
 *
 * The team on POSIX threads: workers wait for a new round, run their share of its job and report.
 */
#include <tensor_compile/hosted.h>

#include "forks.h"

#include <sched.h>
#include <stdlib.h>

/* Yields before a waiting worker sleeps: some hundred microseconds on an idle machine, the pause between the calls of a
 * busy program. */
enum { YIELDS = 1000 };

typedef struct worker {
    pthread_t thread;
    struct tc_pool *pool;
    tc_index number; /* 1.. */
} worker;

struct tc_pool {
    tc_index threads;
    unsigned made;   /* tc_forks then: in a child of that process its workers do not exist, and its locks may be held */
    worker *workers; /* threads - 1 of them */
    pthread_mutex_t busy;
    pthread_mutex_t lock; /* of what follows; `round` is also read without it */
    pthread_cond_t start;
    pthread_cond_t finished;
    unsigned round;
    int quit;
    tc_index size; /* of the team of this round */
    tc_index running;
    tc_team_job *job;
    void *argument;
};

static void *work(void *argument)
{
    worker *self = argument;
    tc_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        for (int i = 0; i < YIELDS && __atomic_load_n(&pool->round, __ATOMIC_ACQUIRE) == seen; ++i)
            sched_yield();
        pthread_mutex_lock(&pool->lock);
        while (pool->round == seen)
            pthread_cond_wait(&pool->start, &pool->lock);
        seen = pool->round;
        const int quit = pool->quit, mine = self->number < pool->size;
        tc_team_job *job = pool->job;
        void *job_argument = pool->argument;
        const tc_index size = pool->size;
        pthread_mutex_unlock(&pool->lock);
        if (quit)
            return NULL;
        if (!mine)
            continue;
        job(job_argument, self->number, size);
        pthread_mutex_lock(&pool->lock);
        if (--pool->running == 0)
            pthread_cond_signal(&pool->finished);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void start_round(tc_pool *pool, tc_index size, tc_team_job *job, void *argument, int quit)
{
    pthread_mutex_lock(&pool->lock);
    pool->size = size;
    pool->running = size - 1;
    pool->job = job;
    pool->argument = argument;
    pool->quit = quit;
    __atomic_store_n(&pool->round, pool->round + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&pool->start);
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
    pthread_mutex_lock(&pool->lock);
    while (pool->running)
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->busy);
}

/* Ends and joins the first `started` workers, then frees everything. */
static void end(tc_pool *pool, tc_index started)
{
    start_round(pool, 1, NULL, NULL, 1);
    for (tc_index i = 0; i < started; ++i)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->start);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    free(pool->workers);
    free(pool);
}

tc_pool *tc_pool_create(tc_index threads)
{
    tc_pool *pool = threads < 1 ? NULL : calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
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
        pool->workers[i].pool = pool;
        pool->workers[i].number = i + 1;
        if (pthread_create(&pool->workers[i].thread, NULL, work, &pool->workers[i])) {
            end(pool, i);
            return NULL;
        }
    }
    return pool;
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
