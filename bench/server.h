/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of a benchmark process: reads commands on standard input and answers each with one line, so that a driver
 * can interleave rounds of several programs. The includer defines how one call of its model is made.
 *
 *   run N      calls the model N times; answers the nanoseconds of all N together
 *   out F      makes one call, of a new state where there is one, and writes its output to the file F; answers "ok"
 *   outs F     the same, and writes output I to the file F.I
 *   profile N  calls it N times; answers KERNEL=NANOSECONDS of each step, tabs between: of the thread that took longest, the
 *              fastest of N
 *   arena      answers the bytes of working memory of a call
 */
#ifndef TC_BENCH_SERVER_H
#define TC_BENCH_SERVER_H
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef BENCH_CLOCK
#define BENCH_CLOCK CLOCK_MONOTONIC
#endif

typedef struct {
    int (*call)(void); /* one call; 0 on success */
    int (*fresh)(void); /* the same with a new state */
    int (*profile)(long calls); /* prints the line of an answer; 0 on success */
    const void *output;
    size_t output_bytes, arena_bytes;
    int (*outs)(const char *path); /* writes all outputs; 0 on success */
} bench_model;

static inline int64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(BENCH_CLOCK, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads a whole raw file into 64-byte aligned memory that lives as long as the process. */
static inline void *bench_read(const char *path, size_t bytes)
{
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    FILE *file = fopen(path, "rb");
    if (!data || !file || fread(data, 1, bytes, file) != bytes) {
        fprintf(stderr, "%s: cannot read %zu bytes\n", path, bytes);
        exit(1);
    }
    fclose(file);
    return data;
}

static inline int bench_serve(const bench_model *model)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "run ", 4)) {
            long n = strtol(line + 4, NULL, 10);
            int64_t start = bench_now();
            for (long i = 0; i < n; i++)
                if (model->call())
                    return 1;
            printf("%" PRId64 "\n", bench_now() - start);
        } else if (!strncmp(line, "out ", 4)) {
            FILE *file = fopen(line + 4, "wb");
            if (!file || model->fresh() || fwrite(model->output, 1, model->output_bytes, file) != model->output_bytes || fclose(file))
                return 1;
            puts("ok");
        } else if (!strncmp(line, "outs ", 5)) {
            if (!model->outs || model->fresh() || model->outs(line + 5))
                return 1;
            puts("ok");
        } else if (!strncmp(line, "profile ", 8)) {
            if (model->profile(strtol(line + 8, NULL, 10)))
                return 1;
        } else if (!strcmp(line, "arena")) {
            printf("%zu\n", model->arena_bytes);
        } else {
            return 2;
        }
        fflush(stdout);
    }
    return 0;
}
#endif
