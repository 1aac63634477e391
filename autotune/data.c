/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include <string.h>

const char *const tc_fill_names[TC_FILL_COUNT] = {"plain", "wide", "extreme"};

size_t tc_data_size(tc_data_type type)
{
    static const size_t sizes[] =
        {[TC_DATA_F32] = 4, [TC_DATA_I32] = 4,  [TC_DATA_I64] = 8, [TC_DATA_BOOL] = 1, [TC_DATA_F64] = 8,
         [TC_DATA_F16] = 2, [TC_DATA_BF16] = 2, [TC_DATA_I8] = 1,  [TC_DATA_U8] = 1,   [TC_DATA_I16] = 2,
         [TC_DATA_U16] = 2, [TC_DATA_U32] = 4,  [TC_DATA_U64] = 8};
    return sizes[type];
}

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A 16-bit float: the value's digits cut off, which is as random as a rounding. What is finite stays so: of those too
 * large for f16 comes the largest. */
static uint16_t halved(uint32_t bits, tc_data_type type)
{
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t size = bits & 0x7fffffff;
    if (type == TC_DATA_BF16)
        return (uint16_t)(bits >> 16 | (size > 0x7f800000));
    if (size >= 0x47800000) /* 2^16 */
        return sign | (size > 0x7f800000 ? 0x7e00 : size == 0x7f800000 ? 0x7c00 : 0x7bff);
    return size < 0x38800000 ? sign | (uint16_t)(bits & 0x3ff) : sign | (uint16_t)((size - 0x38000000) >> 13);
}

/* NaN: all bits of the exponent, and one of the significand, which `mask` leaves without the sign. */
static int is_nan(uint64_t bits, uint64_t mask, uint64_t infinity)
{
    return (bits & mask) > infinity;
}

static float plain(uint64_t r)
{
    return (float)((double)(int64_t)(r >> 40) / 8388608.0 - 1.0);
}

/* Elements from which on denormals and their like are rarer: there are thousands of them still, and some processors take a
 * hundred times as long for an instruction that has one. */
#define MANY (1 << 14)

static float value(uint64_t r, int finite, int many, tc_fill fill)
{
    static const uint32_t finite_bits[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                                           0x3f800000, 0xbf800000, 0x33800000, 0x4b800000, 0x5f000000, 0xdf000000};
    static const uint32_t other_bits[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0xff7fffff};
    uint32_t bits;
    if (fill == TC_FILL_PLAIN || (r & 3) == 0)
        return plain(r);
    if (fill == TC_FILL_EXTREME && !finite && (r >> 2 & 31) == 0) {
        bits = other_bits[(r >> 16) % 5];
    } else if ((r >> 2 & 3) == 0 && (!many || (r >> 56 & 15) == 0)) {
        bits = finite_bits[(r >> 16) % 12];
    } else { /* exponents around 1, so that products neither all vanish nor all overflow */
        bits = (uint32_t)(r >> 32 & 0x807fffff) | (uint32_t)(107 + (r >> 8) % 40) << 23;
    }
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of `bits` bits, sign-extended. */
static int64_t integer(uint64_t r, int bits, tc_fill fill, int64_t bound)
{
    static const int64_t ends[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT64_MIN + 1};
    if (bound > 0)
        return (int64_t)(r % (uint64_t)bound);
    if (fill == TC_FILL_PLAIN)
        return (int64_t)(r % 7) - 3;
    if (fill == TC_FILL_EXTREME && (r & 3) == 0) {
        const int64_t end = ends[(r >> 16) % 6];
        return end == 1 || end == -1 ? end : end >> (64 - bits); /* MIN and MAX of the narrower type, 0 */
    }
    return (int64_t)(r ^ r << 32) >> (64 - bits + (int)(r >> 8) % bits);
}

enum { COLUMNS = 16, LINE = 4 * COLUMNS }; /* of a panel; bytes of a word of each of its columns */

/* 0 or 1: a word of eight columns is exact in 16 bits as it is, or with the second weight of each pair negated; 2: else. */
static int kind(const uint8_t *word, int turn)
{
    int unsafe = 0, negated = 0;
    for (int i = 0; i < 32; i += 2) {
        const int p = (int8_t)(word[i] ^ turn), q = (int8_t)(word[i + 1] ^ turn);
        unsafe |= (p > 0 ? p : 0) + (q > 0 ? q : 0) > 128 || (p < 0 ? p : 0) + (q < 0 ? q : 0) < -128;
        negated |= q == -128 || (p > 0 ? p : 0) + (q < 0 ? -q : 0) > 128 || (p < 0 ? p : 0) - (q > 0 ? q : 0) < -128;
    }
    return !unsafe ? 0 : !negated ? 1 : 2;
}

/* The blocks that the words of a panel are taken in, and the words of each. */
static ptrdiff_t blocks(ptrdiff_t words, ptrdiff_t *each)
{
    const ptrdiff_t count = (words + 127) / 128;
    *each = (words + count - 1) / count;
    *each += *each % 2;
    return count;
}

static ptrdiff_t lines_of_order(ptrdiff_t words)
{
    ptrdiff_t each;
    const ptrdiff_t count = blocks(words, &each);
    return 1 + (4 * count + count * each + COLUMNS - 1) / COLUMNS;
}

/* Writes the order of a panel behind its words. Rows are signed where its weights are not. */
static void order(uint8_t *panel, ptrdiff_t words, int turned)
{
    int32_t *const lines = (int32_t *)(void *)(panel + words * LINE);
    const int turn = turned ? 0x80 : 0;
    ptrdiff_t each;
    const ptrdiff_t count = blocks(words, &each);
    uint16_t *const lists = (uint16_t *)(void *)(lines + COLUMNS + 4 * count);
    memset(lines, 0, (size_t)(lines_of_order(words) * LINE));
    for (ptrdiff_t part = 0; part < 2 * count; ++part) {
        const ptrdiff_t half = part % 2, begin = part / 2 * each, end = begin + each < words ? begin + each : words;
        uint16_t *list = lists + part * each;
        for (int k = 0; k < 3; ++k)
            for (ptrdiff_t i = begin; i < end; ++i) {
                const uint8_t *const word = panel + i * LINE + half * LINE / 2;
                if (kind(word, turn) != k)
                    continue;
                *list++ = (uint16_t)i;
                for (int b = 0; b < 32; ++b)
                    lines[8 * half + b / 4] += (int8_t)(word[b] ^ turn) *
                                               ((turned ? -128 : 0) + (k == 1 && b % 2 ? 255 : 0));
                lines[COLUMNS + 2 * part + k] += k < 2;
            }
    }
}

/* Elements from which on values repeat: a prime, so that two rows never hold the same. Making one takes as long as a
 * kernel takes for hundreds of operations. */
#define PERIOD 65521

static void repeat(char *values, size_t made, size_t all)
{
    for (; made < all; made *= 2)
        memcpy(values + made, values, made < all - made ? made : all - made);
}

void tc_data_fill(void *values, const tc_param *param, tc_fill fill, uint64_t seed)
{
    uint64_t state = seed * 0x2545f4914f6cdd1du + 1;
    const ptrdiff_t made = param->elements < PERIOD ? param->elements : PERIOD;
    for (ptrdiff_t i = 0; i < made; ++i) {
        const uint64_t r = next(&state);
        char *const at = (char *)values + tc_data_size(param->type) * (size_t)i;
        const float x = value(r, param->finite, param->elements > MANY, fill);
        const double wide = x;
        uint32_t bits;
        uint16_t half;
        memcpy(&bits, &x, sizeof bits);
        switch (param->type) {
        case TC_DATA_F32: memcpy(at, &x, sizeof x); break;
        case TC_DATA_F64: memcpy(at, &wide, sizeof wide); break;
        case TC_DATA_F16:
        case TC_DATA_BF16:
            half = halved(bits, param->type);
            memcpy(at, &half, sizeof half);
            break;
        case TC_DATA_BOOL: *at = (char)(r & 1); break;
        default: { /* little-endian: the low bits */
            const int64_t n = integer(r, 8 * (int)tc_data_size(param->type), fill, param->bound);
            memcpy(at, &n, tc_data_size(param->type));
            break;
        }
        }
    }
    if (made < param->elements)
        repeat(values, tc_data_size(param->type) * (size_t)made, tc_data_size(param->type) * (size_t)param->elements);
    for (ptrdiff_t at = 0; param->words && at < param->elements;
         at += (param->words + lines_of_order(param->words)) * LINE)
        order((uint8_t *)values + at, param->words, param->type == TC_DATA_U8);
}

ptrdiff_t tc_data_differ(const void *got, const void *want, const tc_param *param)
{
    const size_t size = tc_data_size(param->type);
    if (memcmp(got, want, size * (size_t)param->elements) == 0)
        return -1;
    for (ptrdiff_t i = 0; i < param->elements; ++i) {
        const char *x = (const char *)got + size * (size_t)i, *y = (const char *)want + size * (size_t)i;
        if (memcmp(x, y, size) == 0)
            continue;
        uint64_t a = 0, b = 0;
        memcpy(&a, x, size);
        memcpy(&b, y, size);
        static const uint64_t infinities[] = {[TC_DATA_F32] = 0x7f800000,
                                              [TC_DATA_F64] = (uint64_t)0x7ff << 52,
                                              [TC_DATA_F16] = 0x7c00,
                                              [TC_DATA_BF16] = 0x7f80,
                                              [TC_DATA_U64] = 0};
        const uint64_t infinity = infinities[param->type], mask = UINT64_MAX >> (65 - 8 * size);
        if (infinity && is_nan(a, mask, infinity) && is_nan(b, mask, infinity))
            continue;
        return i;
    }
    return -1;
}
