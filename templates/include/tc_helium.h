/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of bytes with Helium, ARM's vectors of 128 bits (emit/integers/vectors.py). Integers wrap, so the order of terms
 * changes no bit. What follows the sums is computed by four neighbouring channels: a vector of narrow integers is
 * widened to i32 when it is loaded.
 */
#ifndef TC_HELIUM_H
#define TC_HELIUM_H

#include <arm_mve.h>

#include "tc_bytes.h"
#include "tc_scalar.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bytes of a word are taken from its low end"
#endif

/* -- sums ---------------------------------------------------------------------------------------------------------- */

static TC_INLINE int32_t tch_dot(const int8_t *x, const int8_t *w, tc_index terms)
{
    int32_t sum = 0;
    for (; terms > 0; terms -= 16, x += 16, w += 16) {
        const mve_pred16_t exists = vctp8q((uint32_t)terms);
        sum = vmladavaq_s8(sum, vldrbq_z_s8(x, exists), vldrbq_z_s8(w, exists));
    }
    return sum;
}

/* Of each point four sums: those of four rows of weights. */
static inline void tch_dots(int32_t *sums, const int8_t *x, tc_index step, int points, const int8_t *w, tc_index pitch,
                            tc_index terms)
{
    for (int i = 0; i < 4 * points; ++i)
        sums[i] = tch_dot(x + i / 4 * step, w + i % 4 * pitch, terms);
}

/* -- columns ------------------------------------------------------------------------------------------------------- */

static TC_INLINE void tch_copy(int8_t *to, const int8_t *from, tc_index length)
{
    if (__builtin_constant_p(length) && length % 16 == 0 && length <= 64)
        for (tc_index i = 0; i < length; i += 16)
            vstrbq_s8(to + i, vldrbq_s8(from + i));
    else if (__builtin_constant_p(length) && length <= 4)
        __builtin_memcpy(to, from, (size_t)length);
    else
        __asm__ volatile("wlstp.8 lr, %[n], 2f\n1:\tvldrb.u8 q0, [%[from]], #16\n\tvstrb.8 q0, [%[to]], #16\n\t"
                         "letp lr, 1b\n2:"
                         : [from] "+r"(from), [to] "+r"(to)
                         : [n] "r"(length)
                         : "lr", "q0", "memory");
}

static TC_INLINE void tch_fill(int8_t *to, int8_t value, tc_index length)
{
    const int8x16_t x = vdupq_n_s8(value);
    __asm__ volatile("wlstp.8 lr, %[n], 2f\n1:\tvstrb.8 %q[x], [%[to]], #16\n\tletp lr, 1b\n2:"
                     : [to] "+r"(to)
                     : [n] "r"(length), [x] "w"(x)
                     : "lr", "memory");
}

/* A run of `length` bytes of which low to high-1 exist; the others are `other`. Returns its end. */
static TC_INLINE int8_t *tch_copy_run(int8_t *to, const int8_t *from, tc_index low, tc_index high, tc_index length,
                                      int8_t other)
{
    if (low <= 0 && high >= length) {
        tch_copy(to, from, length);
    } else {
        tch_fill(to, other, length);
        if (low < high)
            tch_copy(to + low, from + low, high - low);
    }
    return to + length;
}

/* -- neighbouring channels ----------------------------------------------------------------------------------------- */

/* tch_spread8, tch_spread4: the bytes of as many channels, `apart` bytes apart. tch_stage8, tch_stage4: `width` points
 * of a row, of which low to high-1 exist; `step` bytes apart in memory, `slots` bytes in each channel's part of `to`. */
#define TCH_CHANNELS(count, bits, lanes)                                                                               \
    static TC_INLINE void tch_spread##count(int8_t *to, tc_index apart, const int8_t *from)                            \
    {                                                                                                                  \
        const uint##lanes##_t places = vmulq_n_u##bits(vidupq_n_u##bits(0, 1), (uint##bits##_t)apart);                 \
        vstrbq_scatter_offset_s##bits(to, places, vldrbq_s##bits(from));                                               \
    }                                                                                                                  \
    static TC_INLINE void tch_stage##count(int8_t *to, tc_index apart, const int8_t *from, tc_index low,               \
                                           tc_index high, tc_index width, tc_index step, tc_index slots, int8_t other) \
    {                                                                                                                  \
        const uint##lanes##_t places = vmulq_n_u##bits(vidupq_n_u##bits(0, 1), (uint##bits##_t)apart);                 \
        const int##lanes##_t nothing = vdupq_n_s##bits(other);                                                         \
        tc_index i = 0;                                                                                                \
        TC_UNROLL(1)                                                                                                   \
        for (; i < low; ++i, to += slots)                                                                              \
            vstrbq_scatter_offset_s##bits(to, places, nothing);                                                        \
        from += low * step;                                                                                            \
        if (__builtin_constant_p(high) && high <= 8)                                                                   \
            for (; i < high; ++i, to += slots, from += step)                                                           \
                vstrbq_scatter_offset_s##bits(to, places, vldrbq_s##bits(from));                                       \
        else                                                                                                           \
            TC_UNROLL(1)                                                                                               \
        for (; i < high; ++i, to += slots, from += step)                                                               \
            vstrbq_scatter_offset_s##bits(to, places, vldrbq_s##bits(from));                                           \
        TC_UNROLL(1)                                                                                                   \
        for (; i < width; ++i, to += slots)                                                                            \
            vstrbq_scatter_offset_s##bits(to, places, nothing);                                                        \
    }
TCH_CHANNELS(8, 16, 16x8)
TCH_CHANNELS(4, 32, 32x4)
#undef TCH_CHANNELS

/* Sums of `count` windows of four channels: x are those of the first channel, `apart` bytes before the next one's and
 * `step` bytes apart; w has the weights of the four channels, each `run` bytes, as many as a window has. */
static TC_INLINE void tch_windows(int32_t *sums, const int8_t *x, tc_index apart, tc_index step, const int8_t *w,
                                  tc_index run, tc_index count)
{
#ifdef __OPTIMIZE__
    if (__builtin_constant_p(run) && run <= 16 && __builtin_constant_p(step) && step < 128) {
        /* named registers: GCC does not always find as many */
        register const int8_t *x0 __asm__("r1") = x, *x1 __asm__("r3") = x + apart, *x2 __asm__("r5") = x + 2 * apart,
                                  *x3 __asm__("r8") = x + 3 * apart, *taps __asm__("r9") = w;
        register int32_t *to __asm__("r10") = sums;
        register tc_index left __asm__("r11") = count;
        /* zero behind a channel's weights */
        __asm__ volatile("movs r0, %[run]\n\tvctp.8 r0\n\tvpstttt\n\tvldrbt.u8 q4, [%[w]]\n\t"
                         "vldrbt.u8 q5, [%[w], %[run]]\n\tvldrbt.u8 q6, [%[w], %[run2]]\n\t"
                         "vldrbt.u8 q7, [%[w], %[run3]]\n\tdls lr, %[count]\n1:\t"
                         "vldrb.u8 q0, [%[x0]], %[step]\n\tvldrb.u8 q1, [%[x1]], %[step]\n\tvmladav.s8 r0, q0, q4\n\t"
                         "vldrb.u8 q2, [%[x2]], %[step]\n\tvmladav.s8 r2, q1, q5\n\tvldrb.u8 q3, [%[x3]], %[step]\n\t"
                         "vmladav.s8 r4, q2, q6\n\tvmladav.s8 r6, q3, q7\n\tstmia %[sums]!, {r0, r2, r4, r6}\n\t"
                         "le lr, 1b"
                         : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [sums] "+r"(to)
                         : [w] "r"(taps), [step] "i"(step), [count] "r"(left), [run] "i"(run), [run2] "i"(2 * run),
                           [run3] "i"(3 * run)
                         : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "p0", "cc",
                           "memory");
        return;
    }
#endif
    for (tc_index i = 0; i < count; ++i)
        for (int j = 0; j < 4; ++j)
            sums[4 * i + j] = tch_dot(x + i * step + j * apart, w + j * run, run);
}

/* -- what follows the sums ----------------------------------------------------------------------------------------- */

static TC_INLINE int32x4_t tch_load_i32(const int32_t *p)
{
    return vldrwq_s32(p);
}

static TC_INLINE int32x4_t tch_load_i8(const int8_t *p)
{
    return vldrbq_s32(p);
}

static TC_INLINE int32x4_t tch_load_u8(const uint8_t *p)
{
    return vreinterpretq_s32_u32(vldrbq_u32(p));
}

/* Values within the bounds of i8. */
static TC_INLINE void tch_store_i8(int8_t *p, int32x4_t x)
{
    vstrbq_s32(p, x);
}

static TC_INLINE void tch_store_i32(int32_t *p, int32x4_t x)
{
    vstrwq_s32(p, x);
}

static TC_INLINE void tch_store_u8(uint8_t *p, int32x4_t x)
{
    vstrbq_u32(p, vreinterpretq_u32_s32(x));
}

/* Elements at four places. */
static TC_INLINE int32x4_t tch_gather_i32(const int32_t *p, int32x4_t at)
{
    return vldrwq_gather_shifted_offset_s32(p, vreinterpretq_u32_s32(at));
}

static TC_INLINE int32x4_t tch_gather_i8(const int8_t *p, int32x4_t at)
{
    return vldrbq_gather_offset_s32(p, vreinterpretq_u32_s32(at));
}

/* The same of the lanes that exist. Those that are loaded are 0 elsewhere. */
static TC_INLINE int32x4_t tch_load_some_i32(const int32_t *p, mve_pred16_t exists)
{
    return vldrwq_z_s32(p, exists);
}

static TC_INLINE int32x4_t tch_load_some_i8(const int8_t *p, mve_pred16_t exists)
{
    return vldrbq_z_s32(p, exists);
}

static TC_INLINE int32x4_t tch_load_some_u8(const uint8_t *p, mve_pred16_t exists)
{
    return vreinterpretq_s32_u32(vldrbq_z_u32(p, exists));
}

static TC_INLINE void tch_store_some_i8(int8_t *p, int32x4_t x, mve_pred16_t exists)
{
    vstrbq_p_s32(p, x, exists);
}

static TC_INLINE void tch_store_some_u8(uint8_t *p, int32x4_t x, mve_pred16_t exists)
{
    vstrbq_p_u32(p, vreinterpretq_u32_s32(x), exists);
}

static TC_INLINE void tch_store_some_i32(int32_t *p, int32x4_t x, mve_pred16_t exists)
{
    vstrwq_p_s32(p, x, exists);
}

static TC_INLINE int32x4_t tch_gather_some_i32(const int32_t *p, int32x4_t at, mve_pred16_t exists)
{
    return vldrwq_gather_shifted_offset_z_s32(p, vreinterpretq_u32_s32(at), exists);
}

static TC_INLINE int32x4_t tch_gather_some_i8(const int8_t *p, int32x4_t at, mve_pred16_t exists)
{
    return vldrbq_gather_offset_z_s32(p, vreinterpretq_u32_s32(at), exists);
}

/* tc_shift_left_i32, tc_shift_right_i32 and tc_div_i32 by one number. */
static TC_INLINE int32x4_t tch_shift_left(int32x4_t x, int32_t n)
{
    return vshlq_r_s32(x, (uint32_t)n < 32 ? n : 32);
}

static TC_INLINE int32x4_t tch_shift_right(int32x4_t x, int32_t n)
{
    return vshlq_r_s32(x, (uint32_t)n < 32 ? -n : -32);
}

static TC_INLINE int32x4_t tch_div(int32x4_t x, int32_t by)
{
    x = vsetq_lane_s32(tc_div_i32(vgetq_lane_s32(x, 0), by), x, 0);
    x = vsetq_lane_s32(tc_div_i32(vgetq_lane_s32(x, 1), by), x, 1);
    x = vsetq_lane_s32(tc_div_i32(vgetq_lane_s32(x, 2), by), x, 2);
    return vsetq_lane_s32(tc_div_i32(vgetq_lane_s32(x, 3), by), x, 3);
}

/* As tc_fixed.h has them. */
static TC_INLINE int32x4_t tch_high_half(int32x4_t a, int32x4_t b)
{
    return vqrdmulhq_s32(a, b);
}

static TC_INLINE int32x4_t tch_upper_half(int32x4_t x, int32x4_t b)
{
    return vaddq_s32(x, vrmulhq_s32(x, b));
}

/* The same for b = 2q - 2^32 of a q from 2^30 on: the product with q, doubled. */
static TC_INLINE int32x4_t tch_upper_half_doubled(int32x4_t x, int32x4_t b)
{
    return vqrdmulhq_s32(x, vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(b), 1)));
}

/* An instruction takes shifts from -128 to 127; from 32 on all bits are gone. */
static TC_INLINE int32x4_t tch_shift_left_by(int32x4_t x, int32x4_t n)
{
    return vshlq_s32(x, vminq_s32(n, vdupq_n_s32(32)));
}

static TC_INLINE int32x4_t tch_shift_right_by(int32x4_t x, int32x4_t n)
{
    return vshlq_s32(x, vnegq_s32(vminq_s32(n, vdupq_n_s32(32))));
}

/* x + ((x >> 31) & y) */
static TC_INLINE int32x4_t tch_add_where_negative(int32x4_t x, int32x4_t y)
{
    __asm__("vpt.s32 lt, %q0, zr\n\tvaddt.i32 %q0, %q0, %q1" : "+w"(x) : "w"(y) : "p0");
    return x;
}

static TC_INLINE int32x4_t tch_limited(int32x4_t x, int32_t zero)
{
    if (zero)
        x = vqaddq_n_s32(x, zero);
    __asm__("vqmovnb.s32 %q0, %q0\n\tvqmovnb.s16 %q0, %q0" : "+w"(x));
    return x; /* of each lane the low byte */
}

#endif
