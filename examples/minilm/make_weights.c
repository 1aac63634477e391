/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes minilm.safetensors: seeded weights of a BERT-like sentence encoder (6 layers, 384 wide, 12 heads). The values
 * have the spread of trained ones, so that activations stay in range; they mean nothing.
 *
 *   make_weights OUT.safetensors [LAYERS]
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 384, INTERMEDIATE = 1536, VOCABULARY = 30522, POSITIONS = 512, LAYERS = 6 };

typedef struct {
    char name[96];
    int rows, columns; /* columns 0: a vector of `rows` */
    float mean, deviation;
} weight;

static uint64_t seed = 0x9e3779b97f4a7c15u;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Sum of four uniform 16-bit numbers, scaled to mean 0 and variance 1: close enough to normal, exact everywhere. */
static float next_value(void)
{
    uint64_t r = next_random();
    int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48) - 131070;
    return (float)sum * (1.0f / 37837.0f);
}

static int add(weight *list, int count, const char *name, int rows, int columns, float mean, float deviation)
{
    weight *w = &list[count];
    snprintf(w->name, sizeof w->name, "%s", name);
    w->rows = rows, w->columns = columns, w->mean = mean, w->deviation = deviation;
    return count + 1;
}

static int add_linear(weight *list, int count, const char *prefix, const char *name, int out, int in)
{
    char full[80];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    count = add(list, count, full, out, in, 0.0f, 1.0f / sqrtf((float)in));
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return add(list, count, full, out, 0, 0.0f, 0.02f);
}

static int add_norm(weight *list, int count, const char *prefix, const char *name)
{
    char full[80];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    count = add(list, count, full, HIDDEN, 0, 1.0f, 0.1f);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return add(list, count, full, HIDDEN, 0, 0.0f, 0.05f);
}

static int list_weights(weight *list, int layers)
{
    int n = 0;
    n = add(list, n, "embeddings.word.weight", VOCABULARY, HIDDEN, 0.0f, 0.05f);
    n = add(list, n, "embeddings.position.weight", POSITIONS, HIDDEN, 0.0f, 0.02f);
    n = add_norm(list, n, "embeddings.", "norm");
    for (int layer = 0; layer < layers; layer++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "layer.%d.", layer);
        n = add_linear(list, n, prefix, "query", HIDDEN, HIDDEN);
        n = add_linear(list, n, prefix, "key", HIDDEN, HIDDEN);
        n = add_linear(list, n, prefix, "value", HIDDEN, HIDDEN);
        n = add_linear(list, n, prefix, "output", HIDDEN, HIDDEN);
        n = add_norm(list, n, prefix, "attention_norm");
        n = add_linear(list, n, prefix, "up", INTERMEDIATE, HIDDEN);
        n = add_linear(list, n, prefix, "down", HIDDEN, INTERMEDIATE);
        n = add_norm(list, n, prefix, "output_norm");
    }
    return n;
}

static size_t count_of(const weight *w)
{
    return (size_t)w->rows * (size_t)(w->columns ? w->columns : 1);
}

static int write_file(FILE *file, const weight *list, int count)
{
    char *header = calloc((size_t)count + 1, 200);
    if (!header)
        return -1;
    size_t length = (size_t)sprintf(header, "{");
    uint64_t offset = 0;
    for (int i = 0; i < count; i++) {
        uint64_t end = offset + count_of(&list[i]) * sizeof(float);
        length += (size_t)sprintf(header + length, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", i ? "," : "",
                                  list[i].name, list[i].rows);
        if (list[i].columns)
            length += (size_t)sprintf(header + length, ",%d", list[i].columns);
        length += (size_t)sprintf(header + length, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, end);
        offset = end;
    }
    length += (size_t)sprintf(header + length, "}");
    while (length % 8)
        header[length++] = ' ';
    uint64_t size = length;
    fwrite(&size, sizeof size, 1, file);
    fwrite(header, 1, length, file);
    free(header);
    for (int i = 0; i < count; i++) {
        float row[2048];
        size_t left = count_of(&list[i]);
        while (left) {
            size_t part = left < 2048 ? left : 2048;
            for (size_t j = 0; j < part; j++)
                row[j] = list[i].mean + list[i].deviation * next_value();
            fwrite(row, sizeof *row, part, file);
            left -= part;
        }
    }
    return ferror(file) ? -1 : 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: make_weights OUT.safetensors [LAYERS]\n");
        return 2;
    }
    int layers = argc > 2 ? atoi(argv[2]) : LAYERS;
    if (layers < 1 || layers > 64) {
        fprintf(stderr, "make_weights: LAYERS is %s, not 1 to 64\n", argv[2]);
        return 2;
    }
    weight *list = calloc((size_t)(8 + 16 * layers), sizeof *list);
    FILE *file = list ? fopen(argv[1], "wb") : NULL;
    if (!file) {
        perror(argv[1]);
        free(list);
        return 1;
    }
    int failed = write_file(file, list, list_weights(list, layers));
    failed |= fclose(file);
    free(list);
    if (failed) {
        perror(argv[1]);
        remove(argv[1]);
        return 1;
    }
    return 0;
}
