/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a safetensors file of seeded f32 values, for examples whose weights nobody trained: they have the spread of
 * trained ones, so that activations stay in range, and mean nothing. The make_weights.c of an example lists its tensors
 * and calls `seeded_write`. The same list gives the same bytes everywhere.
 */
#ifndef SEEDED_WEIGHTS_H
#define SEEDED_WEIGHTS_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDED_RANK = 4 };

typedef struct {
    char name[112];
    int rank, shape[SEEDED_RANK];
    float mean, deviation;
} seeded_tensor;

/* Starts as {0}. */
typedef struct {
    seeded_tensor *items;
    int count, room;
} seeded_list;

/* rank and shape of the next two parameters of seeded_add */
#define SEEDED_SHAPE(...) (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__}

/* One more tensor; values are mean + deviation * (about normal). The name is printf's. Ends the program where memory is
 * out or a name too long. */
static inline void seeded_add(seeded_list *list, float mean, float deviation, int rank, const int *shape,
                              const char *name, ...)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->items = realloc(list->items, (size_t)list->room * sizeof *list->items);
        if (!list->items)
            exit(1);
    }
    seeded_tensor *t = &list->items[list->count++];
    *t = (seeded_tensor){.rank = rank, .mean = mean, .deviation = deviation};
    va_list arguments;
    va_start(arguments, name);
    const int length = vsnprintf(t->name, sizeof t->name, name, arguments);
    va_end(arguments);
    if (rank > SEEDED_RANK || length < 0 || (size_t)length >= sizeof t->name) {
        fprintf(stderr, "%s: rank or name too long\n", t->name);
        exit(1);
    }
    for (int i = 0; i < rank; i++)
        t->shape[i] = shape[i];
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t seeded_next(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Sum of four uniform 16-bit numbers, scaled to mean 0 and variance 1: close to normal, at most 3.5, exact everywhere. */
static inline float seeded_value(uint64_t *seed)
{
    const uint64_t r = seeded_next(seed);
    const int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48) - 131070;
    return (float)sum * (1.0f / 37837.0f);
}

static inline size_t seeded_count(const seeded_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (size_t)t->shape[i];
    return n;
}

static inline int seeded_write_file_(FILE *file, const seeded_list *list)
{
    char *header = calloc((size_t)list->count + 1, 256);
    if (!header)
        return -1;
    size_t length = (size_t)sprintf(header, "{");
    uint64_t offset = 0;
    for (int i = 0; i < list->count; i++) {
        const seeded_tensor *t = &list->items[i];
        const uint64_t end = offset + seeded_count(t) * sizeof(float);
        length += (size_t)sprintf(header + length, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[", i ? "," : "", t->name);
        for (int d = 0; d < t->rank; d++)
            length += (size_t)sprintf(header + length, "%s%d", d ? "," : "", t->shape[d]);
        length += (size_t)sprintf(header + length, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, end);
        offset = end;
    }
    length += (size_t)sprintf(header + length, "}");
    while (length % 8)
        header[length++] = ' ';
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)length >> 8 * i);
    fwrite(size, 1, sizeof size, file);
    fwrite(header, 1, length, file);
    free(header);
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < list->count; i++) {
        const seeded_tensor *t = &list->items[i];
        float part[2048];
        for (size_t left = seeded_count(t); left;) {
            const size_t n = left < 2048 ? left : 2048;
            for (size_t j = 0; j < n; j++) {
                /* f32 arithmetic, written in double so that no compiler fuses it: the product is exact there */
                const float spread = (float)((double)t->deviation * (double)seeded_value(&seed));
                part[j] = (float)((double)t->mean + (double)spread);
            }
            fwrite(part, sizeof *part, n, file);
            left -= n;
        }
    }
    return ferror(file) ? -1 : 0;
}

/* Writes the file whose name is the program's one argument and frees the list; main's result. A file that could not be
 * written whole is removed. The build machine is little-endian, as the file format is. */
static inline int seeded_write(seeded_list *list, int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_weights OUT.safetensors\n");
        free(list->items);
        return 2;
    }
    FILE *file = fopen(argv[1], "wb");
    int failed = file ? seeded_write_file_(file, list) : -1;
    if (file)
        failed |= fclose(file);
    free(list->items);
    if (!failed)
        return 0;
    perror(argv[1]);
    if (file)
        remove(argv[1]);
    return 1;
}

#endif
