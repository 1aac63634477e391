/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of the examples do around their calls: memory, a pool of threads, the clock.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor_compile/hosted.h>
#include <time.h>

static inline double seconds_now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Zeroed memory aligned as arenas and states have to be; ends the program where there is none. */
static inline void *aligned_memory(size_t bytes)
{
    const size_t rounded = (bytes / TC_ALIGNMENT + 1) * TC_ALIGNMENT;
    void *data = aligned_alloc(TC_ALIGNMENT, rounded);
    if (!data) {
        fprintf(stderr, "no %zu bytes of memory\n", bytes);
        exit(EXIT_FAILURE);
    }
    return memset(data, 0, rounded);
}

/* A context with an arena of `bytes` and a pool of as many threads as the program's first argument says (left out:
 * TC_NUM_THREADS, else the processors). Both live as long as the program. The team's size is context->team.threads. */
static inline void open_context(tc_context *context, tc_index threads, size_t bytes)
{
    tc_pool *pool = tc_pool_create(threads);
    if (!pool || tc_context_init(context, aligned_memory(bytes), bytes) != TC_STATUS_OK) {
        fprintf(stderr, "no pool of %td threads\n", (ptrdiff_t)threads);
        exit(EXIT_FAILURE);
    }
    tc_context_use_pool(context, pool);
    tc_context_read_logs(context); /* TC_LOGS=guards,kernels shows what runs */
}

static inline tc_index threads_wanted(int argc, char **argv)
{
    return argc > 1 ? strtol(argv[1], NULL, 10) : tc_environment_threads();
}

/* Ends the program where a call failed: the message says which argument, its value, and what it may be. */
static inline void must(const tc_context *context, tc_status status)
{
    if (status != TC_STATUS_OK) {
        fprintf(stderr, "%s\n", context->error.message);
        exit(EXIT_FAILURE);
    }
}

/* n values about as pixels of a normalized picture have them, from a linear congruential generator. */
static inline void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

static inline size_t index_of_largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

static inline double mebibytes(size_t bytes)
{
    return (double)bytes / 1048576;
}

#endif
