/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposing in registers: 16 x 16 elements, and the few rows of a tile.
 */
#ifndef TC_TRANSPOSE_H
#define TC_TRANSPOSE_H

#include "tc_vector.h"

#if defined(TC_ISA_AVX512)
enum { TC_TRANSPOSE_SIDE = 16 };

/* to[j * to_step + i] = from[i * from_step + j] for i, j below TC_TRANSPOSE_SIDE: four columns at a time. Quarters of
   vectors come from memory to where they belong, which takes no shuffle, so that half as many do. */
static TC_INLINE void tc_transpose_block(float *to, tc_index to_step, const float *from, tc_index from_step)
{
    for (int c = 0; c < 16; c += 4) {
        __m512 r[4]; /* r[i]: in each quarter q, four columns of row 4 * q + i */
        for (int i = 0; i < 4; ++i) {
            const float *at = from + (i * from_step + c);
            r[i] = _mm512_castps128_ps512(_mm_loadu_ps(at));
            r[i] = _mm512_mask_broadcast_f32x4(r[i], 0x00f0, _mm_loadu_ps(at + 4 * from_step));
            r[i] = _mm512_mask_broadcast_f32x4(r[i], 0x0f00, _mm_loadu_ps(at + 8 * from_step));
            r[i] = _mm512_mask_broadcast_f32x4(r[i], 0xf000, _mm_loadu_ps(at + 12 * from_step));
        }
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
        const __m512d x = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
        const __m512d y = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
        _mm512_storeu_ps(to + c * to_step, _mm512_castpd_ps(_mm512_unpacklo_pd(a, x)));
        _mm512_storeu_ps(to + (c + 1) * to_step, _mm512_castpd_ps(_mm512_unpackhi_pd(a, x)));
        _mm512_storeu_ps(to + (c + 2) * to_step, _mm512_castpd_ps(_mm512_unpacklo_pd(b, y)));
        _mm512_storeu_ps(to + (c + 3) * to_step, _mm512_castpd_ps(_mm512_unpackhi_pd(b, y)));
    }
}
#elif defined(TC_ISA_AVX2)
enum { TC_TRANSPOSE_SIDE = 8 };

/* The same: halves of vectors come from memory to where they belong. */
static TC_INLINE void tc_transpose_block(float *to, tc_index to_step, const float *from, tc_index from_step)
{
    for (int c = 0; c < 8; c += 4) {
        __m256 r[4]; /* r[i]: in each half h, four columns of row 4 * h + i */
        for (int i = 0; i < 4; ++i) {
            const float *at = from + (i * from_step + c);
            r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at)), _mm_loadu_ps(at + 4 * from_step), 1);
        }
        const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1]));
        const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1]));
        const __m256d x = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
        const __m256d y = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
        _mm256_storeu_ps(to + c * to_step, _mm256_castpd_ps(_mm256_unpacklo_pd(a, x)));
        _mm256_storeu_ps(to + (c + 1) * to_step, _mm256_castpd_ps(_mm256_unpackhi_pd(a, x)));
        _mm256_storeu_ps(to + (c + 2) * to_step, _mm256_castpd_ps(_mm256_unpacklo_pd(b, y)));
        _mm256_storeu_ps(to + (c + 3) * to_step, _mm256_castpd_ps(_mm256_unpackhi_pd(b, y)));
    }
}
#elif defined(TC_ISA_X86_64)
enum { TC_TRANSPOSE_SIDE = 4 };

static TC_INLINE void tc_transpose_block(float *to, tc_index to_step, const float *from, tc_index from_step)
{
    const __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_step), c = _mm_loadu_ps(from + 2 * from_step);
    const __m128 d = _mm_loadu_ps(from + 3 * from_step);
    const __m128 ab = _mm_unpacklo_ps(a, b), cd = _mm_unpacklo_ps(c, d);
    const __m128 high_ab = _mm_unpackhi_ps(a, b), high_cd = _mm_unpackhi_ps(c, d);
    _mm_storeu_ps(to, _mm_movelh_ps(ab, cd));
    _mm_storeu_ps(to + to_step, _mm_movehl_ps(cd, ab));
    _mm_storeu_ps(to + 2 * to_step, _mm_movelh_ps(high_ab, high_cd));
    _mm_storeu_ps(to + 3 * to_step, _mm_movehl_ps(high_cd, high_ab));
}
#elif defined(TC_ISA_NEON)
enum { TC_TRANSPOSE_SIDE = 4 };

static TC_INLINE void tc_transpose_block(float *to, tc_index to_step, const float *from, tc_index from_step)
{
    const float32x4x2_t ab = vtrnq_f32(vld1q_f32(from), vld1q_f32(from + from_step));
    const float32x4x2_t cd = vtrnq_f32(vld1q_f32(from + 2 * from_step), vld1q_f32(from + 3 * from_step));
    vst1q_f32(to, vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0])));
    vst1q_f32(to + to_step, vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1])));
    vst1q_f32(to + 2 * to_step, vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0])));
    vst1q_f32(to + 3 * to_step, vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1])));
}
#else
enum { TC_TRANSPOSE_SIDE = 1 };

static TC_INLINE void tc_transpose_block(float *to, tc_index to_step, const float *from, tc_index from_step)
{
    (void)to_step, (void)from_step;
    *to = *from;
}
#endif

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

#endif
