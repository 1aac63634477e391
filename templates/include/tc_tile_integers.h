/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of short integers that are summed in i32, for tc_tile.h. A word of 32 bits holds a group of terms of one row or
 * of one column: four of 8 bits or two of 16. Sums wrap, so terms may be added in any order; no step saturates.
 *
 * x86-64 without VNNI multiplies pairs of 16 bits. There a word of four bytes is multiplied in two halves: tct_load0_P
 * gives terms 0 and 2 of each column as 16 bits, tct_load1_P terms 1 and 3, and tct_arrange_P makes two such words of each
 * word of a row (emit/contraction/product_forms.py says where).
 */
#ifndef TC_TILE_INTEGERS_H
#define TC_TILE_INTEGERS_H

/* rows that are multiplied where they lie begin at any byte (schedule_blocks.words_in_place) */
#if defined(TC_ISA_X86_64) || defined(TC_ISA_AVX2) || defined(TC_ISA_AVX512) || defined(TC_ISA_NEON)
typedef uint32_t __attribute__((may_alias, aligned(1))) tc_word;
#else
typedef uint32_t __attribute__((may_alias)) tc_word;
#endif

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
typedef uint8x16_t tct_quad_i8xi8, tct_quad_u8xu8;
static inline uint8x16_t tct_load_quad(const tc_word *p)
{
    return vld1q_u8((const uint8_t *)p);
}
#define tct_load_quad_i8xi8 tct_load_quad
#define tct_load_quad_u8xu8 tct_load_quad
#define tct_fma_lane_i8xi8(a, lane, b, c)                                                                              \
    vdotq_laneq_s32(c, vreinterpretq_s8_s32(b), vreinterpretq_s8_u8(a), lane)
#define tct_fma_lane_u8xu8(a, lane, b, c)                                                                              \
    vreinterpretq_s32_u32(vdotq_laneq_u32(vreinterpretq_u32_s32(c), vreinterpretq_u8_s32(b), a, lane))
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
#define TCT_XOR _mm512_xor_si512
#elif defined(TC_ISA_AVX2)
#define TCT_X86(name) _mm256_##name
#define TCT_AND _mm256_and_si256
#define TCT_XOR _mm256_xor_si256
#else
#define TCT_X86(name) _mm_##name
#define TCT_AND _mm_and_si128
#define TCT_XOR _mm_xor_si128
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
/* Of panels whose highest bits are turned, z: what their columns are without that, in a's dtype. */
static inline tct_i32 tct_unturned(const tc_word *p)
{
    return TCT_XOR(tct_word_load(p), TCT_X86(set1_epi8)((char)0x80));
}
static inline tct_i32 tct_load0_i8xu8z(const tc_word *p)
{
    return TCT_X86(srai_epi16)(TCT_X86(slli_epi16)(tct_unturned(p), 8), 8);
}
static inline tct_i32 tct_load1_i8xu8z(const tc_word *p)
{
    return TCT_X86(srai_epi16)(tct_unturned(p), 8);
}
static inline tct_i32 tct_load0_u8xi8z(const tc_word *p)
{
    return TCT_AND(tct_unturned(p), TCT_X86(set1_epi16)(0xff));
}
static inline tct_i32 tct_load1_u8xi8z(const tc_word *p)
{
    return TCT_X86(srli_epi16)(tct_unturned(p), 8);
}
#define tct_fma_i8xu8 tct_fma_i16xi16
#define tct_fma_u8xi8 tct_fma_i16xi16

/* Words p[0..count-1] to p[0..2*count-1], the last ones first: none is overwritten before it is read. Rows are further
   apart than they are long: by vectors up to three words more are taken, too. */
#if defined(TC_ISA_AVX2) || defined(TC_ISA_AVX512)
#define TCT_ARRANGE(P, WIDEN)                                                                                          \
    static inline void tct_arrange_##P(tc_word *p, tc_index count)                                                     \
    {                                                                                                                  \
        const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);                     \
        for (tc_index i = (count + 3) / 4 * 4; i > 0; i -= 4) {                                                        \
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

/* `count` words of a row, from there or from p itself: unsigned, where `flip` turns their highest bits; then the same with
   the second byte of each pair subtracted from 255; then their even bytes and their odd ones as 16 bits. A line of each is
   stored at a time: neighbouring stores to one line go to the cache together. */
static inline void tct_sort_words(tc_word *p, const tc_word *from, tc_index count, uint32_t flip)
{
    const __m256i turn = _mm256_set1_epi32((int)flip), second = _mm256_set1_epi16((short)0xff00);
    const __m256i even = _mm256_set1_epi16(0xff);
    const tc_index whole = count / 16 * 16;
    for (tc_index i = 0; i < whole; i += 16) {
        const __m256i x = _mm256_xor_si256(tct_word_load(from + i), turn);
        const __m256i y = _mm256_xor_si256(tct_word_load(from + i + 8), turn);
        _mm256_storeu_si256((__m256i *)(p + i), x);
        _mm256_storeu_si256((__m256i *)(p + i + 8), y);
        _mm256_storeu_si256((__m256i *)(p + count + i), _mm256_xor_si256(x, second));
        _mm256_storeu_si256((__m256i *)(p + count + i + 8), _mm256_xor_si256(y, second));
        _mm256_storeu_si256((__m256i *)(p + 2 * count + i), _mm256_and_si256(x, even));
        _mm256_storeu_si256((__m256i *)(p + 2 * count + i + 8), _mm256_and_si256(y, even));
        _mm256_storeu_si256((__m256i *)(p + 3 * count + i), _mm256_srli_epi16(x, 8));
        _mm256_storeu_si256((__m256i *)(p + 3 * count + i + 8), _mm256_srli_epi16(y, 8));
    }
    for (tc_index i = whole; i < count; ++i) {
        const uint32_t x = from[i] ^ flip;
        p[i] = x, p[count + i] = x ^ 0xff00ff00u;
        p[2 * count + i] = x & 0xff00ffu, p[3 * count + i] = x >> 8 & 0xff00ffu;
    }
}
static inline void tct_arrange_sorted_i8(tc_word *p, tc_index count)
{
    tct_sort_words(p, p, count, 0x80808080u);
}
static inline void tct_arrange_sorted_u8(tc_word *p, tc_index count)
{
    tct_sort_words(p, p, count, 0);
}
/* Of a row that lies in memory, from any byte on. */
static inline void tct_take_sorted_i8(tc_word *p, const void *row, tc_index count)
{
    tct_sort_words(p, (const tc_word *)row, count, 0x80808080u);
}
static inline void tct_take_sorted_u8(tc_word *p, const void *row, tc_index count)
{
    tct_sort_words(p, (const tc_word *)row, count, 0);
}

#endif

#undef TCT_AND
#undef TCT_XOR
#undef TCT_X86

#endif
#endif

/* -- tiles of AMX -----------------------------------------------------------------------------------------------------

   Tiles 0 to 3 are 16 x 16 sums, 4 and 5 hold `depth` words of 16 rows, 6 and 7 as many terms (words) of a panel's 16
   columns. All micro-kernels that a kernel calls take one depth, so that tiles are configured once a kernel. */
#if defined(__AMX_INT8__)
struct tct_tiles {
    uint8_t palette, start, none[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
};
#define TCT_TILES(depth)                                                                                               \
    {                                                                                                                  \
        .palette = 1, .bytes = {64, 64, 64, 64, 4 * (depth), 4 * (depth), 64, 64},                                     \
        .rows = {16, 16, 16, 16, 16, 16, depth, depth}                                                                 \
    }
static inline void tct_tiles_begin(const struct tct_tiles *tiles)
{
    _tile_loadconfig(tiles);
}
static inline void tct_tiles_end(void)
{
    _tile_release();
}
#define tct_tiles_i8xu8 _tile_dpbsud
#define tct_tiles_u8xi8 _tile_dpbusd

/* What is left of a row of `terms` words behind whole tiles of depth 16 goes to the end of one more, behind zeros. */
static inline void tct_arrange_tiles(tc_word *p, tc_index terms)
{
    const tc_index left = terms % 16, before = 16 - left;
    if (left == 0)
        return;
    tc_word *const last = p + (terms - left);
    const __mmask16 first = (__mmask16)((1u << left) - 1), end = (__mmask16)(first << before);
    _mm512_storeu_si512(last, _mm512_maskz_expand_epi32(end, _mm512_maskz_loadu_epi32(first, last)));
}
#endif

#endif
