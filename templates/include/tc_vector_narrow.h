/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors of the narrow dtypes, included by tc_vector.h. In registers a lane of i8, u8, i16 and u16 is the i32 of the same
 * value (tcv_i32), one of f16 and bf16 the f32 of the same value (tcv_f32): loads widen, stores keep the low bits or pack,
 * and every operation gives what the narrow dtype holds. f16 and bf16 know casts and moves alone, as tc_scalar.h says.
 */
#ifndef TC_VECTOR_NARROW_H
#define TC_VECTOR_NARROW_H

#define TCM_FUNCTION static TC_INLINE
#define TCM_F32 tcv_f32
#define TCM_I32 tcv_i32
#define TCM_MASK tcv_mask
#define TCM(name) tcv_##name
#ifdef TCV_F16
#define TCM_F16
#endif
#include "tc_half.inc"
#undef TCM_F16
#undef TCM_FUNCTION
#undef TCM_F32
#undef TCM_I32
#undef TCM_MASK
#undef TCM

/* -- memory ----------------------------------------------------------------------------------------------------------- */

/* tcv_widen_T(p), tcv_narrow_T(p, x): 16 elements as i32 and back. */
#ifdef TCQ_COUNT
typedef int32_t tcq_lanes_i32 __attribute__((vector_size(4 * TCQ_LANES)));
/* By functions of the instruction set: GCC 12 and 13 take vectors of bytes to 32 bits element by element. */
#if TCQ_COUNT == 1
#define TCV_WIDENED(T) .a = tcq_widen_##T(p)
#elif TCQ_COUNT == 2
#define TCV_WIDENED(T) .a = tcq_widen_##T(p), .b = tcq_widen_##T(p + 8)
#else
#define TCV_WIDENED(T)                                                                                                 \
    .a = tcq_widen_##T(p), .b = tcq_widen_##T(p + 4), .c = tcq_widen_##T(p + 8), .d = tcq_widen_##T(p + 12)
#endif
#define TCV_PART_BACK(m, l)                                                                                            \
    __builtin_memcpy(&whole, &x.m, sizeof whole);                                                                      \
    part = __builtin_convertvector(whole, part_type);                                                                  \
    __builtin_memcpy(p + l, &part, sizeof part);
#define TCV_NARROW_MEMORY(T, C)                                                                                        \
    static TC_INLINE tcv_i32 tcv_widen_##T(const C *p)                                                                 \
    {                                                                                                                  \
        return (tcv_i32){TCV_WIDENED(T)};                                                                              \
    }                                                                                                                  \
    static TC_INLINE void tcv_narrow_##T(C *p, tcv_i32 x)                                                              \
    {                                                                                                                  \
        TCV_NARROW_BACK(T, C)                                                                                          \
    }
#if TCQ_COUNT > 1 && defined(__SSE2__)
/* Packing saturates, so the low bits alone come in; i16 are sign-extended. Of 256 bits halves are packed apart. */
static TC_INLINE void tcv_pack_bytes(void *p, const tcv_i32 *x)
{
#if TCQ_COUNT == 2
    const __m256i low = _mm256_set1_epi32(0xff);
    const __m256i words = _mm256_packs_epi32(_mm256_and_si256(x->a, low), _mm256_and_si256(x->b, low));
    const __m256i bytes = _mm256_packus_epi16(_mm256_permute4x64_epi64(words, 0xd8), words);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0xd8)));
#else
    const __m128i low = _mm_set1_epi32(0xff);
    _mm_storeu_si128((__m128i *)p,
                     _mm_packus_epi16(_mm_packs_epi32(_mm_and_si128(x->a, low), _mm_and_si128(x->b, low)),
                                      _mm_packs_epi32(_mm_and_si128(x->c, low), _mm_and_si128(x->d, low))));
#endif
}
static TC_INLINE void tcv_pack_words(void *p, const tcv_i32 *x)
{
#if TCQ_COUNT == 2
#define TCV_WORD(m) _mm256_srai_epi32(_mm256_slli_epi32(x->m, 16), 16)
    _mm256_storeu_si256((__m256i *)p, _mm256_permute4x64_epi64(_mm256_packs_epi32(TCV_WORD(a), TCV_WORD(b)), 0xd8));
#else
#define TCV_WORD(m) _mm_srai_epi32(_mm_slli_epi32(x->m, 16), 16)
    _mm_storeu_si128((__m128i *)p, _mm_packs_epi32(TCV_WORD(a), TCV_WORD(b)));
    _mm_storeu_si128((__m128i *)p + 1, _mm_packs_epi32(TCV_WORD(c), TCV_WORD(d)));
#endif
#undef TCV_WORD
}
#define TCV_NARROW_BACK(T, C)                                                                                          \
    if (sizeof(C) == 1)                                                                                                \
        tcv_pack_bytes(p, &x);                                                                                         \
    else                                                                                                               \
        tcv_pack_words(p, &x);
#else
#define TCV_NARROW_BACK(T, C)                                                                                          \
    typedef C part_type __attribute__((vector_size(sizeof(C) * TCQ_LANES)));                                           \
    part_type part;                                                                                                    \
    tcq_lanes_i32 whole;                                                                                               \
    TCV_EACH(TCV_PART_BACK)
#endif
#else
#define TCV_NARROW_MEMORY(T, C)                                                                                        \
    static TC_INLINE tcv_i32 tcv_widen_##T(const C *p)                                                                 \
    {                                                                                                                  \
        tcv_i32 r;                                                                                                     \
        for (int l = 0; l < 16; ++l)                                                                                   \
            r.v[l] = p[l];                                                                                             \
        return r;                                                                                                      \
    }                                                                                                                  \
    static TC_INLINE void tcv_narrow_##T(C *p, tcv_i32 x)                                                              \
    {                                                                                                                  \
        for (int l = 0; l < 16; ++l)                                                                                   \
            p[l] = (C)x.v[l];                                                                                          \
    }
#endif
TCV_NARROW_MEMORY(i8, int8_t)
TCV_NARROW_MEMORY(u8, uint8_t)
TCV_NARROW_MEMORY(i16, int16_t)
TCV_NARROW_MEMORY(u16, uint16_t)

#ifndef TCV_F16
static TC_INLINE tcv_f32 tcv_widen_f16(const uint16_t *p)
{
    return tcv_unpack_f16(tcv_widen_u16(p));
}

static TC_INLINE void tcv_narrow_f16(uint16_t *p, tcv_f32 x)
{
    tcv_narrow_u16(p, tcv_pack_f16(x));
}
#endif

/* The first n elements of p in t. */
#if defined(TC_ISA_AVX512)
#define TCV_FIRST(t, p, n)                                                                                             \
    const __mmask16 there = tcq_first(n);                                                                              \
    if (sizeof t == 16)                                                                                                \
        _mm_storeu_si128((__m128i *)(void *)t, _mm_maskz_loadu_epi8(there, p));                                        \
    else                                                                                                               \
        _mm256_storeu_si256((__m256i *)(void *)t, _mm256_maskz_loadu_epi16(there, p));
#else
#define TCV_FIRST(t, p, n)                                                                                             \
    for (tc_index l = 0; l < tc_min(n, 16); ++l)                                                                       \
        t[l] = p[l];
#endif

/* Every other element, by shifts of pairs. Elements that do not exist are zeros in a copy of the others. */
#ifndef TCV_F16
#define TCV_UNPACK_F16 tcv_unpack_f16
#else
#define TCV_UNPACK_F16 tcv_unpacked_f16
#endif
#if defined(TC_ISA_AVX512)
#define TCV_COPY(t, p, lo, hi)                                                                                         \
    const uint64_t from = lo <= 0 ? ~UINT64_C(0) : ~UINT64_C(0) << lo, to = (UINT64_C(1) << tc_max(hi, 0)) - 1;        \
    if (sizeof t == 32)                                                                                                \
        _mm256_storeu_si256((__m256i *)(void *)t, _mm256_maskz_loadu_epi8((__mmask32)(from & to), p));                 \
    else                                                                                                               \
        _mm512_storeu_si512((void *)t, _mm512_maskz_loadu_epi16((__mmask32)(from & to), p));
#else
#define TCV_COPY(t, p, lo, hi)                                                                                         \
    if (hi > lo)                                                                                                       \
        __builtin_memcpy(t + tc_max(lo, 0), p + tc_max(lo, 0), (size_t)(hi - tc_max(lo, 0)) * sizeof *t);
#endif
#define TCV_PAIRS(T, C, V, BITS, EVEN, ODD)                                                                            \
    static TC_INLINE tcv_i32 tcv_pairs_##T(const C *p, tc_index lo, tc_index hi)                                       \
    {                                                                                                                  \
        if (lo <= 0 && hi >= 32)                                                                                       \
            return tcv_pairs_##BITS(p);                                                                                \
        C t[32] = {0};                                                                                                 \
        TCV_COPY(t, p, lo, hi)                                                                                         \
        return tcv_pairs_##BITS(t);                                                                                    \
    }                                                                                                                  \
    static TC_INLINE V tcv_evens_##T(const C *p, tc_index lo, tc_index hi)                                             \
    {                                                                                                                  \
        const tcv_i32 x = tcv_pairs_##T(p, lo, hi);                                                                    \
        return EVEN;                                                                                                   \
    }                                                                                                                  \
    static TC_INLINE V tcv_odds_##T(const C *p, tc_index lo, tc_index hi)                                              \
    {                                                                                                                  \
        const tcv_i32 x = tcv_pairs_##T(p, lo, hi);                                                                    \
        return ODD;                                                                                                    \
    }
#define TCV_LOW(n) tcv_bit_and_i32(x, tcv_splat_i32((1 << n) - 1))
TCV_PAIRS(i8, int8_t, tcv_i32, 8, tcv_sar_i32(tcv_shl_i32(x, 24), 24), tcv_sar_i32(tcv_shl_i32(x, 16), 24))
TCV_PAIRS(u8, uint8_t, tcv_i32, 8, TCV_LOW(8), tcv_sar_i32(x, 8))
TCV_PAIRS(bool, uint8_t, tcv_mask, 8, tcv_cast_i32_bool(TCV_LOW(8)), tcv_cast_i32_bool(tcv_sar_i32(x, 8)))
TCV_PAIRS(i16, int16_t, tcv_i32, 16, tcv_sar_i32(tcv_shl_i32(x, 16), 16), tcv_sar_i32(x, 16))
#define TCV_HIGH tcv_bit_and_i32(tcv_sar_i32(x, 16), tcv_splat_i32(0xffff))
TCV_PAIRS(u16, uint16_t, tcv_i32, 16, TCV_LOW(16), TCV_HIGH)
TCV_PAIRS(f16, uint16_t, tcv_f32, 16, TCV_UNPACK_F16(TCV_LOW(16)), TCV_UNPACK_F16(TCV_HIGH))
TCV_PAIRS(bf16, uint16_t, tcv_f32, 16, tcv_unpack_bf16(x),
          tcv_asfloat_i32(tcv_bit_and_i32(x, tcv_splat_i32(~0xffff))))
#undef TCV_PAIRS
#undef TCV_COPY
#undef TCV_LOW
#undef TCV_HIGH
#undef TCV_UNPACK_F16

/* Memory of every form, from 16 elements in memory to a register and back. */
#define TCV_ACCESS(T, C, V, LOAD, STORE)                                                                               \
    static TC_INLINE V tcv_load_##T(const C *p)                                                                        \
    {                                                                                                                  \
        return LOAD;                                                                                                   \
    }                                                                                                                  \
    static TC_INLINE void tcv_store_##T(C *p, V x)                                                                     \
    {                                                                                                                  \
        STORE;                                                                                                         \
    }                                                                                                                  \
    static TC_INLINE V tcv_loads_##T(const C *p, tc_index stride, tc_index lo, tc_index hi, V other)                   \
    {                                                                                                                  \
        if (TCV_EVERY_OTHER)                                                                                           \
            return tcv_evens_##T(p, 0, 31);                                                                            \
        C t[16];                                                                                                       \
        tcv_store_##T(t, other);                                                                                       \
        for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 16); ++l)                                                      \
            t[l] = p[l * stride];                                                                                      \
        return tcv_load_##T(t);                                                                                        \
    }                                                                                                                  \
    static TC_INLINE V tcv_loadw_##T(const C *p, tc_index lo, tc_index hi, V other)                                    \
    {                                                                                                                  \
        return tcv_loads_##T(p, 1, lo, hi, other);                                                                     \
    }                                                                                                                  \
    static TC_INLINE V tcv_loadn_##T(const C *p, tc_index n)                                                           \
    {                                                                                                                  \
        C t[16] = {0};                                                                                                 \
        TCV_FIRST(t, p, n)                                                                                             \
        return tcv_load_##T(t);                                                                                        \
    }                                                                                                                  \
    static TC_INLINE void tcv_stores_##T(C *p, tc_index stride, V x, tc_index n)                                       \
    {                                                                                                                  \
        C t[16];                                                                                                       \
        tcv_store_##T(t, x);                                                                                           \
        for (tc_index l = 0; l < tc_min(n, 16); ++l)                                                                   \
            p[l * stride] = t[l];                                                                                      \
    }                                                                                                                  \
    static TC_INLINE void tcv_storen_##T(C *p, V x, tc_index n)                                                        \
    {                                                                                                                  \
        tcv_stores_##T(p, 1, x, n);                                                                                    \
    }
TCV_ACCESS(i8, int8_t, tcv_i32, tcv_widen_i8(p), tcv_narrow_i8(p, x))
TCV_ACCESS(u8, uint8_t, tcv_i32, tcv_widen_u8(p), tcv_narrow_u8(p, x))
TCV_ACCESS(i16, int16_t, tcv_i32, tcv_widen_i16(p), tcv_narrow_i16(p, x))
TCV_ACCESS(u16, uint16_t, tcv_i32, tcv_widen_u16(p), tcv_narrow_u16(p, x))
TCV_ACCESS(f16, uint16_t, tcv_f32, tcv_widen_f16(p), tcv_narrow_f16(p, x))
TCV_ACCESS(bf16, uint16_t, tcv_f32, tcv_unpack_bf16(tcv_widen_u16(p)), tcv_narrow_u16(p, tcv_pack_bf16(x)))
#undef TCV_ACCESS
#undef TCV_FIRST

/* -- narrow integers -------------------------------------------------------------------------------------------------- */

/* The low bits as a value of the dtype. */
static TC_INLINE tcv_i32 tcv_wrap_i8(tcv_i32 x)
{
    return tcv_sar_i32(tcv_shl_i32(x, 24), 24);
}

static TC_INLINE tcv_i32 tcv_wrap_u8(tcv_i32 x)
{
    return tcv_bit_and_i32(x, tcv_splat_i32(0xff));
}

static TC_INLINE tcv_i32 tcv_wrap_i16(tcv_i32 x)
{
    return tcv_sar_i32(tcv_shl_i32(x, 16), 16);
}

static TC_INLINE tcv_i32 tcv_wrap_u16(tcv_i32 x)
{
    return tcv_bit_and_i32(x, tcv_splat_i32(0xffff));
}

#define TCV_NARROW_UNARY(T, R, name, V, expression)                                                                    \
    static TC_INLINE R tcv_##name(V x)                                                                                 \
    {                                                                                                                  \
        return expression;                                                                                             \
    }
#define TCV_NARROW_BINARY(T, R, name, expression)                                                                      \
    static TC_INLINE R tcv_##name##_##T(tcv_i32 x, tcv_i32 y)                                                          \
    {                                                                                                                  \
        return expression;                                                                                             \
    }
#define TCV_NARROW(T, C, LOW, HIGH)                                                                                    \
    static TC_INLINE tcv_i32 tcv_splat_##T(C x)                                                                        \
    {                                                                                                                  \
        return tcv_splat_i32(x);                                                                                       \
    }                                                                                                                  \
    TCV_NARROW_UNARY(T, tcv_i32, neg_##T, tcv_i32, tcv_wrap_##T(tcv_neg_i32(x)))                                       \
    TCV_NARROW_UNARY(T, tcv_i32, abs_##T, tcv_i32, tcv_wrap_##T(tcv_abs_i32(x)))                                       \
    TCV_NARROW_BINARY(T, tcv_i32, add, tcv_wrap_##T(tcv_add_i32(x, y)))                                                \
    TCV_NARROW_BINARY(T, tcv_i32, sub, tcv_wrap_##T(tcv_sub_i32(x, y)))                                                \
    TCV_NARROW_BINARY(T, tcv_i32, mul, tcv_wrap_##T(tcv_mul_i32(x, y)))                                                \
    TCV_NARROW_BINARY(T, tcv_i32, div, tcv_wrap_##T(tcv_div_i32(x, y)))                                                \
    TCV_NARROW_BINARY(T, tcv_i32, maximum, tcv_maximum_i32(x, y))                                                      \
    TCV_NARROW_BINARY(T, tcv_i32, minimum, tcv_minimum_i32(x, y))                                                      \
    TCV_NARROW_BINARY(T, tcv_i32, bit_and, tcv_bit_and_i32(x, y))                                                      \
    TCV_NARROW_BINARY(T, tcv_i32, bit_or, tcv_bit_or_i32(x, y))                                                        \
    TCV_NARROW_BINARY(T, tcv_i32, bit_xor, tcv_bit_xor_i32(x, y))                                                      \
    TCV_NARROW_BINARY(T, tcv_mask, eq, tcv_eq_i32(x, y))                                                               \
    TCV_NARROW_BINARY(T, tcv_mask, ne, tcv_ne_i32(x, y))                                                               \
    TCV_NARROW_BINARY(T, tcv_mask, lt, tcv_lt_i32(x, y))                                                               \
    TCV_NARROW_BINARY(T, tcv_mask, le, tcv_le_i32(x, y))                                                               \
    TCV_NARROW_BINARY(T, tcv_mask, gt, tcv_gt_i32(x, y))                                                               \
    TCV_NARROW_BINARY(T, tcv_mask, ge, tcv_ge_i32(x, y))                                                               \
    static TC_INLINE tcv_i32 tcv_select_##T(tcv_mask m, tcv_i32 x, tcv_i32 y)                                          \
    {                                                                                                                  \
        return tcv_select_i32(m, x, y);                                                                                \
    }                                                                                                                  \
    static TC_INLINE C tcv_sum_##T(tcv_i32 x)                                                                          \
    {                                                                                                                  \
        return (C)tcv_sum_i32(x);                                                                                      \
    }                                                                                                                  \
    static TC_INLINE C tcv_prod_##T(tcv_i32 x)                                                                         \
    {                                                                                                                  \
        return (C)tcv_prod_i32(x);                                                                                     \
    }                                                                                                                  \
    static TC_INLINE C tcv_max_##T(tcv_i32 x)                                                                          \
    {                                                                                                                  \
        return (C)tcv_max_i32(x);                                                                                      \
    }                                                                                                                  \
    static TC_INLINE C tcv_min_##T(tcv_i32 x)                                                                          \
    {                                                                                                                  \
        return (C)tcv_min_i32(x);                                                                                      \
    }                                                                                                                  \
    TCV_NARROW_UNARY(T, tcv_i32, cast_i32_##T, tcv_i32, tcv_wrap_##T(x))                                               \
    TCV_NARROW_UNARY(T, tcv_i32, cast_##T##_i32, tcv_i32, x)                                                           \
    TCV_NARROW_UNARY(T, tcv_f32, cast_##T##_f32, tcv_i32, tcv_cast_i32_f32(x))                                         \
    TCV_NARROW_UNARY(T, tcv_mask, cast_##T##_bool, tcv_i32, tcv_cast_i32_bool(x))                                      \
    TCV_NARROW_UNARY(T, tcv_i32, cast_bool_##T, tcv_mask, tcv_cast_bool_i32(x))                                        \
    /* a NaN passes both comparisons and becomes 0 */                                                                  \
    TCV_NARROW_UNARY(T, tcv_i32, cast_f32_##T, tcv_f32,                                                                \
                     tcv_cast_bounded_f32(tcv_lesser_f32(tcv_splat_f32(HIGH), tcv_greater_f32(tcv_splat_f32(LOW), x)))) \
    TCV_NARROW_UNARY(T, tcv_i32, cast_f16_##T, tcv_f32, tcv_cast_f32_##T(x))                                           \
    TCV_NARROW_UNARY(T, tcv_i32, cast_bf16_##T, tcv_f32, tcv_cast_f32_##T(x))                                          \
    TCV_NARROW_UNARY(T, tcv_f32, cast_##T##_f16, tcv_i32, tcv_round_f16(tcv_cast_i32_f32(x)))                          \
    TCV_NARROW_UNARY(T, tcv_f32, cast_##T##_bf16, tcv_i32, tcv_round_bf16(tcv_cast_i32_f32(x)))
TCV_NARROW(i8, int8_t, -0x1p7f, 127.0f)
TCV_NARROW(u8, uint8_t, 0.0f, 255.0f)
TCV_NARROW(i16, int16_t, -0x1p15f, 32767.0f)
TCV_NARROW(u16, uint16_t, 0.0f, 65535.0f)
#undef TCV_NARROW
#undef TCV_NARROW_BINARY

#define TCV_CAST_PAIR(A, B)                                                                                            \
    TCV_NARROW_UNARY(A, tcv_i32, cast_##A##_##B, tcv_i32, tcv_wrap_##B(x))                                             \
    TCV_NARROW_UNARY(B, tcv_i32, cast_##B##_##A, tcv_i32, tcv_wrap_##A(x))
TCV_CAST_PAIR(i8, u8)
TCV_CAST_PAIR(i8, i16)
TCV_CAST_PAIR(i8, u16)
TCV_CAST_PAIR(u8, i16)
TCV_CAST_PAIR(u8, u16)
TCV_CAST_PAIR(i16, u16)
#undef TCV_CAST_PAIR

/* -- f16 and bf16 ----------------------------------------------------------------------------------------------------- */

/* A number of more than 24 digits, with a bit for those below 2^9 in place of them: an f32, and on the same side of every
 * number of bf16 and halfway between two. */
static TC_INLINE tcv_f32 tcv_odd_i32(tcv_i32 x)
{
    const tcv_i32 low = tcv_bit_and_i32(x, tcv_splat_i32(0x1ff)), kept = tcv_bit_and_i32(x, tcv_splat_i32(~0x1ff));
    const tcv_i32 odd = tcv_select_i32(tcv_cast_i32_bool(low), tcv_bit_or_i32(kept, tcv_splat_i32(0x100)), kept);
    const tcv_i32 most = tcv_splat_i32(1 << 24);
    const tcv_mask few = tcv_logical_and_bool(tcv_lt_i32(x, most), tcv_lt_i32(tcv_neg_i32(most), x));
    return tcv_cast_i32_f32(tcv_select_i32(few, x, odd));
}

#define TCV_HALF(T)                                                                                                    \
    static TC_INLINE tcv_f32 tcv_splat_##T(uint16_t x)                                                                 \
    {                                                                                                                  \
        return tcv_splat_f32(tc_cast_##T##_f32(x));                                                                    \
    }                                                                                                                  \
    static TC_INLINE tcv_f32 tcv_select_##T(tcv_mask m, tcv_f32 x, tcv_f32 y)                                          \
    {                                                                                                                  \
        return tcv_select_f32(m, x, y);                                                                                \
    }                                                                                                                  \
    TCV_NARROW_UNARY(T, tcv_f32, cast_##T##_f32, tcv_f32, x)                                                           \
    TCV_NARROW_UNARY(T, tcv_f32, cast_f32_##T, tcv_f32, tcv_round_##T(x))                                              \
    TCV_NARROW_UNARY(T, tcv_i32, cast_##T##_i32, tcv_f32, tcv_cast_f32_i32(x))                                         \
    TCV_NARROW_UNARY(T, tcv_f32, cast_i32_##T, tcv_i32, tcv_round_##T(tcv_odd_i32(x)))                                 \
    TCV_NARROW_UNARY(T, tcv_mask, cast_##T##_bool, tcv_f32, tcv_cast_f32_bool(x))                                      \
    TCV_NARROW_UNARY(T, tcv_f32, cast_bool_##T, tcv_mask, tcv_cast_bool_f32(x))
TCV_HALF(f16)
TCV_HALF(bf16)
TCV_NARROW_UNARY(f16, tcv_f32, cast_f16_bf16, tcv_f32, tcv_round_bf16(x))
TCV_NARROW_UNARY(bf16, tcv_f32, cast_bf16_f16, tcv_f32, tcv_round_f16(x))
#undef TCV_HALF
#undef TCV_NARROW_UNARY

#endif
