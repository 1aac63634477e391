/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting 16 rows side by side, each in a lane: a network of comparisons, which are the same ones whatever the elements
 * are. An element is a key and its position; no two of a row are equal, hence their order is the stable one (tc_sort.h).
 */
#ifndef TC_SORT_LANES_H
#define TC_SORT_LANES_H

#include "tc_vector.h"

/* Keys in the order of the values: a NaN above every number and equal to every NaN, -0 equal to +0. */
static TC_INLINE tcv_i32 tcv_sort_key_f32(tcv_f32 x)
{
    const tcv_i32 key = tcv_select_i32(tcv_eq_f32(x, tcv_splat_f32(0.0f)), tcv_splat_i32(0), tcv_order_f32(x));
    return tcv_select_i32(tcv_eq_f32(x, x), key, tcv_splat_i32(INT32_MAX));
}

static TC_INLINE tcv_i32 tcv_sort_key_i32(tcv_i32 x)
{
    return x;
}

/* The lesser ones to i, the others to j. */
static TC_INLINE void tcv_sort_two(int32_t *keys, int32_t *at, tc_index i, tc_index j)
{
    const tcv_i32 a = tcv_load_i32(keys + 16 * i), b = tcv_load_i32(keys + 16 * j);
    const tcv_i32 p = tcv_load_i32(at + 16 * i), q = tcv_load_i32(at + 16 * j);
    const tcv_mask equal = tcv_logical_and_bool(tcv_eq_i32(a, b), tcv_lt_i32(q, p));
    const tcv_mask swap = tcv_logical_or_bool(tcv_lt_i32(b, a), equal);
    tcv_store_i32(keys + 16 * i, tcv_select_i32(swap, b, a));
    tcv_store_i32(keys + 16 * j, tcv_select_i32(swap, a, b));
    tcv_store_i32(at + 16 * i, tcv_select_i32(swap, q, p));
    tcv_store_i32(at + 16 * j, tcv_select_i32(swap, p, q));
}

/* n keys and positions of each of 16 rows in ascending order: keys[16*i] to keys[16*i + 15] are number i of all rows.
 * Merge exchange (Batcher; Knuth, The Art of Computer Programming 3, 5.2.2 M). */
static inline void tc_sort_lanes(int32_t *restrict keys, int32_t *restrict at, tc_index n)
{
    tc_index most = 1;
    while (2 * most < n)
        most *= 2;
    for (tc_index p = most; p > 0; p /= 2)
        for (tc_index q = most, r = 0, d = p; ; d = q - p, q /= 2, r = p) {
            for (tc_index first = r; first < n - d; first += 2 * p)
                for (tc_index i = first; i < tc_min(first + p, n - d); ++i)
                    tcv_sort_two(keys, at, i, i + d);
            if (q == p)
                break;
        }
}

#endif
