/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of short integers that are summed in i32, for tc_tile.h. A word of 32 bits holds a group of terms of one row or
 * of one column: four of 8 bits or two of 16. Sums wrap, so terms may be added in any order; no step saturates.
 *
 * x86-64 without VNNI multiplies pairs of 16 bits. There a word of four bytes is multiplied in two halves: tct_load0_P
 * gives terms 0 and 2 of each column as 16 bits, tct_load1_P terms 1 and 3, and tct_arrange_P makes two such words of each
 * word of a row (emit/product_forms.py says where).
 */
#ifndef TC_TILE_INTEGERS_H
#define TC_TILE_INTEGERS_H

typedef uint32_t __attribute__((may_alias)) tc_word;

#define TCT_LOW_I8(w, i) ((int32_t)(int8_t)((w) >> 8 * (i)))
#define TCT_LOW_U8(w, i) ((int32_t)(uint8_t)((w) >> 8 * (i)))
#define TCT_LOW_I16(w, i) ((int32_t)(int16_t)((w) >> 16 * (i)))

#if defined(TC_ISA_SCALAR)

/* -- one column after the other ---------------------------------------------------------------------------------------- */
#define TCT_PRODUCT(P, A, B)                                                                                           \
    typedef tc_word tct_a_##P, tct_b_##P;                                                                              \
    static inline tc_word tct_splat_##P(const tc_word *p)                                                              \
    {                                                                                                                  \
        return *p;                                                                                                     \
    }                                                                                                                  \
    static inline tc_word tct_load_##P(const tc_word *p)                                                               \
    {                                                                                                                  \
        return *p;                                                                                                     \
    }                                                                                                                  \
    static inline int32_t tct_fma_##P(tc_word a, tc_word b, int32_t c)                                                 \
    {                                                                                                                  \
        return c + A(a, 0) * B(b, 0) + A(a, 1) * B(b, 1) + A(a, 2) * B(b, 2) + A(a, 3) * B(b, 3);                      \
    }
TCT_PRODUCT(i8xi8, TCT_LOW_I8, TCT_LOW_I8)
TCT_PRODUCT(i8xu8, TCT_LOW_I8, TCT_LOW_U8)
TCT_PRODUCT(u8xi8, TCT_LOW_U8, TCT_LOW_I8)
TCT_PRODUCT(u8xu8, TCT_LOW_U8, TCT_LOW_U8)
#undef TCT_PRODUCT

typedef tc_word tct_a_i16xi16, tct_b_i16xi16;
static inline tc_word tct_splat_i16xi16(const tc_word *p)
{
    return *p;
}
static inline tc_word tct_load_i16xi16(const tc_word *p)
{
    return *p;
}
static inline int32_t tct_fma_i16xi16(tc_word a, tc_word b, int32_t c)
{
    const int32_t first = TCT_LOW_I16(a, 0) * TCT_LOW_I16(b, 0), second = TCT_LOW_I16(a, 1) * TCT_LOW_I16(b, 1);
    return tc_add_i32(c, tc_add_i32(first, second));
}

#else

typedef tct_i32 tct_a_i8xi8, tct_b_i8xi8, tct_a_i8xu8, tct_b_i8xu8, tct_a_u8xi8, tct_b_u8xi8, tct_a_u8xu8, tct_b_u8xu8,
    tct_a_i16xi16, tct_b_i16xi16;
static inline tct_i32 tct_word_splat(const tc_word *p)
{
    return tcq_splat_i32((int32_t)*p);
}
static inline tct_i32 tct_word_load(const tc_word *p)
{
    return tcq_load_i32((const int32_t *)p);
}
#define tct_splat_i8xi8 tct_word_splat
#define tct_splat_i8xu8 tct_word_splat
#define tct_splat_u8xi8 tct_word_splat
#define tct_splat_u8xu8 tct_word_splat
#define tct_splat_i16xi16 tct_word_splat
#define tct_load_i16xi16 tct_word_load

#if defined(TC_ISA_NEON)

/* -- AArch64 ----------------------------------------------------------------------------------------------------------- */
#define tct_load_i8xi8 tct_word_load
#define tct_load_u8xu8 tct_word_load

#if defined(__ARM_FEATURE_DOTPROD)
static inline tct_i32 tct_fma_i8xi8(tct_i32 a, tct_i32 b, tct_i32 c)
{
    return vdotq_s32(c, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
}
static inline tct_i32 tct_fma_u8xu8(tct_i32 a, tct_i32 b, tct_i32 c)
{
    const uint32x4_t sum = vreinterpretq_u32_s32(c);
    return vreinterpretq_s32_u32(vdotq_u32(sum, vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)));
}
#else
static inline tct_i32 tct_fma_i8xi8(tct_i32 a, tct_i32 b, tct_i32 c)
{
    const int8x16_t x = vreinterpretq_s8_s32(a), y = vreinterpretq_s8_s32(b);
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(y)), high = vmull_high_s8(x, y);
    return vaddq_s32(c, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
}
static inline tct_i32 tct_fma_u8xu8(tct_i32 a, tct_i32 b, tct_i32 c)
{
    const uint8x16_t x = vreinterpretq_u8_s32(a), y = vreinterpretq_u8_s32(b);
    const uint16x8_t low = vmull_u8(vget_low_u8(x), vget_low_u8(y)), high = vmull_high_u8(x, y);
    return vaddq_s32(c, vreinterpretq_s32_u32(vpaddq_u32(vpaddlq_u16(low), vpaddlq_u16(high))));
}
#endif
static inline tct_i32 tct_fma_i16xi16(tct_i32 a, tct_i32 b, tct_i32 c)
{
    const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
    return vaddq_s32(c, vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
}

#else

/* -- x86-64 ------------------------------------------------------------------------------------------------------------ */
#if defined(TC_ISA_AVX512)
#define TCT_X86(name) _mm512_##name
#define TCT_AND _mm512_and_si512
#elif defined(TC_ISA_AVX2)
#define TCT_X86(name) _mm256_##name
#define TCT_AND _mm256_and_si256
#else
#define TCT_X86(name) _mm_##name
#define TCT_AND _mm_and_si128
#endif

/* Sums of two products of 16 bits are less than 2^32, and wrap as i32 do. */
#if defined(TC_ISA_AVX512) && defined(__AVX512VNNI__)
#define TCT_PAIRS(a, b, c) _mm512_dpwssd_epi32(c, a, b)
#define TCT_FOUR(u, i, c) _mm512_dpbusd_epi32(c, u, i)
#elif defined(TC_ISA_AVX2) && defined(__AVXVNNI__)
#define TCT_PAIRS(a, b, c) _mm256_dpwssd_avx_epi32(c, a, b)
#define TCT_FOUR(u, i, c) _mm256_dpbusd_avx_epi32(c, u, i)
#else
#define TCT_PAIRS(a, b, c) TCT_X86(add_epi32)(c, TCT_X86(madd_epi16)(a, b))
#endif
/* The sum is finished here: the compiler would add products of several terms to one another first, and needs a register
   for each. */
static inline tct_i32 tct_fma_i16xi16(tct_i32 a, tct_i32 b, tct_i32 c)
{
    tct_i32 sum = TCT_PAIRS(a, b, c);
    __asm__("" : "+x"(sum));
    return sum;
}

#if defined(TCT_FOUR)

#define tct_load_i8xu8 tct_word_load
#define tct_load_u8xi8 tct_word_load
static inline tct_i32 tct_fma_i8xu8(tct_i32 a, tct_i32 b, tct_i32 c)
{
    return TCT_FOUR(b, a, c);
}
static inline tct_i32 tct_fma_u8xi8(tct_i32 a, tct_i32 b, tct_i32 c)
{
    return TCT_FOUR(a, b, c);
}

#else

static inline tct_i32 tct_load0_i8xu8(const tc_word *p)
{
    return TCT_AND(tct_word_load(p), TCT_X86(set1_epi16)(0xff));
}
static inline tct_i32 tct_load1_i8xu8(const tc_word *p)
{
    return TCT_X86(srli_epi16)(tct_word_load(p), 8);
}
static inline tct_i32 tct_load0_u8xi8(const tc_word *p)
{
    return TCT_X86(srai_epi16)(TCT_X86(slli_epi16)(tct_word_load(p), 8), 8);
}
static inline tct_i32 tct_load1_u8xi8(const tc_word *p)
{
    return TCT_X86(srai_epi16)(tct_word_load(p), 8);
}
#define tct_fma_i8xu8 tct_fma_i16xi16
#define tct_fma_u8xi8 tct_fma_i16xi16

/* Words p[0..count-1] to p[0..2*count-1], the last ones first: none is overwritten before it is read. */
#if defined(TC_ISA_AVX2) || defined(TC_ISA_AVX512)
#define TCT_ARRANGE(P, WIDEN)                                                                                          \
    static inline void tct_arrange_##P(tc_word *p, tc_index count)                                                     \
    {                                                                                                                  \
        const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);                     \
        tc_index i = count;                                                                                            \
        for (; i % 4 != 0; --i) {                                                                                      \
            const __m128i x = _mm_shuffle_epi8(_mm_cvtsi32_si128((int)p[i - 1]), order);                               \
            _mm_storel_epi64((__m128i *)(p + 2 * (i - 1)), _mm_##WIDEN(x));                                            \
        }                                                                                                              \
        for (; i > 0; i -= 4) {                                                                                        \
            const __m128i x = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + i - 4)), order);                  \
            _mm256_storeu_si256((__m256i *)(p + 2 * i - 8), _mm256_##WIDEN(x));                                        \
        }                                                                                                              \
    }
TCT_ARRANGE(i8xu8, cvtepi8_epi16)
TCT_ARRANGE(u8xi8, cvtepu8_epi16)
#else
#define TCT_ARRANGE(P, EVEN, ODD)                                                                                      \
    static inline void tct_arrange_##P(tc_word *p, tc_index count)                                                     \
    {                                                                                                                  \
        tc_index i = count;                                                                                            \
        for (; i % 4 != 0; --i) {                                                                                      \
            const __m128i x = _mm_cvtsi32_si128((int)p[i - 1]), two = _mm_unpacklo_epi32(EVEN, ODD);                   \
            _mm_storel_epi64((__m128i *)(p + 2 * (i - 1)), two);                                                       \
        }                                                                                                              \
        for (; i > 0; i -= 4) {                                                                                        \
            const __m128i x = _mm_loadu_si128((const __m128i *)(p + i - 4));                                           \
            _mm_storeu_si128((__m128i *)(p + 2 * i - 4), _mm_unpackhi_epi32(EVEN, ODD));                               \
            _mm_storeu_si128((__m128i *)(p + 2 * i - 8), _mm_unpacklo_epi32(EVEN, ODD));                               \
        }                                                                                                              \
    }
TCT_ARRANGE(i8xu8, _mm_srai_epi16(_mm_slli_epi16(x, 8), 8), _mm_srai_epi16(x, 8))
TCT_ARRANGE(u8xi8, _mm_and_si128(x, _mm_set1_epi16(0xff)), _mm_srli_epi16(x, 8))
#endif
#undef TCT_ARRANGE

#endif
#if defined(TC_ISA_AVX2) && !defined(TCT_FOUR)

/* -- words that are sorted by their kinds (loops/sorted_words.py) ------------------------------------------------------ */

typedef uint16_t __attribute__((may_alias)) tct_short;

/* The order that stands behind the words of a panel. */
struct tct_order {
    const int32_t *starts;
    const tc_word *counts;
    const tct_short *words;
    tc_index blocks, each; /* words of a block */
};

static inline struct tct_order tct_order_of(const tc_word *p, tc_index terms)
{
    struct tct_order o = {.starts = (const int32_t *)p, .counts = p + 16, .blocks = (terms + 127) / 128};
    const tc_index each = (terms + o.blocks - 1) / o.blocks;
    o.each = each + each % 2;
    o.words = (const tct_short *)(p + 16 + 4 * o.blocks);
    return o;
}

/* Signed weights of eight columns. */
static inline tct_i32 tct_sorted_i8(const tc_word *p)
{
    return tct_word_load(p);
}
static inline tct_i32 tct_sorted_u8(const tc_word *p)
{
    return _mm256_xor_si256(tct_word_load(p), _mm256_set1_epi8((char)0x80));
}
/* With the second of each pair negated. */
static inline tct_i32 tct_negated(tct_i32 x)
{
    const __m256i turned = _mm256_set1_epi16((short)0xff00);
    return _mm256_sub_epi8(_mm256_xor_si256(x, turned), turned);
}
static inline tct_i32 tct_even(tct_i32 x)
{
    return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8);
}
static inline tct_i32 tct_odd(tct_i32 x)
{
    return _mm256_srai_epi16(x, 8);
}
static inline tct_i32 tct_fma_sorted(tct_i32 a, tct_i32 b, tct_i32 c)
{
    return _mm256_add_epi32(c, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
}

/* The words p[0..count-1] of a row: unsigned, where `flip` turns their highest bits; then the same with the second byte of
   each pair subtracted from 255; then their even bytes and their odd ones as 16 bits. */
static inline void tct_arrange_sorted(tc_word *p, tc_index count, uint32_t flip)
{
    const tc_index whole = count / 8 * 8;
    for (tc_index i = 0; i < whole; i += 8) {
        const __m256i x = _mm256_xor_si256(tct_word_load(p + i), _mm256_set1_epi32((int)flip));
        _mm256_storeu_si256((__m256i *)(p + i), x);
        _mm256_storeu_si256((__m256i *)(p + count + i), _mm256_xor_si256(x, _mm256_set1_epi16((short)0xff00)));
        _mm256_storeu_si256((__m256i *)(p + 2 * count + i), _mm256_and_si256(x, _mm256_set1_epi16(0xff)));
        _mm256_storeu_si256((__m256i *)(p + 3 * count + i), _mm256_srli_epi16(x, 8));
    }
    for (tc_index i = whole; i < count; ++i) {
        const uint32_t x = p[i] ^ flip;
        p[i] = x, p[count + i] = x ^ 0xff00ff00u;
        p[2 * count + i] = x & 0xff00ffu, p[3 * count + i] = x >> 8 & 0xff00ffu;
    }
}
static inline void tct_arrange_sorted_i8(tc_word *p, tc_index count)
{
    tct_arrange_sorted(p, count, 0x80808080u);
}
static inline void tct_arrange_sorted_u8(tc_word *p, tc_index count)
{
    tct_arrange_sorted(p, count, 0);
}

#endif

#undef TCT_AND
#undef TCT_X86

#endif
#endif

/* -- tiles of AMX -----------------------------------------------------------------------------------------------------

   16 rows of 16 words of the rows, in the panels 16 terms (words) of 16 columns, and 16 x 16 sums. All eight are of that
   size, so that they are configured once a kernel. */
#if defined(__AMX_INT8__)
static inline void tct_tiles_begin(void)
{
    static const struct {
        uint8_t palette, start, none[14];
        uint16_t bytes[16]; /* of a row */
        uint8_t rows[16];
    } config = {.palette = 1,
                .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
}
static inline void tct_tiles_end(void)
{
    _tile_release();
}
#define tct_tiles_i8xu8 _tile_dpbsud
#define tct_tiles_u8xi8 _tile_dpbusd

/* What is left of a row of `terms` words behind whole tiles goes to the end of one more, behind zeros. */
static inline void tct_arrange_tiles(tc_word *p, tc_index terms)
{
    const tc_index left = terms % 16, before = 16 - left;
    if (left == 0)
        return;
    tc_word *const last = p + (terms - left);
    for (tc_index i = left - 1; i >= 0; --i)
        last[before + i] = last[i];
    for (tc_index i = 0; i < before; ++i)
        last[i] = 0;
}
#endif

/* -- rows -------------------------------------------------------------------------------------------------------------- */

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
   in whole vectors, whose ends the next run overwrites: 64 bytes behind the row are scratch, and zeros when it is done. */
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
static inline int32_t tct_summed(tct_sums sums, const uint8_t *row, tc_index count, uint8_t flip)
{
    (void)sums;
    return tct_sum_bytes(row, count, flip);
}
#endif

#if defined(TC_ISA_AVX512)

/* -- words of 64 columns ----------------------------------------------------------------------------------------------

   Four bytes of each column are a word. The words lie as unpacking leaves them: part q has columns 4 q to 4 q + 3 of each
   16, so that packing the sums brings the columns back in order. */
typedef struct {
    __m512i v[4];
} tct_words;

static inline tct_words tct_interleave(__m512i a, __m512i b, __m512i c, __m512i d)
{
    const __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    const __m512i low2 = _mm512_unpacklo_epi8(c, d), high2 = _mm512_unpackhi_epi8(c, d);
    return (tct_words){{_mm512_unpacklo_epi16(low, low2), _mm512_unpackhi_epi16(low, low2),
                        _mm512_unpacklo_epi16(high, high2), _mm512_unpackhi_epi16(high, high2)}};
}

/* Part q of the numbers of `count` columns, a multiple of 16; what is none is any number. */
static inline __m512i tct_spread(const int32_t *p, int q, tc_index count)
{
    const __m128i first = _mm_loadu_si128((const __m128i *)(p + 4 * q));
    __m512i x = _mm512_castsi128_si512(first);
    x = _mm512_inserti32x4(x, count > 16 ? _mm_loadu_si128((const __m128i *)(p + 4 * q + 16)) : first, 1);
    x = _mm512_inserti32x4(x, count > 32 ? _mm_loadu_si128((const __m128i *)(p + 4 * q + 32)) : first, 2);
    return _mm512_inserti32x4(x, count > 48 ? _mm_loadu_si128((const __m128i *)(p + 4 * q + 48)) : first, 3);
}

/* What half a register has, in both halves. */
static inline __m512i tct_twice(__m512i x)
{
    return _mm512_shuffle_i64x2(x, x, 0x44);
}

/* 32 bytes or less of one place and of another, each in a half of its own. */
static inline __m512i tct_load_halves(__mmask32 there, const void *low, const void *high)
{
    const __m512i x = _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(there, low));
    return _mm512_inserti64x4(x, _mm256_maskz_loadu_epi8(there, high), 1);
}

#define TCT_STORE_WORDS(T, PACK)                                                                                       \
    static inline __m512i tct_pack_words_##T(__m512i x0, __m512i x1, __m512i x2, __m512i x3, int zero)                 \
    {                                                                                                                  \
        const __m512i more = _mm512_set1_epi16((short)zero);                                                           \
        const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(x0, x1), more);                                     \
        return PACK(first, _mm512_adds_epi16(_mm512_packs_epi32(x2, x3), more));                                       \
    }                                                                                                                  \
    static inline void tct_store_words_##T(void *p, __m512i bytes, tc_index count)                                     \
    {                                                                                                                  \
        if (count >= 64) {                                                                                             \
            _mm512_storeu_si512(p, bytes);                                                                             \
            return;                                                                                                    \
        }                                                                                                              \
        _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(bytes));                                                 \
        if (count > 16)                                                                                                \
            _mm_storeu_si128((__m128i *)p + 1, _mm512_extracti32x4_epi32(bytes, 1));                                   \
        if (count > 32)                                                                                                \
            _mm_storeu_si128((__m128i *)p + 2, _mm512_extracti32x4_epi32(bytes, 2));                                   \
    }
TCT_STORE_WORDS(i8, _mm512_packs_epi16)
TCT_STORE_WORDS(u8, _mm512_packus_epi16)
#undef TCT_STORE_WORDS

#elif defined(TC_ISA_AVX2)

/* -- pairs of 16 channels ----------------------------------------------------------------------------------------------

   Two numbers of 16 bits of each channel, or a sum. They lie as unpacking leaves them: `low` has channels 0 to 3 and 8 to
   11, so that packing the sums brings the channels back in order. */
typedef struct {
    __m256i low, high;
} tct_pair_of;

static inline tct_pair_of tct_pairs(__m256i a, __m256i b)
{
    return (tct_pair_of){_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)};
}
static inline __m256i tct_widen_i8(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p));
}
static inline __m256i tct_widen_u8(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
}
static inline tct_pair_of tct_spread_pairs(const int32_t *p)
{
    const __m256i first = _mm256_loadu_si256((const __m256i *)p), second = _mm256_loadu_si256((const __m256i *)(p + 8));
    return (tct_pair_of){_mm256_permute2x128_si256(first, second, 0x20), _mm256_permute2x128_si256(first, second, 0x31)};
}
static inline tct_pair_of tct_fma_pairs(tct_pair_of a, tct_pair_of b, tct_pair_of c)
{
    return (tct_pair_of){tct_fma_i16xi16(a.low, b.low, c.low), tct_fma_i16xi16(a.high, b.high, c.high)};
}

#define TCT_STORE_PAIRS(T, PACK)                                                                                       \
    static inline void tct_store_pairs_##T(void *p, tcv_i32 x, int zero)                                               \
    {                                                                                                                  \
        const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(x.a, x.b), _mm256_set1_epi16((short)zero));         \
        _mm_storeu_si128((__m128i *)p, PACK(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));       \
    }
TCT_STORE_PAIRS(i8, _mm_packs_epi16)
TCT_STORE_PAIRS(u8, _mm_packus_epi16)
#undef TCT_STORE_PAIRS

#endif

#endif
