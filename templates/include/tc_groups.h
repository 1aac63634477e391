/* SPDX-License-Identifier: Apache-2.0
 *
 * What lanes that are the results of several groups take of these groups' operands: of a convolution with few channels a
 * group, whose channels lie side by side. A quad is four lanes from a multiple of 4 on. Offsets and counts are constants.
 *
 *   tcv_quads_f32(p, o0, o1, o2, o3)            quad j has p[oj] to p[oj + 3]
 *   tcv_fma_in_quads_f32(x, i, y, z)            in each quad element i of the quad of x, times y, plus z
 *   tcv_quad_splats_f32(p, o0, o1, o2, o3)      all lanes of quad j have p[oj]
 *   tcv_spread_f32(p, outs, step, c, groups)    lane l has p[g * step + c] of its group g = l / outs; lanes behind the last
 *                                               of the `groups` have what that one has. Reads p[0] to p[groups * step - 1]
 */
#ifndef TC_GROUPS_H
#define TC_GROUPS_H

#include "tc_vector.h"

#if !defined(TC_ISA_SCALAR)
#define TC_GROUP_OFFSET(l) ((int)tc_min((l) / outs, groups - 1) * step + c)
#define TC_QUAD_OFFSETS(l) TC_GROUP_OFFSET(l), TC_GROUP_OFFSET((l) + 1), TC_GROUP_OFFSET((l) + 2), TC_GROUP_OFFSET((l) + 3)
#define TC_QUAD_ELEMENTS(l)                                                                                            \
    p[TC_GROUP_OFFSET(l)], p[TC_GROUP_OFFSET((l) + 1)], p[TC_GROUP_OFFSET((l) + 2)], p[TC_GROUP_OFFSET((l) + 3)]

#if defined(TC_ISA_AVX512)

static TC_INLINE tcv_f32 tcv_quads_f32(const float *p, int o0, int o1, int o2, int o3)
{
    if (o1 == o0 + 4 && o2 == o0 + 8 && o3 == o0 + 12)
        return (tcv_f32){_mm512_loadu_ps(p + o0)};
    __m512 x = _mm512_broadcast_f32x4(_mm_loadu_ps(p + o0));
    if (o1 != o0)
        x = _mm512_mask_broadcast_f32x4(x, o2 == o1 ? o3 == o1 ? 0xfff0 : 0x0ff0 : 0x00f0, _mm_loadu_ps(p + o1));
    if (o2 != o1)
        x = _mm512_mask_broadcast_f32x4(x, o3 == o2 ? 0xff00 : 0x0f00, _mm_loadu_ps(p + o2));
    if (o3 != o2)
        x = _mm512_mask_broadcast_f32x4(x, 0xf000, _mm_loadu_ps(p + o3));
    return (tcv_f32){x};
}

static TC_INLINE tcv_f32 tcv_quad_splats_f32(const float *p, int o0, int o1, int o2, int o3)
{
    __m512 x = _mm512_set1_ps(p[o0]);
    if (o1 != o0)
        x = _mm512_mask_blend_ps(0xfff0, x, _mm512_set1_ps(p[o1]));
    if (o2 != o1)
        x = _mm512_mask_blend_ps(0xff00, x, _mm512_set1_ps(p[o2]));
    if (o3 != o2)
        x = _mm512_mask_blend_ps(0xf000, x, _mm512_set1_ps(p[o3]));
    return (tcv_f32){x};
}

#define tcv_fma_in_quads_f32(x, i, y, z) ((tcv_f32){_mm512_fmadd_ps(_mm512_permute_ps((x).a, (i) * 0x55), (y).a, (z).a)})

/* The first n elements; zeros behind them. */
static TC_INLINE __m512 tcq_first_f32(const float *p, int n)
{
    return n >= 16 ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static TC_INLINE tcv_f32 tcv_spread_f32(const float *p, int outs, int step, int c, int groups)
{
    const int n = groups * step;
    const __m512i at = (__m512i)(__v16si){TC_QUAD_OFFSETS(0), TC_QUAD_OFFSETS(4), TC_QUAD_OFFSETS(8), TC_QUAD_OFFSETS(12)};
    if (n <= 16)
        return (tcv_f32){_mm512_permutexvar_ps(at, tcq_first_f32(p, n))};
    if (n <= 32)
        return (tcv_f32){_mm512_permutex2var_ps(_mm512_loadu_ps(p), at, tcq_first_f32(p + 16, n - 16))};
    return (tcv_f32){_mm512_i32gather_ps(at, p, 4)};
}

#elif defined(TC_ISA_AVX2)

static TC_INLINE __m256 tcq_two_quads_f32(const float *p, int o0, int o1)
{
    if (o1 == o0 + 4)
        return _mm256_loadu_ps(p + o0);
    const __m256 x = _mm256_broadcast_ps((const __m128 *)(const void *)(p + o0));
    return o1 == o0 ? x : _mm256_insertf128_ps(x, _mm_loadu_ps(p + o1), 1);
}

static TC_INLINE tcv_f32 tcv_quads_f32(const float *p, int o0, int o1, int o2, int o3)
{
    return (tcv_f32){tcq_two_quads_f32(p, o0, o1), tcq_two_quads_f32(p, o2, o3)};
}

static TC_INLINE __m256 tcq_two_splats_f32(const float *p, int o0, int o1)
{
    const __m256 x = _mm256_set1_ps(p[o0]);
    return o1 == o0 ? x : _mm256_blend_ps(x, _mm256_set1_ps(p[o1]), 0xf0);
}

static TC_INLINE tcv_f32 tcv_quad_splats_f32(const float *p, int o0, int o1, int o2, int o3)
{
    return (tcv_f32){tcq_two_splats_f32(p, o0, o1), tcq_two_splats_f32(p, o2, o3)};
}

#define tcq_fma_in_quads_f32(x, i, y, z) _mm256_fmadd_ps(_mm256_permute_ps(x, (i) * 0x55), y, z)
#define tcv_fma_in_quads_f32(x, i, y, z)                                                                               \
    ((tcv_f32){tcq_fma_in_quads_f32((x).a, i, (y).a, (z).a), tcq_fma_in_quads_f32((x).b, i, (y).b, (z).b)})

/* Lanes l to l + 7. */
static TC_INLINE __m256 tcq_spread_f32(const float *p, int outs, int step, int c, int groups, int l)
{
    const int first = TC_GROUP_OFFSET(l) - c;
    if (TC_GROUP_OFFSET(l + 7) - first < 8 && first + 8 <= groups * step)
        return _mm256_permutevar8x32_ps(_mm256_loadu_ps(p + first),
                                        _mm256_sub_epi32((__m256i)(__v8si){TC_QUAD_OFFSETS(l), TC_QUAD_OFFSETS(l + 4)},
                                                         _mm256_set1_epi32(first)));
    return (__m256){TC_QUAD_ELEMENTS(l), TC_QUAD_ELEMENTS(l + 4)};
}

static TC_INLINE tcv_f32 tcv_spread_f32(const float *p, int outs, int step, int c, int groups)
{
    return (tcv_f32){tcq_spread_f32(p, outs, step, c, groups, 0), tcq_spread_f32(p, outs, step, c, groups, 8)};
}

#else

static TC_INLINE tcv_f32 tcv_quads_f32(const float *p, int o0, int o1, int o2, int o3)
{
    return (tcv_f32){tcq_load_f32(p + o0), tcq_load_f32(p + o1), tcq_load_f32(p + o2), tcq_load_f32(p + o3)};
}

static TC_INLINE tcv_f32 tcv_quad_splats_f32(const float *p, int o0, int o1, int o2, int o3)
{
    return (tcv_f32){tcq_splat_f32(p[o0]), tcq_splat_f32(p[o1]), tcq_splat_f32(p[o2]), tcq_splat_f32(p[o3])};
}

#if defined(TC_ISA_NEON)
#define tcq_fma_in_quads_f32(x, i, y, z) vfmaq_laneq_f32(z, y, x, i)
#else
#define tcq_fma_in_quads_f32(x, i, y, z) tcq_fma_f32(_mm_shuffle_ps(x, x, (i) * 0x55), y, z)
#endif
#define tcv_fma_in_quads_f32(x, i, y, z)                                                                               \
    ((tcv_f32){tcq_fma_in_quads_f32((x).a, i, (y).a, (z).a), tcq_fma_in_quads_f32((x).b, i, (y).b, (z).b),             \
               tcq_fma_in_quads_f32((x).c, i, (y).c, (z).c), tcq_fma_in_quads_f32((x).d, i, (y).d, (z).d)})

static TC_INLINE tcv_f32 tcv_spread_f32(const float *p, int outs, int step, int c, int groups)
{
    return (tcv_f32){(tcq_f32){TC_QUAD_ELEMENTS(0)}, (tcq_f32){TC_QUAD_ELEMENTS(4)}, (tcq_f32){TC_QUAD_ELEMENTS(8)},
                     (tcq_f32){TC_QUAD_ELEMENTS(12)}};
}

#endif

#undef TC_GROUP_OFFSET
#undef TC_QUAD_OFFSETS
#undef TC_QUAD_ELEMENTS
#endif
#endif
