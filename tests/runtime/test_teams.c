/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a generated driver on teams: pools, OpenMP, a program's own threads, behind fork(), contexts that share one.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getcpu */
#endif
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>
#include <time.h>
#include <unistd.h>

/* A program's own pool: plain threads, started for the call. */
typedef struct own {
    tc_team_job *job;
    void *argument;
    tc_index thread, threads;
} own;

static void *own_start(void *p)
{
    own *o = p;
    o->job(o->argument, o->thread, o->threads);
    return NULL;
}

static void own_run(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    pthread_t id[8];
    own part[8];
    *(tc_index *)user = threads;
    for (tc_index i = 0; i < threads; ++i)
        part[i] = (own){job, argument, i, threads};
    for (tc_index i = 1; i < threads; ++i)
        pthread_create(&id[i], NULL, own_start, &part[i]);
    own_start(&part[0]);
    for (tc_index i = 1; i < threads; ++i)
        pthread_join(id[i], NULL);
}

static void test_teams(fixture *f)
{
    static const int sizes[] = {1, 2, 5};
    for (int i = 0; i < 3; ++i) {
        tc_pool *pool = tc_pool_create(sizes[i]);
        int good = 1;
        for (int call = 0; call < 50; ++call) {
            setup(f, 60 + call % 8, 60);
            tc_context_use_pool(&f->context, pool);
            good &= fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f) && seen(f) == 1;
        }
        tc_ok(good, "pthreads, %d", sizes[i]);
        setup(f, 64, 60);
        tc_context_use_pool(&f->context, pool);
        f->index[60] = 99;
        refused(f, TC_STATUS_INDEX_OUT_OF_RANGE, "index[60] = 99");
        tc_pool_destroy(pool);
#ifdef TEST_OPENMP
        setup(f, 61, 60);
        tc_context_use_openmp(&f->context, sizes[i]);
        tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f), "OpenMP, %d", sizes[i]);
#endif
        tc_index got = 0;
        setup(f, 61, 60);
        f->context.team = (tc_team){own_run, &got, sizes[i], NULL};
        /* the target file may know fewer threads */
        tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f) && got <= sizes[i] &&
                  (got > 1) == (sizes[i] > 1),
              "a pool of the program's own, %d", sizes[i]);
    }
}

enum { MOST_THREADS = 6 };

/* work: turns of an empty loop; barriers: that the team's threads meet at. */
typedef struct round {
    int hits[MOST_THREADS + 1];
    tc_index size;
    int work, barriers, arrived;
} round;

static void note_round(void *p, tc_index thread, tc_index threads)
{
    round *r = p;
    r->hits[thread <= MOST_THREADS ? thread : MOST_THREADS]++;
    if (thread == 0)
        r->size = threads;
    for (volatile int i = 0; i < r->work;)
        i = i + 1;
    for (int i = 1; i <= r->barriers; ++i) {
        __atomic_add_fetch(&r->arrived, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&r->arrived, __ATOMIC_ACQUIRE) < i * (int)threads)
            sched_yield();
    }
}

/* Each thread of the team that the round had runs once. */
static int once_each(const round *r)
{
    int good = r->size >= 1 && r->arrived == r->barriers * (int)r->size;
    for (tc_index t = 0; t <= MOST_THREADS; ++t)
        good &= r->hits[t] == (t < r->size);
    return good;
}

static int drawn(unsigned *seed, int below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (int)((*seed >> 16) % (unsigned)below);
}

/* Up to 3 ms: behind some, the workers of a pool sleep; behind others they are about to, or wake up. */
static void pause_drawn(unsigned *seed)
{
    nanosleep(&(struct timespec){0, drawn(seed, 3000) * 1000L}, NULL);
}

typedef struct rounds {
    tc_pool *pool;
    int threads, count, good;
    unsigned seed;
} rounds;

/* Rounds of changing teams, some behind a pause: such a round may have fewer threads than were asked for. */
static void *call_rounds(void *p)
{
    rounds *c = p;
    tc_context context = {0};
    tc_context_use_pool(&context, c->pool);
    c->good = 1;
    for (int i = 0; i < c->count && c->good; ++i) {
        const tc_index asked = 1 + drawn(&c->seed, c->threads + 2);
        round r = {.work = drawn(&c->seed, 3) * drawn(&c->seed, 20000), .barriers = drawn(&c->seed, 4) / 2};
        if (drawn(&c->seed, 4) == 0) /* as of a short call */
            context.team.awake(context.team.user, asked, 1000);
        context.team.run(context.team.user, asked, note_round, &r);
        c->good = once_each(&r) && r.size <= (asked < c->threads ? asked : c->threads);
        if (drawn(&c->seed, 8) == 0)
            pause_drawn(&c->seed);
    }
    return NULL;
}

static void test_rounds(void)
{
    for (int threads = 2; threads <= MOST_THREADS; threads += 2) {
        rounds c = {.pool = tc_pool_create(threads), .threads = threads, .count = 400, .seed = (unsigned)threads};
        call_rounds(&c);
        tc_ok(c.pool && c.good, "rounds of changing teams, %d threads", threads);
        tc_pool_destroy(c.pool);
    }
}

/* Two pools at a time, each called by two threads: pools end while their workers start, spin, sleep or wake up. */
static void test_short_lives(void)
{
    enum { LIVES = 40, POOLS = 2, CALLERS = 4 };
    unsigned seed = 1;
    int good = 1;
    for (int life = 0; life < LIVES && good; ++life) {
        tc_pool *pools[POOLS];
        rounds callers[CALLERS];
        pthread_t id[CALLERS];
        const int threads = 2 + drawn(&seed, MOST_THREADS - 1), count = drawn(&seed, 2) * drawn(&seed, 50);
        for (int i = 0; i < POOLS; ++i)
            good &= (pools[i] = tc_pool_create(threads)) != NULL;
        if (drawn(&seed, 2))
            pause_drawn(&seed);
        for (int i = 0; i < CALLERS; ++i) {
            callers[i] = (rounds){pools[i % POOLS], threads, count, 0, seed + (unsigned)i};
            pthread_create(&id[i], NULL, call_rounds, &callers[i]);
        }
        for (int i = 0; i < CALLERS; ++i) {
            pthread_join(id[i], NULL);
            good &= callers[i].good;
        }
        if (drawn(&seed, 2))
            pause_drawn(&seed);
        for (int i = 0; i < POOLS; ++i)
            tc_pool_destroy(pools[i]);
    }
    tc_ok(good, "%d times two pools of several callers", LIVES);
}

static void long_round(void *p, tc_index thread, tc_index threads)
{
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    note_round(p, thread, threads);
}

static round team_of(tc_pool *pool, tc_index threads, tc_team_job *job)
{
    round r = {.size = 0};
    tc_context context = {0};
    tc_context_use_pool(&context, pool);
    context.team.run(context.team.user, threads, job, &r);
    return r;
}

/* Calls behind pauses. The first one waits for all workers that sleep: how long calls take is not known. Behind long
 * calls workers are waited for; on a busy machine they may come too late, but not each time. A short call begins without
 * them, and they are in one of the next calls. */
static void test_sleepers(void)
{
    enum { THREADS = 3, LONG_CALLS = 100, SHORT_CALLS = 100000 };
    const struct timespec pause = {0, 30000000}, moment = {0, 100000};
    tc_pool *pool = tc_pool_create(THREADS);
    nanosleep(&pause, NULL);
    round r = team_of(pool, THREADS, long_round);
    tc_ok(once_each(&r) && r.size == THREADS, "the first call has all");
    int good = 1, found = 0;
    for (int i = 0; i < LONG_CALLS && !found; ++i) {
        nanosleep(&pause, NULL);
        r = team_of(pool, THREADS, long_round);
        good &= once_each(&r);
        found = r.size > 1;
    }
    tc_ok(good && found, "a long call waits for workers that sleep");
    nanosleep(&pause, NULL);
    found = 0;
    for (int i = 0; i < SHORT_CALLS && !found; ++i) {
        r = team_of(pool, THREADS, note_round);
        good &= once_each(&r);
        found = r.size == THREADS;
        nanosleep(&moment, NULL);
    }
    tc_ok(good && found, "workers that slept are in a later team");
    nanosleep(&pause, NULL);
    tc_pool_destroy(pool);
}

/* A context without a pool, or with one that could not be made, has the calling thread alone. */
static void test_no_pool(fixture *f)
{
    setup(f, 61, 60);
    f->context.team = (tc_team){own_run, &(tc_index){0}, 5, NULL};
    tc_context_use_pool(&f->context, NULL);
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f) && !f->context.team.run && !f->context.yield,
          "no pool: the calling thread alone");
    tc_context_use_pool(NULL, NULL);
#ifdef TEST_OPENMP
    tc_context_use_openmp(NULL, 2);
#endif
    tc_ok(1, "no context: nothing happens");
}

/* What a child behind fork() does with the parent's team; it has none of the parent's threads. */
static int in_child(fixture *f, tc_pool *pool)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); /* where it hangs */
        int good = 1;
        for (int call = 0; call < 3; ++call) {
            setup(f, 60 + call, 60);
            if (pool)
                tc_context_use_pool(&f->context, pool);
#ifdef TEST_OPENMP
            else
                tc_context_use_openmp(&f->context, 4);
#endif
            good &= fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f);
        }
        tc_pool_destroy(pool);
        tc_pool *own = tc_pool_create(3);
        setup(f, 64, 60);
        tc_context_use_pool(&f->context, own);
        good &= own && fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f);
        tc_pool_destroy(own);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_fork(fixture *f)
{
    tc_pool *pool = tc_pool_create(4);
    tc_ok(in_child(f, pool),
          "a child calls with the parent's pool before the parent did, ends it and has one of its own");
    for (int turn = 0; turn < 2; ++turn) {
        setup(f, 64, 60);
        tc_context_use_pool(&f->context, pool);
        tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f), "the parent calls");
        if (turn)
            nanosleep(&(struct timespec){0, 10000000}, NULL); /* its workers sleep */
        tc_ok(in_child(f, pool), "and a child behind it");
    }
    tc_pool_destroy(pool);
#ifdef TEST_OPENMP
    setup(f, 64, 60);
    tc_context_use_openmp(&f->context, 4);
    tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f), "the parent calls on OpenMP's threads");
    tc_ok(in_child(f, NULL), "and a child behind it");
#endif
}

typedef struct caller {
    fixture fixture;
    tc_pool *pool;
    int good;
} caller;

static void *call_often(void *p)
{
    caller *c = p;
    c->good = 1;
    for (int i = 0; i < 200; ++i) {
        setup(&c->fixture, 64 + i % 8, 60);
        tc_context_use_pool(&c->fixture.context, c->pool);
        c->good &= fake_run(&c->fixture.context, &c->fixture.args) == TC_STATUS_OK && right(&c->fixture);
    }
    return NULL;
}

static void test_contexts(void)
{
    caller *callers = aligned_alloc(64, 2 * sizeof *callers);
    pthread_t id[2];
    tc_pool *pool = tc_pool_create(2);
    for (int i = 0; i < 2; ++i) {
        callers[i].pool = pool;
        pthread_create(&id[i], NULL, call_often, &callers[i]);
    }
    for (int i = 0; i < 2; ++i)
        pthread_join(id[i], NULL);
    tc_ok(callers[0].good && callers[1].good, "two contexts in two threads share a pool");
    tc_pool_destroy(pool);
    free(callers);
}

static void note_processor(void *p, tc_index thread, tc_index threads)
{
    (void)threads;
#ifdef __linux__
    ((int *)p)[thread] = sched_getcpu();
#else
    (void)p, (void)thread;
#endif
}

enum { SHARERS = 17, SHARED_STEPS = 300, MOST_PIECES = 16 * SHARERS };

typedef struct sharing {
    tc_frame frame;
    tc_member members[SHARERS];
    int taken[SHARED_STEPS][MOST_PIECES];
    tc_index threads, counts[SHARED_STEPS];
} sharing;

/* Some threads are slow at some steps; there is no barrier between steps. */
static void share_steps(void *p, tc_index thread, tc_index threads)
{
    sharing *s = p;
    for (int step = 0; step < SHARED_STEPS; ++step) {
        const uint64_t work = step % 5 == 4 ? 0 : (uint64_t)(step % 11) << 23;
        tc_pieces pieces = tc_pieces_of(&s->frame, thread, threads, work);
        while (tc_pieces_next(&pieces)) {
            if ((step + thread) % 13 == 0)
                sched_yield();
            for (volatile int i = 0; i < 200 * (step % 3 == thread % 3);)
                i = i + 1;
            __atomic_add_fetch(&s->taken[step][pieces.piece], 1, __ATOMIC_RELAXED);
            __atomic_store_n(&s->counts[step], pieces.count, __ATOMIC_RELAXED);
        }
    }
    if (thread == 0)
        s->threads = threads;
}

/* A thread that has done its part helps the one with most pieces left, and stays with it until another one has more than twice
 * as many. */
static void test_helping(void)
{
    enum { THREADS = 3, EACH = 8, LEFT = 9 };
    static const int want[LEFT] = {15, 14, 13, 12, 23, 22, 21, 20, 11};
    static const int done[THREADS] = {EACH, 3, 4};
    tc_member members[THREADS] = {0};
    tc_frame frame = {.members = members};
    tc_pieces pieces[THREADS];
    for (tc_index i = 0; i < THREADS; ++i)
        pieces[i] = tc_pieces_of(&frame, i, THREADS, (uint64_t)1 << 40);
    for (tc_index i = 0; i < THREADS; ++i)
        for (int k = 0; k < done[i]; ++k)
            tc_pieces_next(&pieces[i]);
    int got[LEFT + 1], count = 0;
    while (count <= LEFT && tc_pieces_next(&pieces[0]))
        got[count++] = (int)pieces[0].piece;
    tc_ok(count == LEFT && memcmp(got, want, sizeof want) == 0, "a thread stays with the one that it helps");
}

/* Each piece of each step is done once, whoever does it. A thread has as many pieces of the largest as there are threads, but 8
 * to 16. */
static void test_pieces(void)
{
    static const struct {
        tc_index threads, most;
    } teams[] = {{1, 1}, {3, 3}, {5, 5 * 8}, {7, 7 * 8}, {11, 11 * 11}, {SHARERS, SHARERS * 16}};
    sharing *s = aligned_alloc(128, (sizeof *s + 127) / 128 * 128);
    for (size_t team = 0; team < sizeof teams / sizeof teams[0]; ++team) {
        const tc_index threads = teams[team].threads;
        memset(s, 0, sizeof *s);
        s->frame.members = threads == 3 ? NULL : s->members;
        tc_context context = {0};
        tc_pool *pool = tc_pool_create(threads);
        tc_context_use_pool(&context, pool);
        context.team.run(context.team.user, threads, share_steps, s);
        int once = s->threads == threads, shared = 0;
        tc_index most = 0;
        for (int step = 0; step < SHARED_STEPS; ++step) {
            shared += s->counts[step] > threads;
            most = s->counts[step] > most ? s->counts[step] : most;
            for (tc_index piece = 0; piece < MOST_PIECES; ++piece)
                once &= s->taken[step][piece] == (piece < s->counts[step]);
        }
        tc_ok(once, "every piece is done once, %d threads", (int)threads);
        tc_ok((shared > 100) == (threads > 1 && s->frame.members != NULL), "%d steps are shared in pieces", shared);
        tc_ok(most == teams[team].most, "the largest has %d pieces", (int)most);
        tc_pool_destroy(pool);
    }
    free(s);
}

static void pool_of_any(fixture *f)
{
    const int anywhere[] = {TC_ANY_PROCESSOR, TC_ANY_PROCESSOR};
    tc_pool *pool = tc_pool_create_with(&(tc_pool_options){.threads = 2, .processors = anywhere});
    setup(f, 61, 60);
    tc_context_use_pool(&f->context, pool);
    tc_ok(pool && fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f), "threads that may be anywhere");
    tc_pool_destroy(pool);
    tc_ok(!tc_pool_create_with(NULL) && !tc_pool_create_with(&(tc_pool_options){.threads = 0}),
          "a pool needs a thread");
}

#ifdef TEST_OPENMP
/* Calls in a parallel region of the program's own, each thread with a context: of OpenMP's, and of one pool. */
static void test_inside(void)
{
    enum { CALLERS = 3 };
    caller *callers = aligned_alloc(64, CALLERS * sizeof *callers);
    tc_pool *pool = tc_pool_create(2);
    int good[CALLERS] = {0};
#pragma omp parallel for num_threads(CALLERS)
    for (int i = 0; i < CALLERS; ++i) {
        fixture *f = &callers[i].fixture;
        good[i] = 1;
        for (int call = 0; call < 20; ++call) {
            setup(f, 64 + call % 8, 60);
            if (call % 2)
                tc_context_use_openmp(&f->context, 4);
            else
                tc_context_use_pool(&f->context, pool);
            good[i] &= fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f);
        }
    }
    tc_ok(good[0] && good[1] && good[2], "calls inside a parallel region of the program's own");
    tc_pool_destroy(pool);
    free(callers);
}
#endif

/* Threads stay where the caller puts them. */
static void test_processors(fixture *f)
{
#ifdef __linux__
    cpu_set_t there;
    if (!sched_getaffinity(0, sizeof there, &there)) {
        int processors[4] = {TC_ANY_PROCESSOR}, count = 1, good = 1;
        for (int i = 0; i < CPU_SETSIZE && count < 4; ++i)
            if (CPU_ISSET(i, &there))
                processors[count++] = i;
        processors[0] = -2; /* is not read */
        tc_pool *pool = tc_pool_create_with(&(tc_pool_options){.threads = count, .processors = processors});
        for (int i = 0; i < 50 && pool; ++i) {
            int ran[4] = {-1, -1, -1, -1};
            tc_context context = {0};
            tc_context_use_pool(&context, pool);
            context.team.run(context.team.user, count, note_processor, ran);
            int worker = 1; /* those of a team are in the order of the pool, without those that sleep */
            for (int t = 1; t < count && ran[t] >= 0; ++t, ++worker) {
                while (worker < count && ran[t] != processors[worker])
                    ++worker;
                good &= worker < count;
            }
        }
        tc_ok(pool && good, "threads stay on the processors that they were given");
        setup(f, 61, 60);
        tc_context_use_pool(&f->context, pool);
        tc_ok(fake_run(&f->context, &f->args) == TC_STATUS_OK && right(f), "and compute the same");
        tc_pool_destroy(pool);
        processors[count - 1] = CPU_SETSIZE - 1;
        tc_ok(CPU_ISSET(CPU_SETSIZE - 1, &there) ||
                  !tc_pool_create_with(&(tc_pool_options){.threads = count, .processors = processors}),
              "no pool where a processor is not there");
    } else {
        tc_skip(3, "the system does not tell which processors may be used");
    }
#else
    (void)f;
    tc_skip(3, "threads are held on Linux alone");
#endif
    pool_of_any(f);
}

int main(void)
{
    fixture *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    test_teams(f);
    test_rounds();
    test_short_lives();
    test_sleepers();
    test_no_pool(f);
    test_fork(f);
    test_contexts();
#ifdef TEST_OPENMP
    test_inside();
#endif
    test_processors(f);
    test_helping();
    test_pieces();
    free(f);
    return tc_done();
}
