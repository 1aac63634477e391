/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices copied to where their columns are rows: to[j * to_step + i] = from[i * from_step + j] for i below `rows`
 * and j below `columns`. They move by blocks of a line of the caches each way: 16 x 16 elements of 4 bytes, 32 x 32 of
 * 2, 64 x 64 of 1, 8 x 8 of 8. A block's lines are read whole and written whole, whatever the steps: where steps are
 * powers of two, the lines of a block fall into few sets of a cache and do not stay there.
 *
 * The last block of a row or column begins earlier and does again what another one did. Nothing but the matrix is read
 * and nothing but its elements is written.
 */
#ifndef TC_TURN_H
#define TC_TURN_H

#include <string.h>

#include "tc_transpose.h"

#define TC_LINE 64 /* bytes */

/* One line from a buffer to where it goes, past the caches where `far` says so; it is aligned then. */
static TC_INLINE void tc_put_line(void *to, const void *from, int far)
{
#if defined(TC_ISA_AVX512)
    const __m512i x = _mm512_loadu_si512(from);
    if (far)
        _mm512_stream_si512((__m512i *)to, x);
    else
        _mm512_storeu_si512(to, x);
#elif defined(TC_ISA_AVX2)
    const __m256i x = _mm256_loadu_si256((const __m256i *)from), y = _mm256_loadu_si256((const __m256i *)from + 1);
    if (far) {
        _mm256_stream_si256((__m256i *)to, x);
        _mm256_stream_si256((__m256i *)to + 1, y);
    } else {
        _mm256_storeu_si256((__m256i *)to, x);
        _mm256_storeu_si256((__m256i *)to + 1, y);
    }
#else
    (void)far;
    memcpy(to, from, TC_LINE);
#endif
}

/* -- 16 x 16 elements in a buffer of `to_step` elements a row ------------------------------------------------------ */
static TC_INLINE void tc_turn_part_4(uint32_t *to, tc_index to_step, const uint32_t *from, tc_index from_step)
{
    tc_transpose_f32((float *)(void *)to, to_step, (const float *)(const void *)from, from_step, 16);
}

static TC_INLINE void tc_turn_part_2(uint16_t *to, tc_index to_step, const uint16_t *from, tc_index from_step)
{
    tc_transpose_u16(to, to_step, from, from_step, 16);
}

static TC_INLINE void tc_turn_part_1(uint8_t *to, tc_index to_step, const uint8_t *from, tc_index from_step)
{
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2) || defined(TC_ISA_X86_64)
    __m128i x[16], y[16];
    for (int i = 0; i < 16; ++i) /* a row goes where the halves of its pairs meet */
        x[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * from_step));
#define TC_ZIP(out, in, low, high)                                                                                     \
    for (int i = 0; i < 8; ++i) {                                                                                      \
        out[2 * i] = low(in[i], in[i + 8]);                                                                            \
        out[2 * i + 1] = high(in[i], in[i + 8]);                                                                       \
    }
    TC_ZIP(y, x, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
    TC_ZIP(x, y, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
    TC_ZIP(y, x, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
    TC_ZIP(x, y, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
    for (int j = 0; j < 16; ++j)
        _mm_storeu_si128((__m128i *)(void *)(to + j * to_step), x[j]);
#elif defined(TC_ISA_NEON)
    uint8x16_t x[16], y[16];
    for (int i = 0; i < 16; ++i)
        x[i] = vld1q_u8(from + i * from_step);
#define TC_ZIP(out, in)                                                                                                \
    for (int i = 0; i < 8; ++i) {                                                                                      \
        const uint8x16x2_t both = vzipq_u8(in[i], in[i + 8]);                                                          \
        out[2 * i] = both.val[0];                                                                                      \
        out[2 * i + 1] = both.val[1];                                                                                  \
    }
    TC_ZIP(y, x)
    TC_ZIP(x, y)
    TC_ZIP(y, x)
    TC_ZIP(x, y)
    for (int j = 0; j < 16; ++j)
        vst1q_u8(to + j * to_step, x[j]);
#else
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j)
            to[j * to_step + i] = from[i * from_step + j];
#endif
#undef TC_ZIP
}

static TC_INLINE void tc_turn_part_8(uint64_t *to, tc_index to_step, const uint64_t *from, tc_index from_step)
{
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 8; ++i)
            to[j * to_step + i] = from[i * from_step + j];
}

/* -- a block of whole lines ---------------------------------------------------------------------------------------- */
#define TC_TURN_BLOCK(size, type, part)                                                                                \
    static TC_INLINE void tc_turn_block_##size(type *to, tc_index to_step, const type *from, tc_index from_step,       \
                                               int far)                                                                \
    {                                                                                                                  \
        enum { SIDE = TC_LINE / size };                                                                                \
        _Alignas(TC_LINE) type turned[SIDE * SIDE];                                                                    \
        for (int i = 0; i < SIDE; i += part)                                                                           \
            for (int j = 0; j < SIDE; j += part)                                                                       \
                tc_turn_part_##size(turned + j * SIDE + i, SIDE, from + i * from_step + j, from_step);                 \
        for (int j = 0; j < SIDE; ++j)                                                                                 \
            tc_put_line(to + j * to_step, turned + j * SIDE, far);                                                     \
    }
TC_TURN_BLOCK(1, uint8_t, 16)
TC_TURN_BLOCK(2, uint16_t, 16)
TC_TURN_BLOCK(8, uint64_t, 8)
#if !defined(TC_ISA_AVX512)
TC_TURN_BLOCK(4, uint32_t, 16)
#else
static TC_INLINE void tc_turn_block_4(uint32_t *to, tc_index to_step, const uint32_t *from, tc_index from_step, int far)
{
    __m512i x[16], y[16];
    for (int i = 0; i < 16; ++i)
        x[i] = _mm512_loadu_si512(from + i * from_step);
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) /* x[i + c] has, in quarter q, column 4 * q + c of rows i to i + 3 */
        for (int c = 0; c < 2; ++c) {
            x[i + 2 * c] = _mm512_unpacklo_epi64(y[i + c], y[i + 2 + c]);
            x[i + 2 * c + 1] = _mm512_unpackhi_epi64(y[i + c], y[i + 2 + c]);
        }
    for (int c = 0; c < 4; ++c) {
        const __m512i a = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x88), b = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xdd);
        const __m512i p = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x88);
        const __m512i q = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xdd);
        y[c] = _mm512_shuffle_i32x4(a, p, 0x88);
        y[4 + c] = _mm512_shuffle_i32x4(b, q, 0x88);
        y[8 + c] = _mm512_shuffle_i32x4(a, p, 0xdd);
        y[12 + c] = _mm512_shuffle_i32x4(b, q, 0xdd);
    }
    for (int j = 0; j < 16; ++j)
        if (far)
            _mm512_stream_si512((__m512i *)(void *)(to + j * to_step), y[j]);
        else
            _mm512_storeu_si512(to + j * to_step, y[j]);
}
#endif

/* -- matrices ------------------------------------------------------------------------------------------------------ */
/* BLOCK(to, to_step, from, from_step) of side x side elements over a matrix that has so many rows and columns. */
#define TC_TURN_BY(side, block, ...)                                                                                   \
    for (tc_index left = columns, j = 0; left > 0; left -= side, j += side) {                                          \
        j = tc_min(j, columns - side);                                                                                 \
        for (tc_index rest = rows, i = 0; rest > 0; rest -= side, i += side) {                                         \
            i = tc_min(i, rows - side);                                                                                \
            block(to + j * to_step + i, to_step, from + i * from_step + j, from_step __VA_ARGS__);                     \
        }                                                                                                              \
    }
#define TC_COMMA ,

/* far: `rows` are whole lines, aligned in `to`, and pass the caches by; tcv_stream_end() comes behind. */
#define TC_TURN(size, type, part)                                                                                      \
    static TC_INLINE void tc_turn_##size(void *put, tc_index to_step, const void *get, tc_index from_step,             \
                                         tc_index rows, tc_index columns, int far)                                     \
    {                                                                                                                  \
        type *const to = put;                                                                                          \
        const type *const from = get;                                                                                  \
        if (rows < part || columns < part) {                                                                           \
            for (tc_index j = 0; j < columns; ++j)                                                                     \
                for (tc_index i = 0; i < rows; ++i)                                                                    \
                    to[j * to_step + i] = from[i * from_step + j];                                                     \
        } else if (rows < TC_LINE / size || columns < TC_LINE / size) {                                                \
            TC_TURN_BY(part, tc_turn_part_##size, )                                                                    \
        } else if (far) {                                                                                              \
            TC_TURN_BY(TC_LINE / size, tc_turn_block_##size, TC_COMMA 1)                                               \
        } else {                                                                                                       \
            TC_TURN_BY(TC_LINE / size, tc_turn_block_##size, TC_COMMA 0)                                               \
        }                                                                                                              \
    }
TC_TURN(1, uint8_t, 16)
TC_TURN(2, uint16_t, 16)
TC_TURN(4, uint32_t, 16)
TC_TURN(8, uint64_t, 8)

#endif
