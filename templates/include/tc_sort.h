/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting a row by keys of one element each: stable, so equal on every machine. An element becomes a word of its key
 * above its position; words differ, hence their order is the stable one whatever sorts them. Where key and position do
 * not fit 64 bits an element is two words, the key and the position.
 *
 * A kernel puts the n elements of a row into scratch and calls tc_sort_row for the first `count` of the order; what is
 * left in words[0..count-1] are their positions. Scratch holds 2*n words, twice that in the functions _wide.
 */
#ifndef TC_SORT_H
#define TC_SORT_H

#include "tc_kernel.h"
#include "tc_scalar.h"

/* Unsigned keys in the order of the values: a NaN above every number and equal to every NaN, -0 equal to +0. */
static inline uint32_t tc_sort_key_f32(float x)
{
    const uint32_t bits = (uint32_t)tc_asint_f32(x);
    if (x != x)
        return UINT32_MAX;
    return x == 0.0f ? 0x80000000u : bits >> 31 ? ~bits : bits | 0x80000000u;
}

static inline uint32_t tc_sort_key_i32(int32_t x)
{
    return (uint32_t)x ^ 0x80000000u;
}

static inline uint32_t tc_sort_key_bool(uint8_t x)
{
    return x;
}

static inline uint64_t tc_sort_key_i64(int64_t x)
{
    return (uint64_t)x ^ UINT64_C(0x8000000000000000);
}

/* The other dtypes: integers by the nearest of the above, unsigned ones as they are, f64 as f32. 16-bit floats are sorted
 * in f32. */
static inline uint32_t tc_sort_key_i8(int8_t x)
{
    return tc_sort_key_i32(x);
}

static inline uint32_t tc_sort_key_i16(int16_t x)
{
    return tc_sort_key_i32(x);
}

static inline uint32_t tc_sort_key_u8(uint8_t x)
{
    return x;
}

static inline uint32_t tc_sort_key_u16(uint16_t x)
{
    return x;
}

static inline uint32_t tc_sort_key_u32(uint32_t x)
{
    return x;
}

static inline uint64_t tc_sort_key_u64(uint64_t x)
{
    return x;
}

static inline uint64_t tc_sort_key_f64(double x)
{
    const uint64_t sign = (uint64_t)1 << 63, bits = x == 0 ? 0 : (uint64_t)tc_asint_f64(x);
    return x != x ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

typedef struct tc_sort_pair {
    uint64_t key;
    int64_t position;
} tc_sort_pair;

static inline void tc_sort_put(int64_t *words, tc_index i, uint32_t key)
{
    words[i] = (int64_t)((uint64_t)key << 32 | (uint64_t)i);
}

static inline void tc_sort_put_wide(int64_t *words, tc_index i, uint64_t key)
{
    words[2 * i] = (int64_t)key;
    words[2 * i + 1] = i;
}

static inline int tc_sort_less(uint64_t a, uint64_t b)
{
    return a < b;
}

static inline int tc_sort_less_wide(tc_sort_pair a, tc_sort_pair b)
{
    return a.key < b.key || (a.key == b.key && a.position < b.position);
}

static inline int64_t tc_sort_position(uint64_t word)
{
    return (int64_t)(word & UINT32_MAX);
}

static inline int64_t tc_sort_position_wide(tc_sort_pair word)
{
    return word.position;
}

#define TC_SORT_NAME(name) name
#define TC_SORT_WORD uint64_t
#include "tc_sort.inc"
#define TC_SORT_NAME(name) name##_wide
#define TC_SORT_WORD tc_sort_pair
#include "tc_sort.inc"

#endif
