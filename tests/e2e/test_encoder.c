/* SPDX-License-Identifier: Apache-2.0
 *
 * The sentence encoder of examples/minilm in the configuration that it was built with (-DHIDDEN): embeddings are
 * PyTorch's within a tolerance, and have the same bits on every instruction set, with every team, and with a row alone
 * or in a padded batch.
 *
 *   test_encoder EXPECTED.safetensors BATCHxSEQ...
 */
#include "encoder.h"
#include "safetensors.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <tensor_compile/hosted.h>

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p)
        exit(1);
    return p;
}

typedef struct batch {
    tc_index rows, seq;
    int64_t *ids, *mask;
    float *want, *got;
    size_t out_bytes;
    tc_context context;
} batch;

static int run(batch *b)
{
    memset(b->got, 0xff, b->out_bytes);
    return minilm(&b->context, &(minilm_args){.batch = b->rows, .seq = b->seq, .ids = b->ids, .mask = b->mask,
                                              .embedding = b->got}) == TC_STATUS_OK;
}

/* PyTorch computed in float64; both round its result. Measured: at most 3 roundings (2^-23) of the largest value. */
static void test_pytorch(batch *b, const char *name)
{
    double worst = 0, largest = 0;
    const int ran = run(b);
    for (tc_index i = 0; i < b->rows * HIDDEN; ++i) {
        const double error = fabs((double)b->got[i] - (double)b->want[i]);
        worst = error <= worst ? worst : error; /* a NaN counts */
        largest = fmax(largest, fabs((double)b->want[i]));
    }
    if (!tc_ok(ran && worst <= 16 * FLT_EPSILON * largest, "%s: PyTorch's embeddings", name))
        tc_note("largest error %g, largest value %g, \"%s\"", worst, largest, b->context.error.message);
    memcpy(b->want, b->got, b->out_bytes); /* from here on: the same bits */
}

static void test_instruction_sets(batch *b, const char *name)
{
    const unsigned found = b->context.cpus;
    for (int cpu = TC_CPU_SCALAR + 1; cpu < TC_CPU_COUNT; ++cpu) {
        if (!(found >> cpu & 1))
            continue;
        tc_context_limit_cpu(&b->context, (tc_cpu)cpu);
        const int ran = run(b);
        if (!ran && b->context.error.status == TC_STATUS_UNSUPPORTED_CPU)
            tc_skip(1, "the model is built without this instruction set");
        else
            tc_ok(ran && !memcmp(b->got, b->want, b->out_bytes), "%s: the same bits with %s", name,
                  tc_cpu_name((tc_cpu)cpu));
        b->context.cpus = found;
    }
}

static void test_teams(batch *b, const char *name)
{
    const int sizes[] = {2, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        tc_pool *pool = tc_pool_create(sizes[i]);
        tc_context_use_pool(&b->context, pool);
        tc_ok(run(b) && !memcmp(b->got, b->want, b->out_bytes), "%s: the same bits with a team of %d", name, sizes[i]);
        tc_pool_destroy(pool);
        b->context.team = (tc_team){0};
    }
}

/* Each row by itself, without its padding. */
static void test_rows(batch *b, const char *name)
{
    int same = 1;
    for (tc_index row = 0; row < b->rows; ++row) {
        tc_index length = 0;
        while (length < b->seq && b->mask[row * b->seq + length])
            ++length;
        same &= minilm(&b->context, &(minilm_args){.batch = 1, .seq = length, .ids = b->ids + row * b->seq,
                                                   .mask = b->mask + row * b->seq, .embedding = b->got}) ==
                    TC_STATUS_OK &&
                !memcmp(b->got, b->want + row * HIDDEN, HIDDEN * sizeof *b->got);
    }
    tc_ok(same, "%s: the same bits for each row alone, without padding", name);
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; ++i) {
        char name[64];
        int rows, seq;
        batch b = {0};
        if (sscanf(argv[i], "%dx%d", &rows, &seq) != 2)
            return 2;
        b.rows = rows;
        b.seq = seq;
        const size_t tokens = (size_t)(rows * seq) * sizeof *b.ids;
        b.out_bytes = (size_t)(rows * HIDDEN) * sizeof *b.want;
        snprintf(name, sizeof name, "%s.ids", argv[i]);
        b.ids = tc_read_tensor(argv[1], name, tokens);
        snprintf(name, sizeof name, "%s.mask", argv[i]);
        b.mask = tc_read_tensor(argv[1], name, tokens);
        snprintf(name, sizeof name, "%s.embedding", argv[i]);
        b.want = tc_read_tensor(argv[1], name, b.out_bytes);
        b.got = allocate(b.out_bytes);
        const size_t bytes = minilm_arena_bytes(rows, seq, 5);
        void *arena = allocate(bytes);
        tc_context_init(&b.context, arena, bytes);

        test_pytorch(&b, argv[i]);
        test_instruction_sets(&b, argv[i]);
        test_teams(&b, argv[i]);
        test_rows(&b, argv[i]);
        free(b.ids);
        free(b.mask);
        free(b.want);
        free(b.got);
        free(arena);
    }
    return tc_done();
}
