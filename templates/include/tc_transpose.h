/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposing in registers: 16 x 16 elements, and the few rows of a tile.
 */
#ifndef TC_TRANSPOSE_H
#define TC_TRANSPOSE_H

#include "tc_vector.h"

#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
#if defined(TC_ISA_AVX512)
enum { TC_TRANSPOSE_SIDE = 16 };
typedef __m512d tc_row_pairs;
#define TC_ROWS(operation) _mm512_##operation
#elif defined(TC_ISA_AVX2)
enum { TC_TRANSPOSE_SIDE = 8 };
typedef __m256d tc_row_pairs;
#define TC_ROWS(operation) _mm256_##operation
#else
enum { TC_TRANSPOSE_SIDE = 4 };
typedef __m128d tc_row_pairs;
#define TC_ROWS(operation) _mm_##operation
#endif

/* 16 bytes of row i and of every fourth one behind it, one row in each quarter of a line; of row `last` in place of those
   behind it. They come from memory to where they belong, which takes no shuffle. */
static TC_INLINE tcq_f32 tc_every_fourth(const char *from, tc_index from_step, tc_index i, tc_index last)
{
#define TC_QUARTER(row) _mm_loadu_ps((const float *)(const void *)(from + tc_min(i + (row), last) * from_step))
#if defined(TC_ISA_AVX512)
    __m512 x = _mm512_castps128_ps512(TC_QUARTER(0));
    x = _mm512_mask_broadcast_f32x4(x, 0x00f0, TC_QUARTER(4));
    x = _mm512_mask_broadcast_f32x4(x, 0x0f00, TC_QUARTER(8));
    return _mm512_mask_broadcast_f32x4(x, 0xf000, TC_QUARTER(12));
#elif defined(TC_ISA_AVX2)
    return _mm256_insertf128_ps(_mm256_castps128_ps256(TC_QUARTER(0)), TC_QUARTER(4), 1);
#else
    return TC_QUARTER(0);
#endif
#undef TC_QUARTER
}

/* to[j][i] is word j, of 32 bits, of row i, for j below 4 and i below TC_TRANSPOSE_SIDE; those behind `last` are as the last
   one. Rows lie from_step bytes apart. */
static TC_INLINE void tc_turn_four(tcq_f32 to[4], const void *from, tc_index from_step, tc_index last)
{
    tcq_f32 r[4];
    for (int i = 0; i < 4; ++i)
        r[i] = tc_every_fourth(from, from_step, i, last);
    const tc_row_pairs a = TC_ROWS(castps_pd)(TC_ROWS(unpacklo_ps)(r[0], r[1]));
    const tc_row_pairs b = TC_ROWS(castps_pd)(TC_ROWS(unpackhi_ps)(r[0], r[1]));
    const tc_row_pairs x = TC_ROWS(castps_pd)(TC_ROWS(unpacklo_ps)(r[2], r[3]));
    const tc_row_pairs y = TC_ROWS(castps_pd)(TC_ROWS(unpackhi_ps)(r[2], r[3]));
    to[0] = TC_ROWS(castpd_ps)(TC_ROWS(unpacklo_pd)(a, x));
    to[1] = TC_ROWS(castpd_ps)(TC_ROWS(unpackhi_pd)(a, x));
    to[2] = TC_ROWS(castpd_ps)(TC_ROWS(unpacklo_pd)(b, y));
    to[3] = TC_ROWS(castpd_ps)(TC_ROWS(unpackhi_pd)(b, y));
}
#undef TC_ROWS

/* The lower halves of words of 32 bits in the lower half of a register, the upper ones in its upper half. */
#if defined(TC_ISA_AVX512)
static TC_INLINE __m512i tc_halves(tcq_f32 pairs)
{
    const __m512i order = _mm512_set_epi32(0x1f001d, 0x1b0019, 0x170015, 0x130011, 0xf000d, 0xb0009, 0x70005, 0x30001,
                                           0x1e001c, 0x1a0018, 0x160014, 0x120010, 0xe000c, 0xa0008, 0x60004, 0x20000);
    return _mm512_permutexvar_epi16(order, _mm512_castps_si512(pairs));
}
static TC_INLINE void tc_store_halves(uint16_t *lower, uint16_t *upper, tcq_f32 pairs)
{
    const __m512i halves = tc_halves(pairs);
    _mm256_storeu_si256((__m256i *)(void *)lower, _mm512_castsi512_si256(halves));
    _mm256_storeu_si256((__m256i *)(void *)upper, _mm512_extracti64x4_epi64(halves, 1));
}
#elif defined(TC_ISA_AVX2)
static TC_INLINE __m256i tc_halves(tcq_f32 pairs)
{
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                           0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(_mm256_castps_si256(pairs), order), 0xd8);
}
static TC_INLINE void tc_store_halves(uint16_t *lower, uint16_t *upper, tcq_f32 pairs)
{
    const __m256i halves = tc_halves(pairs);
    _mm_storeu_si128((__m128i *)(void *)lower, _mm256_castsi256_si128(halves));
    _mm_storeu_si128((__m128i *)(void *)upper, _mm256_extracti128_si256(halves, 1));
}
#else
static TC_INLINE void tc_store_halves(uint16_t *lower, uint16_t *upper, tcq_f32 pairs)
{
    const __m128i words = _mm_castps_si128(pairs), signs = _mm_srai_epi32(_mm_slli_epi32(words, 16), 16);
    const __m128i halves = _mm_packs_epi32(signs, _mm_srai_epi32(words, 16));
    _mm_storel_epi64((__m128i *)(void *)lower, halves);
    _mm_storel_epi64((__m128i *)(void *)upper, _mm_unpackhi_epi64(halves, halves));
}
#endif
#elif defined(TC_ISA_NEON)
enum { TC_TRANSPOSE_SIDE = 4 };

static TC_INLINE void tc_turn_four(tcq_f32 to[4], const void *from, tc_index from_step, tc_index last)
{
#define TC_ROW(row) vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)from + tc_min(row, last) * from_step))
    const float32x4x2_t ab = vtrnq_f32(TC_ROW(0), TC_ROW(1)), cd = vtrnq_f32(TC_ROW(2), TC_ROW(3));
#undef TC_ROW
    to[0] = vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0]));
    to[1] = vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1]));
    to[2] = vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0]));
    to[3] = vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1]));
}

static TC_INLINE void tc_store_halves(uint16_t *lower, uint16_t *upper, tcq_f32 pairs)
{
    const uint32x4_t words = vreinterpretq_u32_f32(pairs);
    vst1_u16(lower, vmovn_u32(words));
    vst1_u16(upper, vshrn_n_u32(words, 16));
}
#else
enum { TC_TRANSPOSE_SIDE = 1 };
#endif

/* to[j * to_step + i] = from[i * from_step + j] for i, j below TC_TRANSPOSE_SIDE: four columns at a time. */
static TC_INLINE void tc_transpose_block(float *to, tc_index to_step, const float *from, tc_index from_step)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64) || defined(TC_ISA_NEON)
    for (int c = 0; c < TC_TRANSPOSE_SIDE; c += 4, from += 4, to += 4 * to_step) {
        tcq_f32 four[4];
        tc_turn_four(four, from, from_step * (tc_index)sizeof *from, TC_TRANSPOSE_SIDE - 1);
        for (int j = 0; j < 4; ++j)
            tcq_store_f32(to + j * to_step, four[j]);
    }
#else
    (void)to_step, (void)from_step;
    *to = *from;
#endif
}

/* The same for 16 x 16 elements, of which the first `rows` rows of `from` exist; zeros stand for the others. */
static TC_INLINE void tc_transpose_f32(float *to, tc_index to_step, const float *from, tc_index from_step,
                                       tc_index rows)
{
    float filled[16 * 16];
    if (rows < 16) {
        for (tc_index i = 0; i < 16; ++i)
            for (tc_index j = 0; j < 16; ++j)
                filled[i * 16 + j] = i < rows ? from[i * from_step + j] : 0.0f;
        from = filled, from_step = 16;
    }
    for (tc_index i = 0; i < 16; i += TC_TRANSPOSE_SIDE)
        for (tc_index j = 0; j < 16; j += TC_TRANSPOSE_SIDE)
            tc_transpose_block(to + j * to_step + i, to_step, from + i * from_step + j, from_step);
}

/* to[j * to_step + i] = from[i * from_step + j] for j below 8 and i below TC_TRANSPOSE_SIDE, as pairs. */
static TC_INLINE void tc_transpose_eight_u16(uint16_t *to, tc_index to_step, const uint16_t *from, tc_index from_step)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64) || defined(TC_ISA_NEON)
    tcq_f32 pairs[4];
    tc_turn_four(pairs, from, from_step * (tc_index)sizeof *from, TC_TRANSPOSE_SIDE - 1);
    for (int j = 0; j < 4; ++j, to += 2 * to_step)
        tc_store_halves(to, to + to_step, pairs[j]);
#else
    (void)from_step;
    for (int j = 0; j < 8; ++j)
        to[j * to_step] = from[j];
#endif
}

/* As tc_transpose_f32. */
static TC_INLINE void tc_transpose_u16(uint16_t *to, tc_index to_step, const uint16_t *from, tc_index from_step,
                                       tc_index rows)
{
    uint16_t filled[16 * 16];
    if (rows < 16) {
        for (tc_index i = 0; i < 16; ++i)
            for (tc_index j = 0; j < 16; ++j)
                filled[i * 16 + j] = i < rows ? from[i * from_step + j] : 0;
        from = filled, from_step = 16;
    }
    for (tc_index i = 0; i < 16; i += TC_TRANSPOSE_SIDE)
        for (tc_index j = 0; j < 16; j += 8)
            tc_transpose_eight_u16(to + j * to_step + i, to_step, from + i * from_step + j, from_step);
}

#if defined(TC_ISA_AVX512)
/* As tc_store_across, of 5 to 8 rows: one store a column. Each is a page of its own where columns are images. */
static TC_INLINE void tc_store_columns(float *to, tc_index step, const float *from, int rows)
{
    __m512 x[8], t[8];
    for (int i = 0; i < 8; ++i)
        x[i] = i < rows ? _mm512_loadu_ps(from + 16 * i) : _mm512_setzero_ps();
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    /* A masked store of a vector's upper half would become one instruction with the taking of it, which does not leave
       alone what lies behind the mask: it faults there. */
    const __m512i quarter = _mm512_setr_epi64(0, 1, 8, 9, 0, 1, 8, 9), next = _mm512_set1_epi64(2);
    const __mmask8 there = (__mmask8)((1 << rows) - 1);
    for (int j = 0; j < 4; ++j) { /* in each quarter q, column 4 * q + j of rows 0 to 3, and of rows 4 to 7 */
        const __m512d a = _mm512_castps_pd(t[j / 2]), b = _mm512_castps_pd(t[2 + j / 2]);
        const __m512d c = _mm512_castps_pd(t[4 + j / 2]), d = _mm512_castps_pd(t[6 + j / 2]);
        const __m512d low = j % 2 ? _mm512_unpackhi_pd(a, b) : _mm512_unpacklo_pd(a, b);
        const __m512d high = j % 2 ? _mm512_unpackhi_pd(c, d) : _mm512_unpacklo_pd(c, d);
        __m512i from_quarter = quarter;
        for (int q = 0; q < 4; ++q, from_quarter = _mm512_add_epi64(from_quarter, next)) {
            const __m512 column = _mm512_castpd_ps(_mm512_permutex2var_pd(low, from_quarter, high));
            _mm256_mask_storeu_ps(to + (4 * q + j) * step, there, _mm512_castps512_ps256(column));
        }
    }
}
#endif

/* to[l * step + r] = from[16 * r + l] for r below `rows` and l below 16: four rows at a time, then two. */
static TC_INLINE void tc_store_across(float *to, tc_index step, const float *from, int rows)
{
    int r = 0;
#if defined(TC_ISA_AVX512)
    for (; r + 5 <= rows; r += 8)
        tc_store_columns(to + r, step, from + 16 * r, rows - r < 8 ? rows - r : 8);
#endif
#if defined(__SSE2__)
    for (; r + 4 <= rows; r += 4)
        for (int l = 0; l < 16; l += 4) {
            const float *const x = from + 16 * r + l;
            float *const y = to + l * step + r;
            __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + 16), c = _mm_loadu_ps(x + 32), d = _mm_loadu_ps(x + 48);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(y, a);
            _mm_storeu_ps(y + step, b);
            _mm_storeu_ps(y + 2 * step, c);
            _mm_storeu_ps(y + 3 * step, d);
        }
    for (; r + 2 <= rows; r += 2)
        for (int l = 0; l < 16; l += 4) {
            const __m128 a = _mm_loadu_ps(from + 16 * r + l), b = _mm_loadu_ps(from + 16 * r + 16 + l);
            const __m128 low = _mm_unpacklo_ps(a, b), high = _mm_unpackhi_ps(a, b);
            float *const y = to + l * step + r;
            _mm_storel_pi((__m64 *)y, low);
            _mm_storeh_pi((__m64 *)(y + step), low);
            _mm_storel_pi((__m64 *)(y + 2 * step), high);
            _mm_storeh_pi((__m64 *)(y + 3 * step), high);
        }
#elif defined(TC_ISA_NEON)
    for (; r + 4 <= rows; r += 4)
        for (int l = 0; l < 16; l += 4)
            tc_transpose_block(to + l * step + r, step, from + 16 * r + l, 16);
    for (; r + 2 <= rows; r += 2)
        for (int l = 0; l < 16; l += 4) {
            const float32x4x2_t ab = vzipq_f32(vld1q_f32(from + 16 * r + l), vld1q_f32(from + 16 * r + 16 + l));
            float *const y = to + l * step + r;
            vst1_f32(y, vget_low_f32(ab.val[0]));
            vst1_f32(y + step, vget_high_f32(ab.val[0]));
            vst1_f32(y + 2 * step, vget_low_f32(ab.val[1]));
            vst1_f32(y + 3 * step, vget_high_f32(ab.val[1]));
        }
#endif
    for (; r < rows; ++r)
        for (int l = 0; l < 16; ++l)
            to[l * step + r] = from[16 * r + l];
}

/* The same for l below `columns`, which is less than 16. */
static TC_INLINE void tc_store_some_across(float *to, tc_index step, const float *from, int rows, int columns)
{
    enum { MOST = 16 };
    for (; rows > 0; rows -= MOST, from += 16 * MOST, to += MOST) {
        const int some = rows < MOST ? rows : MOST;
        float turned[16 * MOST];
        tc_store_across(turned, MOST, from, some);
        for (int l = 0; l < columns; ++l)
            for (int r = 0; r < some; ++r)
                to[l * step + r] = turned[l * MOST + r];
    }
}

#endif
