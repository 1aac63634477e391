/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of bytes that a contraction copies, and the sums of their bytes, for tc_tile.h. */
#ifndef TC_BYTE_ROWS_H
#define TC_BYTE_ROWS_H

/* Copies bytes that do not overlap: runs of a window are short, so pieces of a known size that may overlap do it. */
static inline void tct_copy_bytes(void *to, const void *from, tc_index count)
{
    char *y = (char *)to;
    const char *x = (const char *)from;
#if defined(TC_ISA_AVX512)
    if (count >= 64) {
        for (tc_index k = 0; k < count - 64; k += 64)
            _mm512_storeu_si512(y + k, _mm512_loadu_si512(x + k));
        _mm512_storeu_si512(y + count - 64, _mm512_loadu_si512(x + count - 64));
        return;
    }
#endif
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2)
    if (count >= 32) {
        for (tc_index k = 0; k < count - 32; k += 32)
            __builtin_memcpy(y + k, x + k, 32);
        __builtin_memcpy(y + count - 32, x + count - 32, 32);
        return;
    }
#endif
    if (count >= 16) {
        for (tc_index k = 0; k < count - 16; k += 16)
            __builtin_memcpy(y + k, x + k, 16);
        __builtin_memcpy(y + count - 16, x + count - 16, 16);
    } else if (count >= 8) {
        __builtin_memcpy(y, x, 8);
        __builtin_memcpy(y + count - 8, x + count - 8, 8);
    } else if (count >= 4) {
        __builtin_memcpy(y, x, 4);
        __builtin_memcpy(y + count - 4, x + count - 4, 4);
    } else {
        for (tc_index k = 0; k < count; ++k)
            y[k] = x[k];
    }
}

#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2)
static inline __m256i tct_wide(__m128i bytes, int sign)
{
    return sign ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}
#endif

/* The same of bytes that become 16 bits; sign: they are signed. */
static inline void tct_widen_bytes(int16_t *y, const void *from, tc_index count, int sign)
{
    const uint8_t *x = (const uint8_t *)from;
#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2)
    if (count >= 16) {
        for (tc_index k = 0; k < count - 16; k += 16)
            _mm256_storeu_si256((__m256i *)(y + k), tct_wide(_mm_loadu_si128((const __m128i *)(x + k)), sign));
        x += count - 16, y += count - 16;
        _mm256_storeu_si256((__m256i *)y, tct_wide(_mm_loadu_si128((const __m128i *)x), sign));
        return;
    }
    if (count >= 8) {
        const __m256i first = tct_wide(_mm_loadl_epi64((const __m128i *)x), sign);
        const __m256i last = tct_wide(_mm_loadl_epi64((const __m128i *)(x + count - 8)), sign);
        _mm_storeu_si128((__m128i *)y, _mm256_castsi256_si128(first));
        _mm_storeu_si128((__m128i *)(y + count - 8), _mm256_castsi256_si128(last));
        return;
    }
#endif
    for (tc_index k = 0; k < count; ++k)
        y[k] = (int16_t)(sign ? (int8_t)x[k] : x[k]);
}

#if defined(TC_ISA_AVX512) || defined(TC_ISA_AVX2)
static inline __m128i tct_nine(const uint8_t *x)
{
    return _mm_insert_epi8(_mm_loadl_epi64((const __m128i *)x), x[8], 8);
}
/* Three runs of nine bytes, `step` apart, and zeros behind them: a window of 3 x 3 with three channels. They are put together
   before they are stored, as loads of what several stores wrote would wait for all of them. */
struct tct_nines {
    __m128i first, second;
};
static inline struct tct_nines tct_load_nines(const void *from, tc_index step)
{
    const uint8_t *const x = (const uint8_t *)from;
    const __m128i a = tct_nine(x), b = tct_nine(x + step), c = tct_nine(x + 2 * step);
    return (struct tct_nines){_mm_or_si128(a, _mm_slli_si128(b, 9)),
                              _mm_or_si128(_mm_srli_si128(b, 7), _mm_slli_si128(c, 2))};
}
static inline void tct_copy_nines(void *to, const void *from, tc_index step)
{
    const struct tct_nines x = tct_load_nines(from, step);
    _mm_storeu_si128((__m128i *)to, x.first);
    _mm_storeu_si128((__m128i *)to + 1, x.second);
}
static inline void tct_widen_nines(int16_t *y, const void *from, tc_index step, int sign)
{
    const struct tct_nines x = tct_load_nines(from, step);
    _mm256_storeu_si256((__m256i *)y, tct_wide(x.first, sign));
    _mm256_storeu_si256((__m256i *)(y + 16), tct_wide(x.second, sign));
}
#endif

#if defined(TC_ISA_AVX512)
static inline int32_t tct_total(__m512i sums)
{
    const __m256i half = _mm256_add_epi64(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
    const __m128i quarter = _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return _mm_cvtsi128_si32(quarter) + _mm_cvtsi128_si32(_mm_srli_si128(quarter, 8));
}
#endif

/* The sum of bytes, which are signed where `flip` is 0x80: what is added to them to make them unsigned. Of copied rows: up to
   15 bytes behind them are read, too. */
static inline int32_t tct_sum_bytes(const uint8_t *p, tc_index count, uint8_t flip)
{
#if defined(TC_ISA_AVX512)
    const __m512i flips = _mm512_set1_epi8((char)flip), zero = _mm512_setzero_si512();
    __m512i sums = zero;
    for (tc_index k = 0; k < count; k += 64) {
        const __mmask64 there = count - k < 64 ? ((__mmask64)1 << (count - k)) - 1 : ~(__mmask64)0;
        const __m512i part = _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, p + k), flips);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(_mm512_maskz_mov_epi8(there, part), zero));
    }
    return tct_total(sums) - (int32_t)count * flip;
#else
    int32_t sum = -(int32_t)count * flip;
    tc_index k = 0;
#if defined(TC_ISA_X86_64) || defined(TC_ISA_AVX2)
    __m128i sums = _mm_setzero_si128();
#if defined(TC_ISA_AVX2)
    if (count >= 64) {
        __m256i wide = _mm256_setzero_si256();
        for (; k + 32 <= count; k += 32) {
            const __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(p + k)), _mm256_set1_epi8((char)flip));
            wide = _mm256_add_epi64(wide, _mm256_sad_epu8(x, _mm256_setzero_si256()));
        }
        sums = _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    }
#endif
    for (; k + 16 <= count; k += 16) {
        const __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(p + k)), _mm_set1_epi8((char)flip));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(x, _mm_setzero_si128()));
    }
    if (k < count) {
        static const uint8_t there[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
        const __m128i mask = _mm_loadu_si128((const __m128i *)(there + 16 - (count - k)));
        const __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(p + k)), _mm_set1_epi8((char)flip));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_and_si128(x, mask), _mm_setzero_si128()));
        k = count;
    }
    sum += _mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
#endif
#if defined(TC_ISA_NEON)
    uint32x4_t sums = vdupq_n_u32(0);
    for (; k + 16 <= count; k += 16)
        sums = vpadalq_u16(sums, vpaddlq_u8(veorq_u8(vld1q_u8(p + k), vdupq_n_u8(flip))));
    sum += (int32_t)vaddvq_u32(sums);
#endif
    for (; k < count; ++k)
        sum += p[k] ^ flip;
    return sum;
#endif
}

/* A row that is copied run by run, each to where the one before ended, and the sum of its bytes. With AVX-512 a run is stored
   in whole vectors, whose ends the next run overwrites: 64 bytes behind the row are scratch. */
#if defined(TC_ISA_AVX512)
typedef __m512i tct_sums;
static inline tct_sums tct_no_sums(void)
{
    return _mm512_setzero_si512();
}
/* Few bytes go in one vector that is not much longer than they are: a longer one reaches into the next line. */
static inline tct_sums tct_copy_few(void *to, const void *from, tc_index count, uint8_t flip, tct_sums sums)
{
    const __mmask32 there = (__mmask32)(((uint64_t)1 << count) - 1);
    const __m256i flips = _mm256_maskz_set1_epi8(there, (char)flip);
    __m256i part;
    if (count <= 16) {
        const __m128i half = _mm_maskz_loadu_epi8((__mmask16)there, from);
        _mm_storeu_si128((__m128i *)to, half);
        part = _mm256_zextsi128_si256(half);
    } else {
        part = _mm256_maskz_loadu_epi8(there, from);
        _mm256_storeu_si256((__m256i *)to, part);
    }
    part = _mm256_sad_epu8(_mm256_xor_si256(part, flips), _mm256_setzero_si256());
    return _mm512_add_epi64(sums, _mm512_zextsi256_si512(part));
}
static inline tct_sums tct_copy_summed(void *to, const void *from, tc_index count, uint8_t flip, tct_sums sums)
{
    const __m512i flips = _mm512_set1_epi8((char)flip), zero = _mm512_setzero_si512();
    char *y = (char *)to;
    const char *x = (const char *)from;
    tc_index k = 0;
    for (; k + 64 <= count; k += 64) {
        const __m512i part = _mm512_loadu_si512(x + k);
        _mm512_storeu_si512(y + k, part);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(_mm512_xor_si512(part, flips), zero));
    }
    if (count - k > 32) {
        const __mmask64 rest = ((__mmask64)1 << (count - k)) - 1;
        const __m512i part = _mm512_maskz_loadu_epi8(rest, x + k);
        _mm512_storeu_si512(y + k, part);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(_mm512_maskz_mov_epi8(rest, _mm512_xor_si512(part, flips)), zero));
    } else if (k < count) {
        sums = tct_copy_few(y + k, x + k, count - k, flip, sums);
    }
    return sums;
}
/* The first `count` of 64. */
static inline __mmask64 tct_first(tc_index count)
{
    return count >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << tc_max(count, 0)) - 1;
}
/* The same where bytes before `low` and from `high` on are `fill`, and are not there to be read. */
static inline tct_sums tct_copy_between(void *to, const void *from, tc_index count, tc_index low, tc_index high, int fill,
                                        uint8_t flip, tct_sums sums)
{
    const __m512i flips = _mm512_set1_epi8((char)flip), fills = _mm512_set1_epi8((char)fill);
    char *y = (char *)to;
    const char *x = (const char *)from;
    for (tc_index k = 0; k < count; k += 64) {
        const __mmask64 there = tct_first(count - k), read = tct_first(high - k) & ~tct_first(low - k);
        const __m512i part = _mm512_mask_loadu_epi8(fills, read, x + k);
        _mm512_storeu_si512(y + k, part);
        const __m512i some = _mm512_maskz_mov_epi8(there, _mm512_xor_si512(part, flips));
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(some, _mm512_setzero_si512()));
    }
    return sums;
}
/* Of the row, which has `count` bytes in all. */
static inline int32_t tct_summed(tct_sums sums, const uint8_t *row, tc_index count, uint8_t flip)
{
    (void)row;
    return tct_total(sums) - (int32_t)count * flip;
}
#else
typedef int tct_sums;
static inline tct_sums tct_no_sums(void)
{
    return 0;
}
static inline tct_sums tct_copy_summed(void *to, const void *from, tc_index count, uint8_t flip, tct_sums sums)
{
    (void)flip;
    tct_copy_bytes(to, from, count);
    return sums;
}
static inline tct_sums tct_copy_between(void *to, const void *from, tc_index count, tc_index low, tc_index high, int fill,
                                        uint8_t flip, tct_sums sums)
{
    (void)flip;
    int8_t *const y = (int8_t *)to;
    for (tc_index k = 0; k < low; ++k)
        y[k] = (int8_t)fill;
    tct_copy_bytes(y + low, (const int8_t *)from + low, high - low);
    for (tc_index k = high; k < count; ++k)
        y[k] = (int8_t)fill;
    return sums;
}
static inline int32_t tct_summed(tct_sums sums, const uint8_t *row, tc_index count, uint8_t flip)
{
    (void)sums;
    return tct_sum_bytes(row, count, flip);
}
#endif

#endif
