/* SPDX-License-Identifier: Apache-2.0
 *
 * The team on POSIX threads: workers wait for a new round, run their share of its job and report. They wait
 * spinning first, then asleep.
 *
 * A worker that sleeps can take long to wake: on a busy host of virtual machines milliseconds. A call does not wait for
 * that longer than its work is worth: it begins with the workers that are awake by then, and the others are awake for
 * the next call.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pthread_setaffinity_np */
#endif
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

#include "forks.h"
#include "places.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A thread of a pool that waits looks SPINS times for news, for some microseconds: what follows soon begins at once, where a
 * yield takes half a microsecond. Where the pool may have more threads than processors it does not: another thread may need
 * the processor. Then it yields so often before it sleeps: some hundred microseconds on an idle machine, the pause between
 * the calls of a busy program. */
enum { SPINS = 256, YIELDS = 1000 };

/* A call waits for workers that sleep for up to a fourth of the time that all threads took in the last such call. So it
 * takes at most about a fourth longer than on one thread. */
enum { WORTH = 4 };

/* Short calls lose more than they gain where the team waits for a thread for milliseconds: they take workers that run at this
 * moment. A waiting worker stores the time every SAYS looks; if that time is older than FRESH, the worker does not run. Where
 * two short calls begin within OFTEN, sleepers are woken for the next ones. A short call that takes longer than LATE waited
 * for a thread; to both comes the time that its work may take on a slow processor, with OPERATIONS of it a nanosecond. Behind
 * it short calls run on one thread for a while, SHORTEST at first, twice as long each time that the team was late again
 * within as long as that, LONGEST at most. All but OPERATIONS in nanoseconds. */
enum {
    SAYS = 8,
    FRESH = 4000,
    OFTEN = 50000,
    LATE = 100000,
    OPERATIONS = 2,
    SHORTEST = 16000000,
    LONGEST = 16 * SHORTEST
};

/* What starts a round is one word: the round's number times NUMBER, plus RANKED where workers have tickets, plus the
 * size of its team, which is less than SIZES. */
enum { SIZES = 1 << 13, RANKED = SIZES, NUMBER = 2 * SIZES };

enum { LINE = 128 }; /* of the cache, or two of 64 bytes, which some processors fetch together */

typedef enum { AWAKE, ASLEEP, CALLED /* to wake up, and not yet awake */ } state;

typedef struct worker {
    _Alignas(LINE) int64_t looked; /* the time of its last look for a new round; while it waits */
    pthread_t thread;
    struct tc_pool *pool;
    tc_index number; /* 1.. */
    state state;     /* changes under the lock */
    uint64_t ticket; /* of the last ranked round that it is in: the round's number times NUMBER, plus its rank there */
} worker;

/* A round is started and joined without a lock where nobody sleeps. A thread that goes to sleep says so first
 * (`sleepers`, `joining`), then looks once more whether it has to. A thread that has news writes them first (`round`,
 * `running`), then looks for sleepers. All four are sequentially consistent, so one of the two sees the other. */
struct tc_pool {
    /* Workers read this line in every round, so nobody writes it. */
    tc_index threads;
    int spins;       /* SPINS or 0 */
    unsigned made;   /* tc_forks then: in a child of that process its workers do not exist, and its locks may be held */
    worker *workers; /* threads - 1 of them */
    tc_places *places; /* NULL: threads stay where the system puts them */
    /* The caller's. */
    _Alignas(LINE) pthread_mutex_t busy;
    int64_t asked;  /* the time when a short call began last */
    int64_t due;    /* the time behind which the short call that runs is late; 0: none runs, on several threads */
    int64_t alone;  /* the time until which short calls run on one thread */
    int64_t lasted; /* how long they did the last time */
    int64_t spent;  /* nanoseconds of all threads in the last call that found sleepers; 0: there was none */
    /* For sleeping alone. */
    _Alignas(LINE) pthread_mutex_t lock;
    pthread_cond_t wake; /* some are CALLED */
    pthread_cond_t finished;
    unsigned sleepers; /* workers that are not AWAKE */
    int gathering;     /* a round is about to begin: no worker falls asleep */
    /* What starts a round is one line of the cache, which each worker fetches once. The rest of it is written before
     * `round`, when nobody reads it: a worker reads it only for a round that it is in. */
    _Alignas(LINE) uint64_t round;
    tc_team_job *job;
    void *argument;
    int quit;
    /* Who counts on this line disturbs nobody who spins on the other. */
    _Alignas(LINE) tc_index running; /* workers of this round that have not finished */
    int joining;                     /* the caller sleeps until the last has finished */
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Between two looks of a thread that waits; `look`: how many it has had. Returns 0 where it is to sleep. */
static int wait_between(const tc_pool *pool, int look)
{
    if (look < pool->spins)
        tc_pause();
    else if (look < pool->spins + YIELDS)
        sched_yield();
    else
        return 0;
    return 1;
}

/* Until the worker is called. Where a round behind `seen` has begun, or is about to, it does not sleep. */
static void sleep_behind(tc_pool *pool, worker *self, uint64_t seen)
{
    pthread_mutex_lock(&pool->lock);
    __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->round, __ATOMIC_SEQ_CST) == seen &&
        !__atomic_load_n(&pool->gathering, __ATOMIC_RELAXED)) {
        tc_places_leave(pool->places, self->number);
        __atomic_store_n(&self->state, ASLEEP, __ATOMIC_RELAXED);
        while (self->state == ASLEEP)
            pthread_cond_wait(&pool->wake, &pool->lock);
        __atomic_store_n(&self->state, AWAKE, __ATOMIC_RELAXED);
    }
    __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool->lock);
}

/* The next round behind `seen`. */
static uint64_t wait_for_round(tc_pool *pool, worker *self, uint64_t seen)
{
    for (;;) {
        int look = 0;
        do {
            if (look % SAYS == 0 || look >= pool->spins)
                __atomic_store_n(&self->looked, now(), __ATOMIC_RELAXED);
            const uint64_t round = __atomic_load_n(&pool->round, __ATOMIC_ACQUIRE);
            if (round != seen)
                return round;
        } while (wait_between(pool, look++));
        sleep_behind(pool, self, seen);
    }
}

/* The worker's rank in the team of a round; 0: it is not in it. A round that it is in does not end without it. So where
 * its ticket is not of `round`, it is not in that round, even if its ticket is of a later one already. */
static tc_index rank_in(worker *self, uint64_t round)
{
    if (!(round & RANKED))
        return self->number < (tc_index)(round % SIZES) ? self->number : 0;
    const uint64_t ticket = __atomic_load_n(&self->ticket, __ATOMIC_RELAXED);
    return ticket / NUMBER == round / NUMBER ? (tc_index)(ticket % NUMBER) : 0;
}

static void *work(void *argument)
{
    worker *self = argument;
    tc_pool *pool = self->pool;
    uint64_t seen = 0;
    for (;;) {
        seen = wait_for_round(pool, self, seen);
        const tc_index rank = rank_in(self, seen);
        if (rank == 0)
            continue;
        if (pool->quit)
            return NULL;
        tc_places_settle(pool->places, self->number);
        pool->job(pool->argument, rank, (tc_index)(seen % SIZES));
        if (__atomic_sub_fetch(&pool->running, 1, __ATOMIC_SEQ_CST) == 0 &&
            __atomic_load_n(&pool->joining, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->finished);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

/* Calls the workers below `size` that sleep. They are told without the lock, which they need to wake up. */
static void call_sleepers(tc_pool *pool, tc_index size)
{
    int called = 0;
    pthread_mutex_lock(&pool->lock);
    for (tc_index i = 0; i < size - 1; ++i)
        if (pool->workers[i].state == ASLEEP) {
            __atomic_store_n(&pool->workers[i].state, CALLED, __ATOMIC_RELAXED);
            called = 1;
        }
    pthread_mutex_unlock(&pool->lock);
    if (called)
        pthread_cond_broadcast(&pool->wake);
}

/* Whether some worker below `size` is CALLED. */
static int some_called(const tc_pool *pool, tc_index size)
{
    for (tc_index i = 0; i < size - 1; ++i)
        if (__atomic_load_n(&pool->workers[i].state, __ATOMIC_RELAXED) == CALLED)
            return 1;
    return 0;
}

/* The threads below `size` up to the first worker that is not awake. */
static tc_index all_awake(const tc_pool *pool, tc_index size)
{
    if (__atomic_load_n(&pool->sleepers, __ATOMIC_RELAXED) == 0)
        return size;
    tc_index found = 1;
    while (found < size && __atomic_load_n(&pool->workers[found - 1].state, __ATOMIC_RELAXED) == AWAKE)
        ++found;
    return found;
}

static uint64_t next_round(const tc_pool *pool)
{
    return (__atomic_load_n(&pool->round, __ATOMIC_RELAXED) / NUMBER + 1) * NUMBER;
}

/* Starts a round of the workers below `size` that are awake, once all are or the wait was long enough. Returns the size
 * of its team, the caller among them; 1: none is awake, and no round is started. */
static tc_index start_awake(tc_pool *pool, tc_index size)
{
    __atomic_store_n(&pool->gathering, 1, __ATOMIC_RELAXED); /* whoever sleeps in spite of it has the lock before us */
    call_sleepers(pool, size);
    const int64_t begun = now();
    while (some_called(pool, size) && (pool->spent == 0 || now() - begun < pool->spent / WORTH))
        sched_yield();
    pthread_mutex_lock(&pool->lock);
    __atomic_store_n(&pool->gathering, 0, __ATOMIC_RELAXED);
    const uint64_t round = next_round(pool);
    tc_index team = 1;
    for (tc_index i = 0; i < size - 1; ++i)
        if (pool->workers[i].state == AWAKE)
            __atomic_store_n(&pool->workers[i].ticket, round + (uint64_t)team++, __ATOMIC_RELAXED);
    if (team > 1) {
        __atomic_store_n(&pool->running, team - 1, __ATOMIC_RELAXED);
        __atomic_store_n(&pool->round, round + RANKED + (uint64_t)team, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&pool->lock);
    return team;
}

/* Starts a round of all workers below `size`, and wakes those that sleep. */
static void start_all(tc_pool *pool, tc_index size)
{
    __atomic_store_n(&pool->running, size - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->round, next_round(pool) + (uint64_t)size, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST))
        call_sleepers(pool, size);
}

static void join_round(tc_pool *pool)
{
    int look = 0;
    do {
        if (__atomic_load_n(&pool->running, __ATOMIC_ACQUIRE) == 0)
            return;
    } while (wait_between(pool, look++));
    pthread_mutex_lock(&pool->lock);
    __atomic_store_n(&pool->joining, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pool->running, __ATOMIC_SEQ_CST))
        pthread_cond_wait(&pool->finished, &pool->lock);
    __atomic_store_n(&pool->joining, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool->lock);
}

/* Of a short call: the caller and the first workers that wait at this moment. */
static tc_index awake(void *user, tc_index threads, uint64_t work)
{
    tc_pool *pool = user;
    const tc_index size = threads < pool->threads ? threads : pool->threads;
    if (size < 2 || pool->spins == 0 || tc_forks() != pool->made)
        return 1;
    const int64_t time = now(), before = __atomic_exchange_n(&pool->asked, time, __ATOMIC_RELAXED);
    const int64_t lasts = work / OPERATIONS < LONGEST ? (int64_t)(work / OPERATIONS) : LONGEST;
    if (time < __atomic_load_n(&pool->alone, __ATOMIC_RELAXED))
        return 1;
    const tc_index found = all_awake(pool, size);
    if (found < size && time - before < OFTEN + lasts)
        call_sleepers(pool, size);
    tc_index team = 1;
    while (team < found && time - __atomic_load_n(&pool->workers[team - 1].looked, __ATOMIC_RELAXED) < FRESH)
        ++team;
    __atomic_store_n(&pool->due, team > 1 ? time + LATE + lasts : 0, __ATOMIC_RELAXED);
    return team;
}

/* A call has ended, behind which it was late. Contexts that share the pool may take each other's calls for the short one:
 * that costs some time. */
static void note_late(tc_pool *pool, int64_t due)
{
    const int64_t time = now();
    if (time > due) {
        const int again = time - pool->alone < pool->lasted;
        pool->lasted = !again ? SHORTEST : pool->lasted < LONGEST ? 2 * pool->lasted : LONGEST;
        __atomic_store_n(&pool->alone, time + pool->lasted, __ATOMIC_RELAXED);
    }
}

static void run(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    tc_pool *pool = user;
    tc_index size = threads < pool->threads ? threads : pool->threads;
    if (size < 2 || tc_forks() != pool->made || pthread_mutex_trylock(&pool->busy)) {
        job(argument, 0, 1);
        return;
    }
    const int64_t due = __atomic_exchange_n(&pool->due, 0, __ATOMIC_RELAXED); /* 0: the call is no short one */
    const tc_index ready = all_awake(pool, size);
    size = due ? ready : size; /* a worker may have fallen asleep since it was asked for */
    pool->job = job;
    pool->argument = argument;
    tc_places_settle(pool->places, 0);
    if (size < 2) {
        job(argument, 0, 1);
    } else if (ready == size) {
        start_all(pool, size);
        job(argument, 0, size);
        join_round(pool);
        if (due)
            note_late(pool, due);
    } else {
        const tc_index team = start_awake(pool, size);
        const int64_t begun = now();
        job(argument, 0, team);
        if (team > 1)
            join_round(pool);
        pool->spent = (now() - begun) * team;
    }
    pthread_mutex_unlock(&pool->busy);
}

static void release(tc_pool *pool)
{
    tc_places_destroy(pool->places);
    free(pool->workers);
    free(pool);
}

/* Ends and joins the first `started` workers, then frees everything. */
static void end(tc_pool *pool, tc_index started)
{
    pool->quit = 1;
    start_all(pool, pool->threads);
    for (tc_index i = 0; i < started; ++i)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    release(pool);
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

/* Whether each thread is told a processor that no other thread is told. The caller is where it is. */
static int of_their_own(const tc_pool_options *options)
{
    const int *const processors = options->processors;
    for (tc_index i = 1; processors && i < options->threads; ++i) {
        if (processors[i] == TC_ANY_PROCESSOR)
            return 0;
        for (tc_index j = 1; j < i; ++j)
            if (processors[j] == processors[i])
                return 0;
    }
    return processors != NULL;
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
    pool->workers = aligned_alloc(LINE, (size_t)threads * sizeof *pool->workers);
    if (!pool->workers) {
        free(pool);
        return NULL;
    }
    memset(pool->workers, 0, (size_t)threads * sizeof *pool->workers);
    if (!options->processors) /* else it is said where threads run */
        pool->places = tc_places_create(threads);
    pool->spins = pool->places || of_their_own(options) ? SPINS : 0;
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
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
    release(pool); /* there is nobody to join, and locks that may be held are not to be destroyed */
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
    context->team = pool ? (tc_team){run, pool, pool->threads, awake} : (tc_team){NULL, NULL, 1, NULL};
    context->yield = pool ? yield : NULL;
    context->yield_user = NULL;
}
