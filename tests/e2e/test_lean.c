/* SPDX-License-Identifier: Apache-2.0
 *
 * A model whose steps teams share runs on the small runtime, too: all instruction sets give the same bits.
 */
#include "rows.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, N = 40, TERMS = 512, IMAGE = 14 * 14 * 64, FEW = 49 * 960, ROWS = BATCH * N };

static int8_t x[ROWS * TERMS], few[FEW], image[BATCH * IMAGE];

/* One after the other in memory. */
typedef struct outputs {
    int8_t y[ROWS * 320], z[ROWS * 200], last[49 * 160], pairs[ROWS * 640], u[BATCH * 196 * 160];
    float floats[49 * 512];
} outputs;

static void fill(int8_t *values, int count, uint32_t seed)
{
    for (int i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (int8_t)(seed >> 24);
    }
}

static tc_status run(tc_context *context, outputs *to)
{
    memset(to, 0x55, sizeof *to);
    return rows(context, &(rows_args){.batch = BATCH, .n = N, .x = x, .few = few, .image = image, .y = to->y,
                                      .z = to->z, .last = to->last, .pairs = to->pairs, .u = to->u, .floats = to->floats});
}

int main(void)
{
    static outputs want, got;
    void *arena = aligned_alloc(64, (ROWS_ARENA_BYTES + 63) / 64 * 64);
    tc_context context;
    if (!arena || tc_context_init(&context, arena, ROWS_ARENA_BYTES) != TC_STATUS_OK)
        return 1;
    fill(x, sizeof x, 1), fill(few, sizeof few, 2), fill(image, sizeof image, 3);
    const unsigned cpus = context.cpus;
    tc_ok(run(&context, &want) == TC_STATUS_OK, "a call");
    for (unsigned cpu = 0; cpu < TC_CPU_COUNT; ++cpu) {
        context.cpus = 1u << cpu;
        if (!(cpus >> cpu & 1) || run(&context, &got) == TC_STATUS_UNSUPPORTED_CPU)
            continue;
        tc_ok(memcmp(&want, &got, sizeof got) == 0, "instruction set %u", cpu);
    }
    free(arena);
    return tc_done();
}
