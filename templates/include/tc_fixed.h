/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of requantization as few instructions of a processor of 32 bits: exactly what their compositions compute
 * (emit/integers/fixed_point.py).
 */
#ifndef TC_FIXED_H
#define TC_FIXED_H

#include "tc_kernel.h"
#include "tc_scalar.h"

#if TC_THUMB1
/* a * b of 16-bit halves. The upper word; its lower neighbour's upper half in *below. */
static TC_INLINE int32_t tc_upper_word(int32_t a, int32_t b, uint32_t *below)
{
    const uint32_t a0 = (uint32_t)a & 0xffff, b0 = (uint32_t)b & 0xffff;
    const int32_t a1 = a >> 16, b1 = b >> 16;
    const int32_t middle = a1 * (int32_t)b0 + (int32_t)(a0 * b0 >> 16);
    const int32_t other = (int32_t)a0 * b1 + (middle & 0xffff);
    *below = (uint32_t)other & 0xffff;
    return a1 * b1 + (middle >> 16) + (other >> 16);
}
#endif

/* min((a * b + 2^30) >> 31, INT32_MAX) */
static TC_INLINE int32_t tc_high_half(int32_t a, int32_t b)
{
#if TC_THUMB1
    uint32_t below;
    const int32_t upper = tc_upper_word(a, b, &below);
    return upper == 1 << 30 ? INT32_MAX : (int32_t)(((uint32_t)upper << 1) + ((below + 0x4000) >> 15));
#else
    const int64_t product = (int64_t)a * b + ((int64_t)1 << 30);
#if defined(__ARM_FEATURE_DSP) && !defined(__aarch64__)
    /* Only -2^31 * -2^31 is too large: its upper half doubled saturates, and the bit below is 0. */
    int32_t y;
    __asm__("qadd %0, %1, %1" : "=r"(y) : "r"((int32_t)(product >> 32)));
    return (int32_t)((uint32_t)y + ((uint32_t)product >> 31));
#else
    const int64_t y = product >> 31;
    return y > INT32_MAX ? INT32_MAX : (int32_t)y;
#endif
#endif
}

/* x + ((x * b + 2^31) >> 32) */
static TC_INLINE int32_t tc_upper_half(int32_t x, int32_t b)
{
#if defined(__ARM_FEATURE_DSP) && !defined(__aarch64__)
    int32_t y;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(y) : "r"(x), "r"(b));
    return y;
#elif TC_THUMB1
    uint32_t below;
    const int32_t upper = tc_upper_word(x, b, &below);
    return (int32_t)((uint32_t)x + (uint32_t)upper + (below >> 15));
#else
    return (int32_t)((uint32_t)x + (uint32_t)(((int64_t)x * b + ((int64_t)1 << 31)) >> 32));
#endif
}

/* tc_shift_left_i32 and tc_shift_right_i32 for n from 0 to 255, of which ARM's instructions take as much. */
#if defined(__arm__)
#if TC_THUMB1
#define TC_SHIFT_BY(name, instruction)                                                                                 \
    static TC_INLINE int32_t tc_##name##_by(int32_t x, int32_t n)                                                      \
    {                                                                                                                  \
        __asm__(".syntax unified\n\t" instruction "s %0, %1" : "+l"(x) : "l"(n) : "cc");                               \
        return x;                                                                                                      \
    }
#else
#define TC_SHIFT_BY(name, instruction)                                                                                 \
    static TC_INLINE int32_t tc_##name##_by(int32_t x, int32_t n)                                                      \
    {                                                                                                                  \
        int32_t y;                                                                                                     \
        __asm__(instruction " %0, %1, %2" : "=r"(y) : "r"(x), "r"(n));                                                 \
        return y;                                                                                                      \
    }
#endif
TC_SHIFT_BY(shift_left, "lsl")
TC_SHIFT_BY(shift_right, "asr")
#undef TC_SHIFT_BY
#else
#define tc_shift_left_by tc_shift_left_i32
#define tc_shift_right_by tc_shift_right_i32
#endif

/* x + zero within the bounds of i8; zero is one of i8 itself */
static TC_INLINE int8_t tc_limited(int32_t x, int32_t zero)
{
#if defined(__ARM_FEATURE_DSP) && !defined(__aarch64__)
    int32_t y = x;
    if (zero)
        __asm__("qadd %0, %1, %2" : "=r"(y) : "r"(x), "r"(zero));
    __asm__("ssat %0, #8, %1" : "=r"(y) : "r"(y));
    return (int8_t)y;
#else
    x = x < -128 - zero ? -128 - zero : x > 127 - zero ? 127 - zero : x;
    return (int8_t)(x + zero);
#endif
}

#endif
