/* SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolutions of bytes: channels side by side, and the bytes that their sums become, for tc_tile.h. */
#ifndef TC_BYTE_WINDOWS_H
#define TC_BYTE_WINDOWS_H

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
