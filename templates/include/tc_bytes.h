/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of bytes on processors whose registers have 32 bits (emit/integers/products.py). Integers wrap, so the order of
 * terms changes no bit.
 *
 * Terms are taken by groups of four, a word in memory. A widened group is two words of two 16-bit numbers: the bytes 0
 * and 2, and the bytes 1 and 3, which is what SXTB16 gives. The columns of two points lie interleaved: of each group
 * the two words of the first point, then those of the second.
 */
#ifndef TC_BYTES_H
#define TC_BYTES_H

#include "tc_kernel.h"
#include "tc_scalar.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bytes of a word are taken from its low end"
#endif

/* -- words --------------------------------------------------------------------------------------------------------- */

static TC_INLINE uint32_t tc_load_word(const void *p)
{
    uint32_t x;
    __builtin_memcpy(&x, p, 4);
    return x;
}

/* Two sign-extended bytes: 0 and 2, or 1 and 3; products of their halves. */
#ifdef __ARM_FEATURE_SIMD32
static TC_INLINE uint32_t tc_even(uint32_t x)
{
    uint32_t y;
    __asm__("sxtb16 %0, %1" : "=r"(y) : "r"(x));
    return y;
}

static TC_INLINE uint32_t tc_odd(uint32_t x)
{
    uint32_t y;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(y) : "r"(x));
    return y;
}

static TC_INLINE int32_t tc_multiply_low(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t y;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(sum));
    return y;
}

static TC_INLINE int32_t tc_multiply_high(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t y;
    __asm__("smlatt %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(sum));
    return y;
}
#else
static TC_INLINE uint32_t tc_even(uint32_t x)
{
    return ((uint32_t)(int8_t)x & 0xffff) | (uint32_t)(int8_t)(x >> 16) << 16;
}

static TC_INLINE uint32_t tc_odd(uint32_t x)
{
    return tc_even(x >> 8);
}

static TC_INLINE int32_t tc_multiply_low(uint32_t a, uint32_t b, int32_t sum)
{
    return (int32_t)((uint32_t)sum + (uint32_t)((int16_t)a * (int16_t)b));
}

static TC_INLINE int32_t tc_multiply_high(uint32_t a, uint32_t b, int32_t sum)
{
    return tc_multiply_low(a >> 16, b >> 16, sum);
}
#endif

/* -- columns ------------------------------------------------------------------------------------------------------- */

/* Widens one group of bytes into two words. */
static TC_INLINE void tc_widen_group(uint32_t *to, const int8_t *from)
{
    const uint32_t x = tc_load_word(from);
    to[0] = tc_even(x);
    to[1] = tc_odd(x);
}

/* Widens groups of bytes into every second pair of words. */
static TC_INLINE void tc_widen(uint32_t *to, const int8_t *from, tc_index groups)
{
    TC_UNROLL(4)
    for (tc_index i = 0; i < groups; ++i, to += 4)
        tc_widen_group(to, from + 4 * i);
}

/* The same of a run of `length` bytes of which low to high-1 exist; the others are `other`. All are multiples of 4. */
static TC_INLINE uint32_t *tc_widen_run(uint32_t *to, const int8_t *from, tc_index low, tc_index high, tc_index length,
                                        int8_t other)
{
    const uint32_t twice = ((uint32_t)other & 0xffff) * 0x10001u;
    tc_index i = 0;
    for (; i < low; i += 4, to += 4)
        to[0] = to[1] = twice;
    for (; i < high; i += 4, to += 4)
        tc_widen_group(to, from + i);
    for (; i < length; i += 4, to += 4)
        to[0] = to[1] = twice;
    return to;
}

/* A run of any length, not widened. */
static TC_INLINE int8_t *tc_copy_run(int8_t *to, const int8_t *from, tc_index low, tc_index high, tc_index length,
                                     int8_t other)
{
    tc_index i = 0;
    for (; i < low; ++i)
        to[i] = other;
    for (; i + 4 <= high; i += 4)
        __builtin_memcpy(to + i, from + i, 4);
    for (; i < high; ++i)
        to[i] = from[i];
    for (; i < length; ++i)
        to[i] = other;
    return to + length;
}

/* Of four neighbouring channels: `width` points of a row, of which low to high-1 exist, `step` bytes apart. */
static TC_INLINE void tc_widen_row(uint32_t *to, const int8_t *from, tc_index low, tc_index high, tc_index width,
                                   tc_index step, int8_t other)
{
    const uint32_t twice = ((uint32_t)other & 0xffff) * 0x10001u;
    tc_index i = 0;
    for (; i < low; ++i, to += 2)
        to[0] = to[1] = twice;
    for (; i < high; ++i, to += 2)
        tc_widen_group(to, from + i * step);
    for (; i < width; ++i, to += 2)
        to[0] = to[1] = twice;
}

/* -- products ------------------------------------------------------------------------------------------------------ */

/* TC_DOT_2X2: the sums of two columns with two rows of weights that are `apart` bytes (a number below 4092) apart.
 * TC_DOT_2X1: with one row. TC_DOT_1X4, TC_DOT_1X1: of one row of bytes x with four rows of weights, or one. */
#if defined(__ARM_FEATURE_SIMD32) && defined(__OPTIMIZE__) /* without optimisation too few registers are free */
#define TC_DOT_ROW(load, c0, c1)                                                                                       \
    load "sxtb16 %[u], %[t]\n\tsxtb16 %[t], %[t], ror #8\n\tsmlad %[" c0 "], %[u], r4, %[" c0 "]\n\tsmlad %[" c1       \
         "], %[u], r6, %[" c1 "]\n\tsmlad %[" c0 "], %[t], r5, %[" c0 "]\n\tsmlad %[" c1 "], %[t], r8, %[" c1 "]\n\t"
#define TC_DOT_GROUP                                                                                                   \
    "ldmia %[a]!, {r4, r5, r6, r8}\n\t" TC_DOT_ROW("ldr %[t], [%[w], %[apart]]\n\t", "c01", "c11")                     \
        TC_DOT_ROW("ldr %[t], [%[w]], #4\n\t", "c00", "c10")
/* The end of the columns is in memory: with it all 14 registers would be taken. */
#define TC_DOT_GROUPS(groups, c00_, c01_, c10_, c11_, apart_, before, after)                                           \
    __asm__(before groups after                                                                                        \
            : [a] "+r"(tc_a), [w] "+r"(tc_w), [t] "=&r"(tc_t), [u] "=&r"(tc_u), [c00] "+r"(c00_), [c01] "+r"(c01_),    \
              [c10] "+r"(c10_), [c11] "+r"(c11_)                                                                       \
            : [apart] "n"(apart_), [end] "m"(tc_end)                                                                   \
            : "r4", "r5", "r6", "r8", "memory", "cc")
#define TC_DOT_LOOP "ldr %[t], %[end]\n\tcmp %[a], %[t]\n\tbne 1b"
#define TC_DOT_2X2(columns, weights, apart_, groups, c00_, c01_, c10_, c11_)                                           \
    do {                                                                                                               \
        const uint32_t *tc_a = (columns), *const tc_end = tc_a + 4 * (groups);                                         \
        const int8_t *tc_w = (weights);                                                                                \
        uint32_t tc_t, tc_u;                                                                                           \
        c00_ = c01_ = c10_ = c11_ = 0;                                                                                 \
        if ((groups) % 2)                                                                                              \
            TC_DOT_GROUPS(TC_DOT_GROUP, c00_, c01_, c10_, c11_, apart_, , );                                           \
        if ((groups) % 4 == 0)                                                                                         \
            TC_DOT_GROUPS(TC_DOT_GROUP TC_DOT_GROUP TC_DOT_GROUP TC_DOT_GROUP, c00_, c01_, c10_, c11_, apart_,         \
                          "1:\n\t", TC_DOT_LOOP);                                                                      \
        else if ((groups) > 1)                                                                                         \
            TC_DOT_GROUPS(TC_DOT_GROUP TC_DOT_GROUP, c00_, c01_, c10_, c11_, apart_, "1:\n\t", TC_DOT_LOOP);           \
    } while (0)
#define TC_SMLAD(a, b, sum) __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b))
#else
#define TC_SMLAD(a, b, sum) (sum) = tc_multiply_high(a, b, tc_multiply_low(a, b, sum))
#define TC_DOT_2X2(columns, weights, apart_, groups, c00_, c01_, c10_, c11_)                                           \
    do {                                                                                                               \
        const uint32_t *tc_a = (columns);                                                                              \
        const int8_t *tc_w = (weights);                                                                                \
        c00_ = c01_ = c10_ = c11_ = 0;                                                                                 \
        for (tc_index tc_g = 0; tc_g < (groups); ++tc_g, tc_a += 4, tc_w += 4) {                                       \
            const uint32_t tc_x = tc_load_word(tc_w), tc_y = tc_load_word(tc_w + (apart_));                            \
            TC_SMLAD(tc_even(tc_x), tc_a[0], c00_);                                                                    \
            TC_SMLAD(tc_odd(tc_x), tc_a[1], c00_);                                                                     \
            TC_SMLAD(tc_even(tc_y), tc_a[0], c01_);                                                                    \
            TC_SMLAD(tc_odd(tc_y), tc_a[1], c01_);                                                                     \
            TC_SMLAD(tc_even(tc_x), tc_a[2], c10_);                                                                    \
            TC_SMLAD(tc_odd(tc_x), tc_a[3], c10_);                                                                     \
            TC_SMLAD(tc_even(tc_y), tc_a[2], c11_);                                                                    \
            TC_SMLAD(tc_odd(tc_y), tc_a[3], c11_);                                                                     \
        }                                                                                                              \
    } while (0)
#endif

#define TC_DOT_2X1(columns, weights, groups, c0_, c1_)                                                                 \
    do {                                                                                                               \
        const uint32_t *tc_a = (columns);                                                                              \
        c0_ = c1_ = 0;                                                                                                 \
        for (tc_index tc_g = 0; tc_g < (groups); ++tc_g, tc_a += 4) {                                                  \
            const uint32_t tc_x = tc_load_word((weights) + 4 * tc_g), tc_low = tc_even(tc_x), tc_high = tc_odd(tc_x);  \
            TC_SMLAD(tc_low, tc_a[0], c0_);                                                                            \
            TC_SMLAD(tc_high, tc_a[1], c0_);                                                                           \
            TC_SMLAD(tc_low, tc_a[2], c1_);                                                                            \
            TC_SMLAD(tc_high, tc_a[3], c1_);                                                                           \
        }                                                                                                              \
    } while (0)

#define TC_DOT_WORD(i, c)                                                                                              \
    do {                                                                                                               \
        const uint32_t tc_y = tc_load_word(tc_w + (i));                                                                \
        TC_SMLAD(tc_even(tc_y), tc_low, c);                                                                            \
        TC_SMLAD(tc_odd(tc_y), tc_high, c);                                                                            \
    } while (0)
#define TC_DOT_1X4(x, weights, apart, groups, c0_, c1_, c2_, c3_)                                                      \
    do {                                                                                                               \
        const int8_t *tc_x = (x), *tc_w = (weights), *const tc_end = tc_x + 4 * (groups);                              \
        c0_ = c1_ = c2_ = c3_ = 0;                                                                                     \
        for (; tc_x != tc_end; tc_x += 4, tc_w += 4) {                                                                 \
            const uint32_t tc_z = tc_load_word(tc_x), tc_low = tc_even(tc_z), tc_high = tc_odd(tc_z);                  \
            TC_DOT_WORD(0, c0_);                                                                                       \
            TC_DOT_WORD(apart, c1_);                                                                                   \
            TC_DOT_WORD(2 * (apart), c2_);                                                                             \
            TC_DOT_WORD(3 * (apart), c3_);                                                                             \
        }                                                                                                              \
    } while (0)
#define TC_DOT_1X1(x, weights, groups, c0_)                                                                            \
    do {                                                                                                               \
        const int8_t *tc_x = (x), *tc_w = (weights), *const tc_end = tc_x + 4 * (groups);                              \
        c0_ = 0;                                                                                                       \
        for (; tc_x != tc_end; tc_x += 4, tc_w += 4) {                                                                 \
            const uint32_t tc_z = tc_load_word(tc_x), tc_low = tc_even(tc_z), tc_high = tc_odd(tc_z);                  \
            TC_DOT_WORD(0, c0_);                                                                                       \
        }                                                                                                              \
    } while (0)

/* A term of each of four channels: a widened point of `row`, widened weights of `taps`, i and j words behind them. */
#ifdef __ARM_FEATURE_SIMD32
#define TC_FOUR_CHANNELS(row, i, taps, j, c0_, c1_, c2_, c3_)                                                          \
    do {                                                                                                               \
        uint32_t tc_x0, tc_x1, tc_w0, tc_w1;                                                                           \
        __asm__("ldrd %[x0], %[x1], [%[x], %[xi]]\n\tldrd %[w0], %[w1], [%[w], %[wj]]\n\tsmlabb %[c0], %[x0], %[w0], " \
                "%[c0]\n\tsmlabb %[c1], %[x1], %[w1], %[c1]\n\tsmlatt %[c2], %[x0], %[w0], %[c2]\n\tsmlatt %[c3], "    \
                "%[x1], %[w1], %[c3]"                                                                                  \
                : [x0] "=&r"(tc_x0), [x1] "=&r"(tc_x1), [w0] "=&r"(tc_w0), [w1] "=&r"(tc_w1), [c0] "+r"(c0_),          \
                  [c1] "+r"(c1_), [c2] "+r"(c2_), [c3] "+r"(c3_)                                                       \
                : [x] "r"(row), [xi] "n"(4 * (i)), [w] "r"(taps), [wj] "n"(4 * (j))                                    \
                : "memory");                                                                                           \
    } while (0)
#else
#define TC_FOUR_CHANNELS(row, i, taps, j, c0_, c1_, c2_, c3_)                                                          \
    do {                                                                                                               \
        c0_ = tc_multiply_low((row)[i], (taps)[j], c0_);                                                               \
        c1_ = tc_multiply_low((row)[(i) + 1], (taps)[(j) + 1], c1_);                                                   \
        c2_ = tc_multiply_high((row)[i], (taps)[j], c2_);                                                              \
        c3_ = tc_multiply_high((row)[(i) + 1], (taps)[(j) + 1], c3_);                                                  \
    } while (0)
#endif

#endif
