/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding to 8 bits, included by tc_vector.h.
 */
#ifndef TC_VECTOR_BYTES_H
#define TC_VECTOR_BYTES_H

/* round(x) + zero within low and high, 0 of NaN: a cast to 8 bits. The limits are those of what is rounded, as these are
   integers. */
static TC_INLINE tcv_i32 tcv_quantized_f32(tcv_f32 x, int32_t low, int32_t high, int32_t zero)
{
#ifdef TCQ_QUANTIZED
    const tcv_f32 least = tcv_splat_f32((float)(low - zero)), most = tcv_splat_f32((float)(high - zero));
    const tcv_i32 more = tcv_splat_i32(zero);
    tcv_i32 r;
#define TCV_P(m, l) r.m = tcq_quantized_f32(x.m, least.m, most.m, more.m);
    TCV_EACH(TCV_P)
#undef TCV_P
    return r;
#else
    const tcv_f32 sum = zero ? tcv_add_f32(tcv_round_f32(x), tcv_splat_f32((float)zero)) : tcv_round_f32(x);
    return tcv_cast_bounded_f32(
        tcv_lesser_f32(tcv_splat_f32((float)high), tcv_greater_f32(tcv_splat_f32((float)low), sum)));
#endif
}

/* The same of x / y, for a y from 2^-60 to 2^60 that stays in a loop. Beside a divider of AVX-512 multiply-adds take less
   time; of AVX2 they take as long as the rounding, which a divider leaves alone. Instead of the quotient x is limited, as
   what lies beyond a limit's own x has that limit as its result. Within, the quotient comes from the reciprocal and is the
   rounded one (tcq_divisor), but for x so near zero that the remainder is no normal number: they are zeros when rounded. */
static TC_INLINE tcv_i32 tcv_quantized_quotient_f32(tcv_f32 x, float y, int32_t low, int32_t high, int32_t zero)
{
#ifdef TC_ISA_AVX512
    const tcq_divisor by = tcq_divisor_f32(y);
    const __m512 least = _mm512_set1_ps((float)(low - zero) * y), most = _mm512_set1_ps((float)(high - zero) * y);
    const __m512 q = tcq_quotient_f32(tcq_between_f32(x.a, least, most), &by);
    const __mmask16 number = _mm512_cmp_ps_mask(q, q, _CMP_ORD_Q);
    return (tcv_i32){_mm512_maskz_add_epi32(number, _mm512_cvtps_epi32(q), _mm512_set1_epi32(zero))};
#else
    return tcv_quantized_f32(tcv_div_f32(x, tcv_splat_f32(y)), low, high, zero);
#endif
}

#ifdef TCQ_QUANTIZED
/* The same of x that is not NaN. */
static TC_INLINE tcv_i32 tcv_limited_f32(tcv_f32 x, int32_t low, int32_t high, int32_t zero)
{
    const tcv_f32 least = tcv_splat_f32((float)(low - zero)), most = tcv_splat_f32((float)(high - zero));
    tcv_i32 r;
#define TCV_P(m, l) r.m = tcq_limited_f32(x.m, least.m, most.m);
    TCV_EACH(TCV_P)
#undef TCV_P
    return zero ? tcv_add_i32(r, tcv_splat_i32(zero)) : r;
}
/* The same as f32. Between 2^23 and 2^24 it has the integers alone: what is added to their middle is rounded to even. */
static TC_INLINE tcv_f32 tcv_limited_whole_f32(tcv_f32 x, int32_t low, int32_t high, int32_t zero)
{
    const float middle = 0x1.8p23f;
    const tcv_f32 least = tcv_splat_f32((float)(low - zero)), most = tcv_splat_f32((float)(high - zero));
    tcv_f32 r;
#define TCV_P(m, l) r.m = tcq_between_f32(x.m, least.m, most.m);
    TCV_EACH(TCV_P)
#undef TCV_P
    return tcv_sub_f32(tcv_add_f32(r, tcv_splat_f32(middle)), tcv_splat_f32(middle - (float)zero));
}
#endif

#if defined(TC_ISA_AVX2) || defined(TC_ISA_AVX512)
/* The first `count` of 16 bytes, not all. */
static TC_INLINE void tcv_store_bytes(char *to, __m128i bytes, tc_index count)
{
    if (count & 8) {
        _mm_storel_epi64((__m128i *)to, bytes);
        bytes = _mm_srli_si128(bytes, 8), to += 8;
    }
    if (count & 4) {
        _mm_storeu_si32(to, bytes);
        bytes = _mm_srli_si128(bytes, 4), to += 4;
    }
    const int rest = _mm_cvtsi128_si32(bytes);
    for (tc_index l = 0; l < (count & 3); ++l)
        to[l] = (char)(rest >> 8 * l);
}
#endif

#if defined(TC_ISA_AVX512)
/* x within 30 bits, rounded; and 16 to 64 of such columns, plus zero, as bytes: 16 bits hold what is limited to them. */
static TC_INLINE tcv_i32 tcv_rounded_f32(tcv_f32 x)
{
    return (tcv_i32){_mm512_cvtps_epi32(x.a)};
}

/* The low bytes of 16 columns of x, y and z in turn, 48 bytes. */
static TC_INLINE void tcv_store_three_bytes(void *p, tcv_i32 x, tcv_i32 y, tcv_i32 z)
{
    static const int8_t order[3][64] = {
        {0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5,
        -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1,
        -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
        {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1,
        5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10,
        -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
        {-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1,
        -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1,
        10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    };
    const __m512i a = _mm512_broadcast_i32x4(_mm512_cvtepi32_epi8(x.a)), b = _mm512_broadcast_i32x4(_mm512_cvtepi32_epi8(y.a));
    const __m512i c = _mm512_broadcast_i32x4(_mm512_cvtepi32_epi8(z.a));
    const __m512i both = _mm512_or_si512(_mm512_shuffle_epi8(a, _mm512_loadu_si512(order[0])),
                                         _mm512_shuffle_epi8(b, _mm512_loadu_si512(order[1])));
    const __m512i all = _mm512_or_si512(both, _mm512_shuffle_epi8(c, _mm512_loadu_si512(order[2])));
    _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(all));
    _mm_storeu_si128((__m128i *)p + 2, _mm512_extracti32x4_epi32(all, 2));
}

/* 32 columns of two vectors in 16 bits: in each quarter four of x, then four of y. */
static TC_INLINE __m512i tcv_words(tcv_i32 x, tcv_i32 y, int zero)
{
    const __m512i words = _mm512_packs_epi32(x.a, y.a);
    return zero ? _mm512_adds_epi16(words, _mm512_set1_epi16((short)zero)) : words;
}
/* The bytes of four vectors, of which PACK made quarters of four each, one vector behind the other. */
static TC_INLINE __m512i tcv_in_turn(__m512i bytes)
{
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

#define TCV_STORE_FOUR(T, PACK, HALF)                                                                                  \
    /* 16 columns of four rows. */                                                                                     \
    static TC_INLINE void tcv_store_quarters_##T(void *p0, void *p1, void *p2, void *p3, tcv_i32 x0, tcv_i32 x1,       \
                                                 tcv_i32 x2, tcv_i32 x3, int zero)                                     \
    {                                                                                                                  \
        const __m512i bytes = tcv_in_turn(PACK(tcv_words(x0, x1, zero), tcv_words(x2, x3, zero)));                     \
        _mm_storeu_si128((__m128i *)p0, _mm512_castsi512_si128(bytes));                                                \
        _mm_storeu_si128((__m128i *)p1, _mm512_extracti32x4_epi32(bytes, 1));                                          \
        _mm_storeu_si128((__m128i *)p2, _mm512_extracti32x4_epi32(bytes, 2));                                          \
        _mm_storeu_si128((__m128i *)p3, _mm512_extracti32x4_epi32(bytes, 3));                                          \
    }                                                                                                                  \
    /* Two of 32 columns, p and q. */                                                                                  \
    static TC_INLINE void tcv_store_halves_##T(void *p, void *q, tcv_i32 x0, tcv_i32 x1, tcv_i32 y0, tcv_i32 y1,       \
                                               int zero)                                                               \
    {                                                                                                                  \
        const __m512i bytes = tcv_in_turn(PACK(tcv_words(x0, x1, zero), tcv_words(y0, y1, zero)));                     \
        _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(bytes));                                              \
        _mm256_storeu_si256((__m256i *)q, _mm512_extracti64x4_epi64(bytes, 1));                                        \
    }                                                                                                                  \
    static TC_INLINE void tcv_store_four_##T(void *p, tcv_i32 x0, tcv_i32 x1, tcv_i32 x2, tcv_i32 x3, int zero,        \
                                             tc_index count)                                                           \
    {                                                                                                                  \
        const __m512i first = tcv_words(x0, x1, zero);                                                                 \
        const __m512i bytes = tcv_in_turn(PACK(first, count > 32 ? tcv_words(x2, x3, zero) : first));                  \
        if (count >= 64)                                                                                               \
            _mm512_storeu_si512(p, bytes);                                                                             \
        else if (count == 48)                                                                                          \
            _mm512_mask_storeu_epi32(p, 0x0fff, bytes);                                                                \
        else if (count == 32)                                                                                          \
            _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(bytes));                                          \
        else                                                                                                           \
            _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(bytes));                                             \
    }                                                                                                                  \
    /* The first `count` columns, fewer than 16. */                                                                    \
    static TC_INLINE void tcv_store_some_##T(void *p, tcv_i32 x, int zero, tc_index count)                             \
    {                                                                                                                  \
        const __m256i words = _mm256_adds_epi16(_mm512_cvtsepi32_epi16(x.a), _mm256_set1_epi16((short)zero));          \
        tcv_store_bytes((char *)p, HALF(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)), count);    \
    }
TCV_STORE_FOUR(i8, _mm512_packs_epi16, _mm_packs_epi16)
TCV_STORE_FOUR(u8, _mm512_packus_epi16, _mm_packus_epi16)
#undef TCV_STORE_FOUR
#elif defined(TC_ISA_AVX2)
/* The same. */
static TC_INLINE tcv_i32 tcv_rounded_f32(tcv_f32 x)
{
    return (tcv_i32){_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)};
}

/* The bytes of 16 columns, the lowest of each, of x and of y. */
typedef struct {
    __m128i x, y;
} tcv_two_bytes;
static TC_INLINE tcv_two_bytes tcv_low_bytes(tcv_i32 x, tcv_i32 y)
{
    const __m256i low = _mm256_set1_epi32(0xff);
    const __m256i words0 = _mm256_packs_epi32(_mm256_and_si256(x.a, low), _mm256_and_si256(x.b, low));
    const __m256i words1 = _mm256_packs_epi32(_mm256_and_si256(y.a, low), _mm256_and_si256(y.b, low));
    const __m256i bytes = _mm256_packus_epi16(words0, words1);
    const __m128i first = _mm256_castsi256_si128(bytes), second = _mm256_extracti128_si256(bytes, 1);
    return (tcv_two_bytes){_mm_unpacklo_epi32(first, second), _mm_unpackhi_epi32(first, second)};
}
static TC_INLINE void tcv_store_three_bytes(void *p, tcv_i32 x, tcv_i32 y, tcv_i32 z)
{
    static const int8_t order[3][3][16] = {
        {{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
         {-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
         {-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1}},
        {{-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
         {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
         {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1}},
        {{-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1},
         {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1},
         {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}},
    };
    const tcv_two_bytes both = tcv_low_bytes(x, y);
    const __m128i bytes[] = {both.x, both.y, tcv_low_bytes(z, z).x};
    for (int i = 0; i < 3; ++i) {
        __m128i part = _mm_setzero_si128();
        for (int k = 0; k < 3; ++k)
            part = _mm_or_si128(part, _mm_shuffle_epi8(bytes[k], _mm_loadu_si128((const __m128i *)order[k][i])));
        _mm_storeu_si128((__m128i *)p + i, part);
    }
}
#define TCV_STORE_FOUR(T, PACK)                                                                                        \
    static TC_INLINE __m256i tcv_words_##T(tcv_i32 x, int zero)                                                        \
    {                                                                                                                  \
        return _mm256_adds_epi16(_mm256_packs_epi32(x.a, x.b), _mm256_set1_epi16((short)zero));                        \
    }                                                                                                                  \
    static TC_INLINE __m128i tcv_sixteen_##T(tcv_i32 x, int zero)                                                      \
    {                                                                                                                  \
        const __m256i words = tcv_words_##T(x, zero);                                                                  \
        const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);                  \
        return _mm_shuffle_epi32(_mm_##PACK(low, high), 0xd8);                                                         \
    }                                                                                                                  \
    static TC_INLINE void tcv_store_two_##T(char *p, tcv_i32 x0, tcv_i32 x1, int zero, tc_index count)                 \
    {                                                                                                                  \
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);                                               \
        const __m256i bytes = _mm256_##PACK(tcv_words_##T(x0, zero), tcv_words_##T(x1, zero));                         \
        if (count >= 32)                                                                                               \
            _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(bytes, order));                              \
        else                                                                                                           \
            _mm_storeu_si128((__m128i *)p, tcv_sixteen_##T(x0, zero));                                                 \
    }                                                                                                                  \
    /* 16 columns of two rows. */                                                                                      \
    static TC_INLINE void tcv_store_rows_##T(void *p0, void *p1, tcv_i32 x0, tcv_i32 x1, int zero)                     \
    {                                                                                                                  \
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);                                               \
        const __m256i bytes = _mm256_##PACK(tcv_words_##T(x0, zero), tcv_words_##T(x1, zero));                         \
        const __m256i rows = _mm256_permutevar8x32_epi32(bytes, order);                                                \
        _mm_storeu_si128((__m128i *)p0, _mm256_castsi256_si128(rows));                                                 \
        _mm_storeu_si128((__m128i *)p1, _mm256_extracti128_si256(rows, 1));                                            \
    }                                                                                                                  \
    static TC_INLINE void tcv_store_four_##T(void *p, tcv_i32 x0, tcv_i32 x1, tcv_i32 x2, tcv_i32 x3, int zero,        \
                                             tc_index count)                                                           \
    {                                                                                                                  \
        tcv_store_two_##T((char *)p, x0, x1, zero, count);                                                             \
        if (count > 32)                                                                                                \
            tcv_store_two_##T((char *)p + 32, x2, x3, zero, count - 32);                                               \
    }                                                                                                                  \
    static TC_INLINE void tcv_store_some_##T(void *p, tcv_i32 x, int zero, tc_index count)                             \
    {                                                                                                                  \
        tcv_store_bytes((char *)p, tcv_sixteen_##T(x, zero), count);                                                   \
    }
TCV_STORE_FOUR(i8, packs_epi16)
TCV_STORE_FOUR(u8, packus_epi16)
#undef TCV_STORE_FOUR

/* The same of sums that stay i32. */
static TC_INLINE void tcv_store_rows_i32(void *p0, void *p1, tcv_i32 x0, tcv_i32 x1, int zero)
{
    (void)zero;
    tcv_store_i32((int32_t *)p0, x0);
    tcv_store_i32((int32_t *)p1, x1);
}
static TC_INLINE void tcv_store_four_i32(void *p, tcv_i32 x0, tcv_i32 x1, tcv_i32 x2, tcv_i32 x3, int zero, tc_index count)
{
    const tcv_i32 x[] = {x0, x1, x2, x3};
    (void)zero;
    for (tc_index i = 0; 16 * i < count; ++i)
        tcv_store_i32((int32_t *)p + 16 * i, x[i]);
}
static TC_INLINE void tcv_store_some_i32(void *p, tcv_i32 x, int zero, tc_index count)
{
    int32_t all[16];
    (void)zero;
    tcv_store_i32(all, x);
    __builtin_memcpy(p, all, (size_t)count * sizeof *all);
}
#endif

#endif
