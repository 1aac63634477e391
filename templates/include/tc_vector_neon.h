/* SPDX-License-Identifier: Apache-2.0
 *
 * AArch64 NEON: four registers of 4 lanes. See tc_vector_parts.h for the contract of the tcq_ functions.
 */
#ifndef TC_VECTOR_NEON_H
#define TC_VECTOR_NEON_H

#include <arm_neon.h>

#define TCQ_COUNT 4
typedef float32x4_t tcq_f32;
typedef int32x4_t tcq_i32;
typedef uint32x4_t tcq_mask;

static TC_INLINE tcq_mask tcq_range(tc_index lo, tc_index hi) {
    static const int32_t lanes[4] = {0, 1, 2, 3};
    int32x4_t lane = vld1q_s32(lanes);
    int32x4_t below = vdupq_n_s32((int32_t)tc_max(-1, tc_min(lo, 4)));
    int32x4_t above = vdupq_n_s32((int32_t)tc_max(-1, tc_min(hi, 4)));
    return vandq_u32(vcgeq_s32(lane, below), vcltq_s32(lane, above));
}

static TC_INLINE tcq_f32 tcq_splat_f32(float x) {
    return vdupq_n_f32(x);
}
static TC_INLINE tcq_f32 tcq_load_f32(const float *p) {
    return vld1q_f32(p);
}
static TC_INLINE void tcq_store_f32(float *p, tcq_f32 x) {
    vst1q_f32(p, x);
}
static TC_INLINE tcq_i32 tcq_load_i32(const int32_t *p) {
    return vld1q_s32(p);
}
static TC_INLINE void tcq_store_i32(int32_t *p, tcq_i32 x) {
    vst1q_s32(p, x);
}
#include "tc_vector_lanes4.h"
static TC_INLINE tcq_f32 tcq_set_f32(const float *p, tc_index s) {
    float32x4_t x = vld1q_dup_f32(p);
    x = vld1q_lane_f32(p + s, x, 1);
    x = vld1q_lane_f32(p + 2 * s, x, 2);
    return vld1q_lane_f32(p + 3 * s, x, 3);
}
static TC_INLINE tcq_f32 tcq_even_f32(tcq_f32 x, tcq_f32 y) {
    return vuzp1q_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_odd_f32(tcq_f32 x, tcq_f32 y) {
    return vuzp2q_f32(x, y);
}
#define TCQ_BELOW
static TC_INLINE tcq_f32 tcq_below_f32(tcq_f32 x) {
    return vextq_f32(x, x, 1);
}
static TC_INLINE tcq_i32 tcq_splat_i32(int32_t x) {
    return vdupq_n_s32(x);
}
static TC_INLINE tcq_f32 tcq_asfloat_i32(tcq_i32 x) {
    return vreinterpretq_f32_s32(x);
}
static TC_INLINE tcq_i32 tcq_asint_f32(tcq_f32 x) {
    return vreinterpretq_s32_f32(x);
}

static TC_INLINE tcq_f32 tcq_add_f32(tcq_f32 x, tcq_f32 y) {
    return vaddq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_sub_f32(tcq_f32 x, tcq_f32 y) {
    return vsubq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_mul_f32(tcq_f32 x, tcq_f32 y) {
    return vmulq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_div_f32(tcq_f32 x, tcq_f32 y) {
    return vdivq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_fma_f32(tcq_f32 x, tcq_f32 y, tcq_f32 z) {
    return vfmaq_f32(z, x, y);
}
static TC_INLINE tcq_f32 tcq_sqrt_f32(tcq_f32 x) {
    return vsqrtq_f32(x);
}
static TC_INLINE tcq_f32 tcq_neg_f32(tcq_f32 x) {
    return vnegq_f32(x);
}
static TC_INLINE tcq_f32 tcq_abs_f32(tcq_f32 x) {
    return vabsq_f32(x);
}
/* FMAX and FMIN propagate NaN and order -0 below +0. */
static TC_INLINE tcq_f32 tcq_maximum_f32(tcq_f32 x, tcq_f32 y) {
    return vmaxq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_minimum_f32(tcq_f32 x, tcq_f32 y) {
    return vminq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_lesser_f32(tcq_f32 x, tcq_f32 y) {
    return vbslq_f32(vcltq_f32(x, y), x, y);
}
static TC_INLINE tcq_f32 tcq_greater_f32(tcq_f32 x, tcq_f32 y) {
    return vbslq_f32(vcgtq_f32(x, y), x, y);
}
static TC_INLINE tcq_mask tcq_eq_f32(tcq_f32 x, tcq_f32 y) {
    return vceqq_f32(x, y);
}
static TC_INLINE tcq_mask tcq_ne_f32(tcq_f32 x, tcq_f32 y) {
    return vmvnq_u32(vceqq_f32(x, y));
}
static TC_INLINE tcq_mask tcq_lt_f32(tcq_f32 x, tcq_f32 y) {
    return vcltq_f32(x, y);
}
static TC_INLINE tcq_mask tcq_le_f32(tcq_f32 x, tcq_f32 y) {
    return vcleq_f32(x, y);
}
static TC_INLINE tcq_f32 tcq_select_f32(tcq_mask m, tcq_f32 x, tcq_f32 y) {
    return vbslq_f32(m, x, y);
}

static TC_INLINE tcq_i32 tcq_add_i32(tcq_i32 x, tcq_i32 y) {
    return vaddq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_sub_i32(tcq_i32 x, tcq_i32 y) {
    return vsubq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_mul_i32(tcq_i32 x, tcq_i32 y) {
    return vmulq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_fma_short(tcq_i32 x, tcq_i32 y, tcq_i32 z) {
    return vmlaq_s32(z, x, y);
}

/* The instruction looks at the lowest byte of n. */
#define TCQ_SHIFTS
static TC_INLINE tcq_i32 tcq_places(tcq_i32 n) {
    return vreinterpretq_s32_u32(vminq_u32(vreinterpretq_u32_s32(n), vdupq_n_u32(32)));
}
static TC_INLINE tcq_i32 tcq_shift_left_i32(tcq_i32 x, tcq_i32 n) {
    return vshlq_s32(x, tcq_places(n));
}
static TC_INLINE tcq_i32 tcq_shift_right_i32(tcq_i32 x, tcq_i32 n) {
    return vshlq_s32(x, vnegq_s32(tcq_places(n)));
}

static TC_INLINE tcq_i32 tcq_abs_i32(tcq_i32 x) {
    return vabsq_s32(x);
}
static TC_INLINE tcq_i32 tcq_maximum_i32(tcq_i32 x, tcq_i32 y) {
    return vmaxq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_minimum_i32(tcq_i32 x, tcq_i32 y) {
    return vminq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_and_i32(tcq_i32 x, tcq_i32 y) {
    return vandq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_or_i32(tcq_i32 x, tcq_i32 y) {
    return vorrq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_xor_i32(tcq_i32 x, tcq_i32 y) {
    return veorq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_shl_i32(tcq_i32 x, int n) {
    return vshlq_s32(x, vdupq_n_s32(n));
}
static TC_INLINE tcq_i32 tcq_sar_i32(tcq_i32 x, int n) {
    return vshlq_s32(x, vdupq_n_s32(-n));
}
static TC_INLINE tcq_mask tcq_eq_i32(tcq_i32 x, tcq_i32 y) {
    return vceqq_s32(x, y);
}
static TC_INLINE tcq_mask tcq_lt_i32(tcq_i32 x, tcq_i32 y) {
    return vcltq_s32(x, y);
}
static TC_INLINE tcq_i32 tcq_select_i32(tcq_mask m, tcq_i32 x, tcq_i32 y) {
    return vbslq_s32(m, x, y);
}

static TC_INLINE tcq_f32 tcq_cast_i32_f32(tcq_i32 x) {
    return vcvtq_f32_s32(x);
}
/* The conversion saturates and takes NaN to 0. */
static TC_INLINE tcq_i32 tcq_truncate_f32(tcq_f32 x) {
    return vcvtq_s32_f32(x);
}
static TC_INLINE tcq_i32 tcq_cast_bounded_f32(tcq_f32 x) {
    return vcvtq_s32_f32(x);
}
static TC_INLINE tcq_i32 tcq_cast_f32_i32(tcq_f32 x) {
    return vcvtq_s32_f32(x);
}

static TC_INLINE tcq_i32 tcq_widen_i8(const int8_t *p) {
    uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)))));
}
static TC_INLINE tcq_i32 tcq_widen_u8(const uint8_t *p) {
    uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four))))));
}
static TC_INLINE tcq_i32 tcq_widen_i16(const int16_t *p) {
    return vmovl_s16(vld1_s16(p));
}
static TC_INLINE tcq_i32 tcq_widen_u16(const uint16_t *p) {
    return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
}
static TC_INLINE tcq_i32 tcq_pairs_8(const void *p) {
    return vreinterpretq_s32_u32(vmovl_u16(vreinterpret_u16_u8(vld1_u8(p))));
}
static TC_INLINE tcq_i32 tcq_pairs_16(const void *p) {
    return vreinterpretq_s32_u8(vld1q_u8(p));
}

#define TCQ_ROUND
static TC_INLINE tcq_f32 tcq_round_f32(tcq_f32 x) {
    return vrndnq_f32(x);
}

#define TCQ_F16
static TC_INLINE tcq_f32 tcq_load_f16(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static TC_INLINE void tcq_store_f16(uint16_t *p, tcq_f32 x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
static TC_INLINE tcq_f32 tcq_unpack_f16(tcq_i32 pattern) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(vreinterpretq_u32_s32(pattern))));
}
static TC_INLINE tcq_f32 tcq_round_f16(tcq_f32 x) {
    return vcvt_f32_f16(vcvt_f16_f32(x));
}

static TC_INLINE tcq_mask tcq_splat_bool(uint8_t x) {
    return vdupq_n_u32(x ? UINT32_MAX : 0);
}
static TC_INLINE tcq_mask tcq_and_bool(tcq_mask x, tcq_mask y) {
    return vandq_u32(x, y);
}
static TC_INLINE tcq_mask tcq_or_bool(tcq_mask x, tcq_mask y) {
    return vorrq_u32(x, y);
}
static TC_INLINE tcq_mask tcq_xor_bool(tcq_mask x, tcq_mask y) {
    return veorq_u32(x, y);
}
static TC_INLINE tcq_mask tcq_not_bool(tcq_mask x) {
    return vmvnq_u32(x);
}
static TC_INLINE uint8_t tcq_any_bool(tcq_mask x) {
    return vmaxvq_u32(x) != 0;
}
static TC_INLINE tcq_mask tcq_load_bool(const uint8_t *p) {
    uint32_t wide[4] = {p[0], p[1], p[2], p[3]};
    uint32x4_t x = vld1q_u32(wide);
    return vtstq_u32(x, x);
}
static TC_INLINE void tcq_store_bool(uint8_t *p, tcq_mask x) {
    uint16x4_t words = vmovn_u32(x);
    uint8x8_t bytes = vand_u8(vmovn_u16(vcombine_u16(words, words)), vdup_n_u8(1));
    vst1_lane_u8(p, bytes, 0);
    vst1_lane_u8(p + 1, bytes, 1);
    vst1_lane_u8(p + 2, bytes, 2);
    vst1_lane_u8(p + 3, bytes, 3);
}

static TC_INLINE float tcq_sum_f32(tcq_f32 x) {
    float32x2_t h = vadd_f32(vget_low_f32(x), vget_high_f32(x));
    return vget_lane_f32(h, 0) + vget_lane_f32(h, 1);
}
static TC_INLINE int32_t tcq_sum_i32(tcq_i32 x) {
    return vaddvq_s32(x);
}
static TC_INLINE int32_t tcq_max_i32(tcq_i32 x) {
    return vmaxvq_s32(x);
}
static TC_INLINE int32_t tcq_min_i32(tcq_i32 x) {
    return vminvq_s32(x);
}

#endif
