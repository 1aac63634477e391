/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for CUDA, emulated, against those for the processor on the same data: all buffers must have the same bits
 * after both. test_kernels.py writes the table of cases.
 */
#include "cases.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, MOST_MAPS = 8, GUARD = 64, SCRATCH = 5 /* blocks of a launch */ };

static uint64_t seed;

static uint64_t next_random()
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 33;
}

static float next_float(bool extreme)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e-40f, -1e-45f, 3e38f, -3e38f};
    return extreme && next_random() % 10 == 0 ? special[next_random() % 9]
                                              : (float)((double)next_random() / 536870912.0 - 2.0);
}

static void fill(const case_buffer &b, bool extreme, bool integers, int64_t below, unsigned char *data)
{
    for (size_t i = 0; i < b.elements; ++i) {
        const uint64_t any = next_random() << 40 ^ next_random() << 20 ^ next_random();
        const uint64_t value = extreme ? any : any % (uint64_t)below;
        if (b.kind == 'h' || b.kind == 'e') { /* bf16, f16: small integers, exact in both */
            const int number = (int)(any % 9) - 4, size = number < 0 ? -number : number;
            const float wide = (float)number;
            uint32_t bits;
            memcpy(&bits, &wide, 4);
            const int power = size >= 4 ? 2 : size >= 2 ? 1 : 0;
            const uint16_t half = !size ? 0 : (uint16_t)((number < 0) << 15 | (15 + power) << 10 | ((size << 10 >> power) & 0x3ff));
            const uint16_t stored = b.kind == 'h' ? (uint16_t)(bits >> 16) : half;
            memcpy(data + 2 * i, &stored, 2);
        } else if (b.kind == 'f') {
            const float number = integers ? (float)(any % 9) - 4.0f : next_float(extreme);
            memcpy(data + 4 * i, &number, 4);
        } else if (b.kind == 'b') {
            data[i] = any & 1;
        } else {
            memcpy(data + b.size * i, &value, b.size);
        }
    }
}

/* A bf16 ('h') or f16 that is no infinity or NaN. */
static double wide_of(char kind, uint16_t bits)
{
    if (kind == 'h') {
        const uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, 4);
        return value;
    }
    const int power = bits >> 10 & 31, rest = bits & 0x3ff;
    const double size = power ? ldexp(1024 + rest, power - 25) : ldexp(rest, -24);
    return bits >> 15 ? -size : size;
}

/* The first element that differs, or -1. Of 16 bits, by more than the last bit or 1e-3: functions
 * behind sums are not exact. */
static long differs(const case_buffer &b, const unsigned char *x, const unsigned char *y)
{
    for (size_t i = 0; i < b.elements; ++i) {
        float f, g;
        if (!memcmp(x + b.size * i, y + b.size * i, b.size))
            continue;
        if (b.kind == 'h' || b.kind == 'e') {
            uint16_t first, second;
            memcpy(&first, x + 2 * i, 2), memcpy(&second, y + 2 * i, 2);
            if (abs((int)first - (int)second) > 1 && fabs(wide_of(b.kind, first) - wide_of(b.kind, second)) > 1e-3)
                return (long)i;
            continue;
        }
        memcpy(&f, x + b.size * i, 4), memcpy(&g, y + b.size * i, 4);
        if (b.kind != 'f' || f == f || g == g)
            return (long)i;
    }
    return -1;
}

int main()
{
    int failed = 0, number = 0;
    for (const case_row *c = cases; c->name; ++c) {
        unsigned char *data[2][MOST], *start[MOST];
        size_t bytes[MOST];
        void *p[MOST];
        seed = 7;
        for (int i = 0; i < c->buffer_count; ++i) {
            const case_buffer &b = c->buffers[i];
            bytes[i] = (b.elements * b.size + 63) / 64 * 64 * (b.scratch ? SCRATCH : 1);
            start[i] = (unsigned char *)calloc(1, bytes[i] + 1);
            fill(b, c->extreme, c->integers, c->below, start[i]);
            for (size_t at = 0; c->line && i == 0 && at < b.elements; ++at)
                if (at % c->line >= at / c->line + c->left_out)
                    memset(start[i] + b.size * at, 0, b.size);
            for (int side = 0; side < 2; ++side) {
                data[side][i] = (unsigned char *)aligned_alloc(64, bytes[i] + 2 * GUARD) + GUARD;
                memcpy(data[side][i], start[i], bytes[i]);
                memset(data[side][i] - GUARD, 0xa5, GUARD), memset(data[side][i] + bytes[i], 0xa5, GUARD);
            }
            p[i] = data[0][i];
        }
        c->cpu(p, c->dims, 0, 1);
        char problem[200] = "";
        for (int reverse = 0; reverse < 2; ++reverse) {
            alignas(64) uint64_t all[16 * MOST_MAPS + 2 * MOST] = {};
            uint64_t *const arguments = all + 16 * c->map_count;
            for (int i = 0; i < c->buffer_count; ++i) {
                memcpy(data[1][i], start[i], bytes[i]);
                arguments[i] = (uint64_t)(uintptr_t)data[1][i];
            }
            for (int i = 0; i < c->map_count; ++i) {
                const case_map &m = c->maps[i];
                const emulated_map map = {data[1][m.buffer] + m.offset * 2, m.terms, m.lines, m.stride * 2, m.box};
                memcpy(all + 16 * i, &map, sizeof map);
            }
            for (int i = 0; i < c->dim_count; ++i)
                arguments[c->buffer_count + i] = (uint64_t)c->dims[i];
            emulated_launch(c->cuda, all, (reverse ? 3 : SCRATCH) * c->cluster, c->cluster, c->threads, reverse);
            for (int i = 0; i < c->buffer_count; ++i) {
                const long at = c->buffers[i].scratch ? -1 : differs(c->buffers[i], data[0][i], data[1][i]);
                if (at >= 0)
                    snprintf(problem, sizeof problem, "buffer %d differs at %ld%s", i, at,
                             reverse ? ", threads reversed" : "");
                for (int g = 0; g < GUARD; ++g)
                    if (data[1][i][g - GUARD] != 0xa5 || data[1][i][bytes[i] + g] != 0xa5)
                        snprintf(problem, sizeof problem, "buffer %d: written outside", i);
            }
        }
        printf("%sok %d - %s\n", *problem ? "not " : "", ++number, c->name);
        if (*problem)
            printf("# %s\n", problem), ++failed;
        for (int i = 0; i < c->buffer_count; ++i) {
            free(start[i]);
            for (int side = 0; side < 2; ++side)
                free(data[side][i] - GUARD);
        }
    }
    printf("1..%d\n", number);
    return failed != 0;
}
