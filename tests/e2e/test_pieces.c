/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps with scratch are shared in pieces that threads take from one another: with every team, at several sizes and
 * with other inputs at each call the outputs have the bits of one thread's.
 */
#include "pieces.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <tensor_compile/hosted.h>

enum { TERMS = 192, ROWS = 500, WIDE = 512, CALLS = 4, OUTPUTS = 4 };

typedef struct sizes {
    tc_index batch, rows, columns;
} sizes;

typedef struct tensors {
    float *a, *b, *c, *d, *e, *outputs[OUTPUTS];
} tensors;

static void *room(tc_index elements)
{
    void *made = malloc((size_t)elements * sizeof(float));
    if (!made)
        exit(1);
    return made;
}

static void fill(float *values, tc_index count, uint32_t seed)
{
    for (tc_index i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
    }
}

static tc_status run(tc_context *context, const sizes *s, const tensors *t, uint32_t seed)
{
    fill(t->a, s->batch * s->rows * TERMS, seed);
    fill(t->b, s->batch * TERMS * s->columns, seed + 1);
    fill(t->c, s->batch * TERMS * s->columns, seed + 2);
    fill(t->d, (tc_index)2 * ROWS * WIDE, seed + 3);
    fill(t->e, (tc_index)2 * WIDE * WIDE, seed + 4);
    return pieces(context, &(pieces_args){.batch = s->batch, .rows = s->rows, .columns = s->columns, .a = t->a, .b = t->b,
                                          .c = t->c, .d = t->d, .e = t->e, .y = t->outputs[0], .z = t->outputs[1],
                                          .sorted = t->outputs[2], .u = t->outputs[3]});
}

/* Whether all calls have the bits of `alone`, whose context has no team. */
static int same(tc_context *context, tc_context *alone, const sizes *s)
{
    const tc_index results = s->batch * s->rows * s->columns, seconds = s->batch * TERMS * s->columns;
    const tc_index counts[OUTPUTS] = {results, results, results, (tc_index)2 * ROWS * WIDE};
    tensors t = {room(s->batch * s->rows * TERMS), room(seconds),
                 room(seconds), room(counts[3]), room((tc_index)2 * WIDE * WIDE), {0}};
    float *want[OUTPUTS];
    for (int i = 0; i < OUTPUTS; ++i)
        t.outputs[i] = room(counts[i]), want[i] = room(counts[i]);
    int good = 1;
    for (uint32_t call = 0; call < CALLS; ++call) {
        good &= run(alone, s, &t, call) == TC_STATUS_OK;
        for (int i = 0; i < OUTPUTS; ++i)
            memcpy(want[i], t.outputs[i], (size_t)counts[i] * sizeof(float));
        good &= run(context, s, &t, call) == TC_STATUS_OK;
        for (int i = 0; i < OUTPUTS; ++i)
            good &= memcmp(want[i], t.outputs[i], (size_t)counts[i] * sizeof(float)) == 0;
    }
    for (int i = 0; i < OUTPUTS; ++i)
        free(t.outputs[i]), free(want[i]);
    free(t.a), free(t.b), free(t.c), free(t.d), free(t.e);
    return good;
}

int main(void)
{
    static const tc_index teams[] = {2, 3, 7, 16};
    static const sizes cases[] = {{1, 300, 300}, {3, 111, 200}, {4, 300, 65}, {2, 37, 299}, {4, 7, 5}};
    void *arena = aligned_alloc(64, (PIECES_ARENA_BYTES + 63) / 64 * 64);
    if (!arena)
        return 1;
    for (size_t i = 0; i < sizeof teams / sizeof *teams; ++i) {
        tc_context alone, context;
        tc_context_init(&alone, arena, PIECES_ARENA_BYTES);
        tc_context_init(&context, arena, PIECES_ARENA_BYTES);
        tc_pool *pool = tc_pool_create(teams[i]);
        tc_context_use_pool(&context, pool);
        for (size_t j = 0; j < sizeof cases / sizeof *cases; ++j)
            tc_ok(same(&context, &alone, &cases[j]), "%d threads, %d times %d x %d results", (int)teams[i],
                  (int)cases[j].batch, (int)cases[j].rows, (int)cases[j].columns);
        tc_pool_destroy(pool);
    }
    free(arena);
    return tc_done();
}
