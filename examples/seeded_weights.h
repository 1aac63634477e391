/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a safetensors file of seeded f32 values, for examples whose weights nobody trained: they have the spread of
 * trained ones, so that activations stay in range, and mean nothing. The make_weights.c of an example lists its tensors
 * and calls `seeded_write`. The same list gives the same bytes everywhere.
 */
#ifndef SEEDED_WEIGHTS_H
#define SEEDED_WEIGHTS_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDED_RANK = 4, SEEDED_NAME = 112 };

typedef struct {
    char name[SEEDED_NAME];
    int rank, shape[SEEDED_RANK];
    float mean, deviation;
} seeded_tensor;

/* Starts as {0}. bf16: the values are written so, not as f32. */
typedef struct {
    seeded_tensor *items;
    int count, room;
    bool bf16;
} seeded_list;

/* rank and shape of the next two parameters of seeded_add */
#define SEEDED_SHAPE(...) (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__}

/* A name as printf makes it, for the functions below; ends the program where it is too long. */
static inline void seeded_name_(char *out, const char *name, va_list arguments)
{
    const int length = vsnprintf(out, SEEDED_NAME, name, arguments);
    if (length < 0 || length >= SEEDED_NAME) {
        fprintf(stderr, "%s: name too long\n", out);
        exit(1);
    }
}

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
    seeded_name_(t->name, name, arguments);
    va_end(arguments);
    if (rank > SEEDED_RANK) {
        fprintf(stderr, "%s: rank too large\n", t->name);
        exit(1);
    }
    for (int i = 0; i < rank; i++)
        t->shape[i] = shape[i];
}

/* NAME.weight and NAME.bias of a dense layer of `in` inputs; the weight's shape is [out, in], or [in, out] where
 * `in_first`. */
static inline void seeded_dense(seeded_list *list, int in, int out, bool in_first, const char *name, ...)
{
    char full[SEEDED_NAME];
    va_list arguments;
    va_start(arguments, name);
    seeded_name_(full, name, arguments);
    va_end(arguments);
    seeded_add(list, 0, 1.0f / sqrtf((float)in), SEEDED_SHAPE(in_first ? in : out, in_first ? out : in), "%s.weight", full);
    seeded_add(list, 0, 0.02f, SEEDED_SHAPE(out), "%s.bias", full);
}

/* NAME.weight, about `gain`, and NAME.bias of a normalization; with `statistics` NAME.running_mean and .running_var, too. */
static inline void seeded_norm(seeded_list *list, int width, float gain, bool statistics, const char *name, ...)
{
    char full[SEEDED_NAME];
    va_list arguments;
    va_start(arguments, name);
    seeded_name_(full, name, arguments);
    va_end(arguments);
    seeded_add(list, gain, 0.1f * gain, SEEDED_SHAPE(width), "%s.weight", full);
    seeded_add(list, 0, 0.05f, SEEDED_SHAPE(width), "%s.bias", full);
    if (statistics) {
        seeded_add(list, 0, 0.05f, SEEDED_SHAPE(width), "%s.running_mean", full);
        seeded_add(list, 1, 0.1f, SEEDED_SHAPE(width), "%s.running_var", full);
    }
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

/* Rounded to nearest even; the value is finite. */
static inline uint16_t seeded_bf16(float value)
{
    union {
        float value;
        uint32_t bits;
    } as = {value};
    return (uint16_t)((as.bits + 0x7fff + (as.bits >> 16 & 1)) >> 16);
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
        const uint64_t end = offset + seeded_count(t) * (list->bf16 ? 2 : sizeof(float));
        length += (size_t)sprintf(header + length, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "", t->name,
                                  list->bf16 ? "BF16" : "F32");
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
            if (list->bf16) {
                uint16_t half[2048];
                for (size_t j = 0; j < n; j++)
                    half[j] = seeded_bf16(part[j]);
                fwrite(half, sizeof *half, n, file);
            } else {
                fwrite(part, sizeof *part, n, file);
            }
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
