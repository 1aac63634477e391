/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmark process of one function of a model: server DIMS… INPUT_FILES…, in the order of the generated header (see
 * run.py). -DFUNCTION=NAME_function chooses the function. The calls are those that the typed entry makes. With
 * -DBENCH_TEAM the first argument is a number of threads, which are a pool of the hosted runtime; with -DBENCH_TURNS, too,
 * they take turns on one processor (turns.h), and `profile` answers the fastest time of every thread, commas between.
 */
#include "model.h"
#include "server.h"

#include <tensor_compile/driver.h>
#ifdef BENCH_TEAM
#include <tensor_compile/hosted.h>
#endif
#ifdef BENCH_TURNS
#include "turns.h"
#endif

enum { MOST = 64, STEPS = 4096 };

static const tc_function *const function = &FUNCTION;
static tc_context context;
static tc_index dims[MOST];
static void *buffers[MOST]; /* inputs, then outputs */
static void *state;

static int call(void)
{
    return tc_run(&context, function, dims, buffers, state, NULL, NULL) != TC_STATUS_OK;
}

static int fresh_call(void)
{
    return (state && tc_state_init(function->model, state) != TC_STATUS_OK) || call();
}

static size_t tensor_bytes(unsigned tensor)
{
    int64_t sizes[TC_MAX_RANK];
    size_t bytes = tc_dtype_bytes(function->tensors[tensor].dtype);
    function->shape(dims, tensor, sizes);
    for (int i = 0; i < function->tensors[tensor].rank; i++)
        bytes *= (size_t)sizes[i];
    return bytes;
}

static int write_outputs(const char *path)
{
    char name[4200];
    for (unsigned i = 0; i < function->output_count; i++) {
        const unsigned tensor = function->input_count + i;
        const size_t bytes = tensor_bytes(tensor);
        snprintf(name, sizeof name, "%s.%u", path, i);
        FILE *file = fopen(name, "wb");
        if (!file || fwrite(buffers[tensor], 1, bytes, file) != bytes || fclose(file))
            return 1;
    }
    return 0;
}

static void *allocate(size_t bytes)
{
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!data)
        exit(1);
    return data;
}

/* -- profile --------------------------------------------------------------------------------------------------------- */

typedef struct spent {
    const char *kernel;
    int64_t begun, taken; /* nanoseconds; taken: in this call, of all iterations of a loop or blocks of a region */
    int64_t best;         /* the least of all calls */
} spent;

static spent (*spent_by)[STEPS]; /* each thread */

static void note(void *user, const char *name, const char *variant, const char *kernel, tc_index step, tc_index thread,
                 int begin)
{
    (void)user, (void)name, (void)variant;
    if (step >= STEPS)
        return;
    spent *const own = &spent_by[thread][step];
    if (begin) {
        own->kernel = kernel;
        own->begun = bench_now();
        return;
    }
    own->taken += bench_now() - own->begun;
}

/* The name of a step's kernel; NULL where no thread took part in the step. */
static const char *kernel_of(int step, tc_index threads)
{
    tc_index t = 0;
    while (t < threads && !spent_by[t][step].kernel) /* there may be fewer tiles than threads */
        ++t;
    return t < threads ? spent_by[t][step].kernel : NULL;
}

static void keep_best(spent *s, int64_t taken)
{
    if (taken && (s->best == 0 || taken < s->best))
        s->best = taken;
}

static int profile(long calls)
{
    const tc_index threads = context.team.run ? context.team.threads : 1;
    int failed = 0;
    spent_by = calloc((size_t)threads, sizeof *spent_by);
    context.profile = spent_by ? note : NULL;
    for (long i = 0; i < calls && spent_by && !failed; i++) {
        for (tc_index t = 0; t < threads; t++)
            for (int j = 0; j < STEPS; j++)
                spent_by[t][j].taken = 0;
        failed = call();
        for (int j = 0; j < STEPS; j++) {
            int64_t most = 0;
            for (tc_index t = 0; t < threads; t++) {
                const int64_t taken = spent_by[t][j].taken;
                most = taken > most ? taken : most;
#ifdef BENCH_TURNS
                keep_best(&spent_by[t][j], taken);
#endif
            }
#ifndef BENCH_TURNS
            keep_best(&spent_by[0][j], most);
#endif
        }
    }
    context.profile = NULL;
    const char *kernel;
    for (int i = 0; spent_by && i < STEPS && (kernel = kernel_of(i, threads)); i++) {
        printf("%s=%" PRId64, kernel, spent_by[0][i].best);
#ifdef BENCH_TURNS
        for (tc_index t = 1; t < threads; t++)
            printf(",%" PRId64, spent_by[t][i].best);
#endif
        printf("\t");
    }
    puts("");
    free(spent_by);
    return failed;
}

int main(int argc, char **argv)
{
    int threads = 1;
#ifdef BENCH_TEAM
    if (argc < 2 || (threads = atoi(argv[1])) < 1)
        return 2;
    argc--, argv++;
#endif
    const unsigned inputs = function->input_count, tensors = inputs + function->output_count;
    if ((unsigned)argc != 1 + function->dim_count + inputs || function->dim_count > MOST || tensors > MOST)
        return 2;
    for (unsigned i = 0; i < function->dim_count; i++)
        dims[i] = atoi(argv[1 + i]);
    for (unsigned i = 0; i < tensors; i++)
        buffers[i] = i < inputs ? bench_read(argv[1 + function->dim_count + i], tensor_bytes(i))
                                : allocate(tensor_bytes(i));
    if (function->uses_state)
        state = allocate(tc_state_bytes(function->model));
    if (state && tc_state_init(function->model, state) != TC_STATUS_OK)
        return 1;
    const size_t bytes = tc_run_arena_bytes(function, dims, threads);
    if (tc_context_init(&context, allocate(bytes), (bytes + 63) / 64 * 64) != TC_STATUS_OK)
        return 1;
#ifdef BENCH_TEAM
#ifdef BENCH_TURNS
    if (threads > TURNS_MOST)
        return 2;
    context.team = (tc_team){turns_run, allocate((size_t)threads * TURNS_STACK), threads, NULL};
    context.yield = turns_yield;
#else
    if (threads > 1)
        tc_context_use_pool(&context, tc_pool_create(threads));
#endif
#endif
    return bench_serve(&(bench_model){call, fresh_call, profile, buffers[inputs], tensor_bytes(inputs), bytes,
                                      write_outputs});
}
