/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of bytes are shared in pieces that threads take from one another: with every team and every instruction set,
 * at several sizes and with other inputs at each call the outputs have the bits of one thread's.
 */
#include HEADER
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <tensor_compile/hosted.h>

enum { TERMS = 512, IMAGE = 14 * 14 * 64, FEW = 49 * 960, CALLS = 3, OUTPUTS = 6 };

typedef struct sizes {
    tc_index batch, n;
} sizes;

typedef struct tensors {
    int8_t *x, *few, *image, *outputs[OUTPUTS];
    size_t bytes[OUTPUTS];
} tensors;

static void *room(size_t bytes)
{
    void *made = malloc(bytes);
    if (!made)
        exit(1);
    return made;
}

static tensors taken(const sizes *s)
{
    const size_t rows = (size_t)(s->batch * s->n);
    tensors t = {room(rows * TERMS),
                 room(FEW),
                 room((size_t)s->batch * IMAGE),
                 {0},
                 {rows * 320, rows * 200, (size_t)49 * 160, rows * 640, (size_t)s->batch * 196 * 160,
                  (size_t)49 * 512 * sizeof(float)}};
    for (int i = 0; i < OUTPUTS; ++i)
        t.outputs[i] = room(t.bytes[i]);
    return t;
}

static void give(tensors *t)
{
    free(t->x), free(t->few), free(t->image);
    for (int i = 0; i < OUTPUTS; ++i)
        free(t->outputs[i]);
}

static void fill(int8_t *values, tc_index count, uint32_t seed)
{
    for (tc_index i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (int8_t)(seed >> 24);
    }
}

static tc_status run(tc_context *context, const sizes *s, tensors *t, uint32_t seed)
{
    fill(t->x, s->batch * s->n * TERMS, seed);
    fill(t->few, FEW, seed + 1);
    fill(t->image, s->batch * IMAGE, seed + 2);
    for (int i = 0; i < OUTPUTS; ++i)
        memset(t->outputs[i], 0x55, t->bytes[i]);
    return rows(context, &(rows_args){.batch = s->batch, .n = s->n, .x = t->x, .few = t->few, .image = t->image,
                                      .y = t->outputs[0], .z = t->outputs[1], .last = t->outputs[2],
                                      .pairs = t->outputs[3], .u = t->outputs[4], .floats = (float *)t->outputs[5]});
}

/* Whether all calls of a team have the bits that one thread gives with the best instruction set; -1: the model has none
 * of the context's. */
static int same(tc_context *context, tc_context *alone, const sizes *s)
{
    tensors got = taken(s), want = taken(s);
    int good = 1;
    for (uint32_t call = 0; call < CALLS && good > 0; ++call) {
        const tc_status status = run(context, s, &got, 3 * call);
        if (status == TC_STATUS_UNSUPPORTED_CPU) {
            good = -1;
            break;
        }
        good = status == TC_STATUS_OK && run(alone, s, &want, 3 * call) == TC_STATUS_OK;
        for (int i = 0; i < OUTPUTS; ++i)
            good &= memcmp(want.outputs[i], got.outputs[i], got.bytes[i]) == 0;
    }
    give(&got);
    give(&want);
    return good;
}

int main(void)
{
    static const tc_index teams[] = {2, 3, 7, 16};
    static const sizes cases[] = {{1, 300}, {4, 77}, {3, 5}};
    void *arena = aligned_alloc(64, (ROWS_ARENA_BYTES + 63) / 64 * 64);
    if (!arena)
        return 1;
    for (size_t i = 0; i < sizeof teams / sizeof *teams; ++i) {
        tc_pool *pool = tc_pool_create(teams[i]);
        for (unsigned cpu = 0; cpu < TC_CPU_COUNT; ++cpu) {
            tc_context alone, context;
            tc_context_init(&alone, arena, ROWS_ARENA_BYTES);
            tc_context_init(&context, arena, ROWS_ARENA_BYTES);
            tc_context_use_pool(&context, pool);
            if (!(context.cpus >> cpu & 1))
                continue;
            context.cpus = 1u << cpu;
            for (size_t j = 0; j < sizeof cases / sizeof *cases; ++j) {
                const int good = same(&context, &alone, &cases[j]);
                if (good >= 0)
                    tc_ok(good, "%d threads, %s, %d times %d rows", (int)teams[i], tc_cpu_name((tc_cpu)cpu),
                          (int)cases[j].batch, (int)cases[j].n);
            }
        }
        tc_pool_destroy(pool);
    }
    free(arena);
    return tc_done();
}
