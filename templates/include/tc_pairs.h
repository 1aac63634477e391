/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of bytes on processors of 32 bits without instructions for several of them (emit/integers/pairs.py). Integers
 * wrap, so the order of terms changes no bit.
 *
 * A word holds a term of two points, a + 2^16 b: one product with a weight is both products. Those of two terms fit: each
 * half is from -32512 to 32768, so 0x7f00 more in each makes both halves unsigned. A sum of such words is A + 2^16 B; B
 * is summed beside it from the upper halves, and A is what is left.
 *
 * Thumb has eight registers for most instructions (ARMv6-M has no others): sums are in the upper ones, which ADD and MOV
 * reach.
 */
#ifndef TC_PAIRS_H
#define TC_PAIRS_H

#include "tc_kernel.h"
#include "tc_scalar.h"

#if TC_THUMB1
#define TC_NAKED __attribute__((naked, noinline)) /* arguments are where the calling convention has them */
#define TC_SAVE "push {r4-r7, lr}\n\tmov r4, r8\n\tmov r5, r9\n\tmov r6, r10\n\tmov r7, r11\n\tpush {r4-r7}\n\t" /* 36 bytes */
#define TC_RETURN "pop {r4-r7}\n\tmov r8, r4\n\tmov r9, r5\n\tmov r10, r6\n\tmov r11, r7\n\tpop {r4-r7, pc}\n\t"
#endif

/* -- points to words ----------------------------------------------------------------------------------------------- */

/* The terms of two points. */
static TC_INLINE void tc_pair(uint32_t *to, const int8_t *a, const int8_t *b, tc_index n)
{
    TC_UNROLL(4)
    for (tc_index i = 0; i < n; ++i)
        to[i] = (uint32_t)a[i] + ((uint32_t)b[i] << 16);
}

/* Terms of the first point (shift 0) or of the second (16): a run of `length` bytes of which low to high-1 exist; the
 * others are `other`. */
static TC_INLINE uint32_t *tc_pair_run(uint32_t *to, const int8_t *from, tc_index low, tc_index high, tc_index length,
                                       int8_t other, int shift)
{
    const uint32_t keep = shift ? ~UINT32_C(0) : 0, padding = (uint32_t)other << shift;
    tc_index i = 0;
    for (; i < low; ++i)
        to[i] = (to[i] & keep) + padding;
    for (; i < high; ++i)
        to[i] = (to[i] & keep) + ((uint32_t)from[i] << shift);
    for (; i < length; ++i)
        to[i] = (to[i] & keep) + padding;
    return to + length;
}

/* A row of one channel, a word a point, `slots` words apart. */
static TC_INLINE void tc_stage_channel(int32_t *to, const int8_t *from, tc_index low, tc_index high, tc_index width,
                                       tc_index step, tc_index slots, int8_t other)
{
    tc_index i = 0;
    for (; i < low; ++i, to += slots)
        *to = other;
    from += low * step;
    TC_UNROLL(2)
    for (; i < high; ++i, to += slots, from += step)
        *to = *from;
    for (; i < width; ++i, to += slots)
        *to = other;
}

/* The weights of a window in the order of a ring of `tall` rows, for each row of it that is the first one. */
static TC_INLINE void tc_turn_taps(int32_t *to, const int8_t *taps, tc_index step, tc_index tall, tc_index wide)
{
    TC_UNROLL(1)
    for (tc_index first = 0; first < tall; ++first, to += tall * wide) {
        TC_UNROLL(1)
        for (tc_index i = 0, slot = first; i < tall; ++i, slot = slot + 1 < tall ? slot + 1 : 0)
            TC_UNROLL(1)
            for (tc_index k = 0; k < wide; ++k)
                to[k * tall + slot] = taps[(i * wide + k) * step];
    }
}

/* -- sums ---------------------------------------------------------------------------------------------------------- */

/* tc_dot_pairs: of two points, x, with `rows` rows of weights (an even number) that are `pitch` bytes apart: sums of the
 * first and the second point, row after row. tc_dot_rows: of one point with four rows. `terms` is a multiple of 4. */
#if TC_THUMB1
/* r0 x, r1 and r2 weights, r3 the term; r8 and r10 sums of words, r9 and r11 of upper halves, r12 0x7f007f00, lr the end */
#define TC_TWO_TERMS                                                                                                   \
    "ldm r0!, {r4, r5}\n\tldrsb r6, [r1, r3]\n\tldrsb r7, [r2, r3]\n\tadds r3, #1\n\tmuls r6, r4\n\tmuls r7, r4\n\t"    \
    "ldrsb r4, [r1, r3]\n\tmuls r4, r5\n\tadds r6, r4\n\tldrsb r4, [r2, r3]\n\tadds r3, #1\n\tmuls r5, r4\n\t"         \
    "adds r7, r5\n\tadd r8, r6\n\tadd r6, r12\n\tlsrs r6, #16\n\tadd r9, r6\n\tadd r10, r7\n\tadd r7, r12\n\t"         \
    "lsrs r7, #16\n\tadd r11, r7\n\t"
TC_NAKED static void tc_dot_pairs(__attribute__((unused)) int32_t *sums, __attribute__((unused)) const uint32_t *x,
                                  __attribute__((unused)) const int8_t *weights, __attribute__((unused)) tc_index pitch,
                                  __attribute__((unused)) tc_index terms, __attribute__((unused)) tc_index rows)
{
    __asm__(".syntax unified\n\t" TC_SAVE
            "ldr r4, [sp, #36]\n\tldr r5, [sp, #40]\n\tmov lr, r4\n\t"
            "movs r6, #127\n\tlsls r7, r6, #8\n\tlsls r6, r6, #24\n\tadds r6, r6, r7\n\tmov r12, r6\n\t"
            "lsrs r7, r7, #1\n\tmuls r4, r7\n\trsbs r6, r4, #0\n\t" /* less 0x7f00 for each two terms */
            "push {r0, r1, r3, r5, r6}\n"
            "1:\n\tmov r1, r2\n\tldr r3, [sp, #8]\n\tadds r2, r1, r3\n\tldr r0, [sp, #4]\n\tldr r4, [sp, #16]\n\t"
            "mov r9, r4\n\tmov r11, r4\n\tmovs r3, #0\n\tmov r8, r3\n\tmov r10, r3\n"
            "2:\n\t" TC_TWO_TERMS TC_TWO_TERMS "cmp r3, lr\n\tbne 2b\n\t"
            "ldr r0, [sp]\n\tmov r4, r8\n\tmov r5, r9\n\tlsls r6, r5, #16\n\tsubs r4, r4, r6\n\tstm r0!, {r4, r5}\n\t"
            "mov r4, r10\n\tmov r5, r11\n\tlsls r6, r5, #16\n\tsubs r4, r4, r6\n\tstm r0!, {r4, r5}\n\tstr r0, [sp]\n\t"
            "ldr r3, [sp, #8]\n\tadds r2, r2, r3\n\tldr r3, [sp, #12]\n\tsubs r3, #2\n\tstr r3, [sp, #12]\n\tbne 1b\n\t"
            "add sp, #20\n\t" TC_RETURN);
}

/* r0 x, r1 to r4 weights, r5 the term; r8 to r11 sums, r12 the end */
#define TC_ONE_WEIGHT(w, sum) "ldrsb r7, [" w ", r5]\n\tmuls r7, r6\n\tadd " sum ", r7\n\t"
#define TC_ONE_TERM                                                                                                    \
    "ldrsb r6, [r0, r5]\n\t" TC_ONE_WEIGHT("r1", "r8") TC_ONE_WEIGHT("r2", "r9") TC_ONE_WEIGHT("r3", "r10")            \
        TC_ONE_WEIGHT("r4", "r11") "adds r5, #1\n\t"
TC_NAKED static void tc_dot_rows(__attribute__((unused)) int32_t *sums, __attribute__((unused)) const int8_t *x,
                                 __attribute__((unused)) const int8_t *weights, __attribute__((unused)) tc_index pitch,
                                 __attribute__((unused)) tc_index terms)
{
    __asm__(".syntax unified\n\t" TC_SAVE
            "ldr r7, [sp, #36]\n\tmov r12, r7\n\tpush {r0}\n\tmov r0, r1\n\tmov r1, r2\n\tadds r2, r1, r3\n\t"
            "adds r4, r2, r3\n\tadds r5, r4, r3\n\tmov r3, r4\n\tmov r4, r5\n\tmovs r5, #0\n\tmov r8, r5\n\tmov r9, r5\n\t"
            "mov r10, r5\n\tmov r11, r5\n"
            "2:\n\t" TC_ONE_TERM TC_ONE_TERM TC_ONE_TERM TC_ONE_TERM "cmp r5, r12\n\tbne 2b\n\t"
            "pop {r0}\n\tmov r4, r8\n\tmov r5, r9\n\tmov r6, r10\n\tmov r7, r11\n\tstm r0!, {r4-r7}\n\t" TC_RETURN);
}
#else
#define TC_TWO_TERMS(i)                                                                                                \
    do {                                                                                                               \
        const uint32_t tc_p = x0 * (uint32_t)w[i * pitch] + x1 * (uint32_t)w[i * pitch + 1];                           \
        words##i += tc_p;                                                                                              \
        upper##i += (tc_p + 0x7f007f00u) >> 16;                                                                        \
    } while (0)
#define TC_TWO_SUMS(i)                                                                                                 \
    do {                                                                                                               \
        sums[2 * i] = (int32_t)(words##i - (upper##i << 16));                                                          \
        sums[2 * i + 1] = (int32_t)upper##i;                                                                           \
    } while (0)
static TC_INLINE void tc_dot_pairs(int32_t *sums, const uint32_t *x, const int8_t *weights, tc_index pitch,
                                   tc_index terms, tc_index rows)
{
    const uint32_t less = 0u - (uint32_t)terms / 2 * 0x7f00u;
    for (; rows >= 4; rows -= 4, sums += 8, weights += 4 * pitch) {
        uint32_t words0 = 0, words1 = 0, words2 = 0, words3 = 0, upper0 = less, upper1 = less, upper2 = less, upper3 = less;
        const int8_t *w = weights;
        TC_UNROLL(2)
        for (const uint32_t *at = x, *const end = x + terms; at != end; at += 2, w += 2) {
            const uint32_t x0 = at[0], x1 = at[1];
            TC_TWO_TERMS(0);
            TC_TWO_TERMS(1);
            TC_TWO_TERMS(2);
            TC_TWO_TERMS(3);
        }
        TC_TWO_SUMS(0);
        TC_TWO_SUMS(1);
        TC_TWO_SUMS(2);
        TC_TWO_SUMS(3);
    }
    for (; rows; rows -= 2, sums += 4, weights += 2 * pitch) {
        uint32_t words0 = 0, words1 = 0, upper0 = less, upper1 = less;
        const int8_t *w = weights;
        TC_UNROLL(2)
        for (const uint32_t *at = x, *const end = x + terms; at != end; at += 2, w += 2) {
            const uint32_t x0 = at[0], x1 = at[1];
            TC_TWO_TERMS(0);
            TC_TWO_TERMS(1);
        }
        TC_TWO_SUMS(0);
        TC_TWO_SUMS(1);
    }
}

static TC_INLINE void tc_dot_rows(int32_t *sums, const int8_t *x, const int8_t *w, tc_index pitch, tc_index terms)
{
    int32_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    TC_UNROLL(4)
    for (const int8_t *const end = x + terms; x != end; ++x, ++w) {
        c0 += *x * w[0];
        c1 += *x * w[pitch];
        c2 += *x * w[2 * pitch];
        c3 += *x * w[3 * pitch];
    }
    sums[0] = c0, sums[1] = c1, sums[2] = c2, sums[3] = c3;
}
#endif

static TC_INLINE int32_t tc_dot_row(const int8_t *x, const int8_t *w, tc_index terms)
{
    int32_t c = 0;
    TC_UNROLL(4)
    for (tc_index i = 0; i < terms; ++i)
        c += x[i] * w[i];
    return c;
}

/* Defines tc_windows_N: for each of `columns` windows the sum of N words from x on with N weights; the next window is
 * `step` words further. */
#if TC_THUMB1
/* r8 the weights, r9 the window, r10 the sums, r11 the step, r12 a sum, lr how many are left */
#define TC_DEFINE_WINDOWS(N)                                                                                           \
    TC_NAKED static void tc_windows_##N(__attribute__((unused)) int32_t *sums, __attribute__((unused)) const int32_t *x, \
                                        __attribute__((unused)) tc_index step,                                         \
                                        __attribute__((unused)) const int32_t *taps,                                   \
                                        __attribute__((unused)) tc_index columns)                                      \
    {                                                                                                                  \
        __asm__(".syntax unified\n\t" TC_SAVE "ldr r4, [sp, #36]\n\tmov lr, r4\n\tlsls r2, r2, #2\n\tmov r8, r3\n\t"    \
                "mov r9, r1\n\tmov r10, r0\n\tmov r11, r2\n"                                                           \
                "1:\n\tmov r0, r9\n\tmov r1, r8\n\tmovs r2, #0\n\tmov r12, r2\n\t"                                     \
                ".rept " #N " / 3\n\tldm r0!, {r2, r3, r4}\n\tldm r1!, {r5, r6, r7}\n\tmuls r2, r5\n\tmuls r3, r6\n\t"  \
                "muls r4, r7\n\tadds r2, r3\n\tadds r2, r4\n\tadd r12, r2\n\t.endr\n\t"                                \
                ".rept " #N " % 3\n\tldm r0!, {r2}\n\tldm r1!, {r5}\n\tmuls r2, r5\n\tadd r12, r2\n\t.endr\n\t"         \
                "mov r0, r10\n\tmov r2, r12\n\tstm r0!, {r2}\n\tmov r10, r0\n\tadd r9, r11\n\t"                        \
                "mov r0, lr\n\tsubs r0, #1\n\tmov lr, r0\n\tbne 1b\n\t" TC_RETURN);                                    \
    }
#else
#define TC_DEFINE_WINDOWS(N)                                                                                           \
    static TC_INLINE void tc_windows_##N(int32_t *sums, const int32_t *x, tc_index step, const int32_t *taps,          \
                                         tc_index columns)                                                             \
    {                                                                                                                  \
        int32_t w[N];                                                                                                  \
        TC_UNROLL(N)                                                                                                   \
        for (int i = 0; i < (N); ++i)                                                                                  \
            w[i] = taps[i];                                                                                            \
        TC_UNROLL(1)                                                                                                   \
        for (; columns; --columns, x += step) {                                                                        \
            int32_t c = 0;                                                                                             \
            TC_UNROLL(N)                                                                                               \
            for (int i = 0; i < (N); ++i)                                                                              \
                c += x[i] * w[i];                                                                                      \
            *sums++ = c;                                                                                               \
        }                                                                                                              \
    }
#endif

#endif
