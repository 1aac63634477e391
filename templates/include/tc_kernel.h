/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel ABI (docs/loops.md). Included by every kernel; nothing here needs a library.
 */
#ifndef TC_KERNEL_H
#define TC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define TC_INLINE inline __attribute__((always_inline))
#define TC_NOINLINE __attribute__((noinline))

/* Before a loop: how many times its body stands. */
#if defined(__GNUC__) && !defined(__clang__)
#define TC_PRAGMA_(text) _Pragma(#text)
#define TC_UNROLL(times) TC_PRAGMA_(GCC unroll times)
#else
#define TC_UNROLL(times)
#endif

/* Whether this is Thumb without Thumb-2 (ARMv6-M): eight registers for most instructions, no long multiplication. */
#if defined(__thumb__) && !defined(__thumb2__)
#define TC_THUMB1 1
#else
#define TC_THUMB1 0
#endif

/* Sizes, strides and loop variables: elements unless said otherwise. */
typedef ptrdiff_t tc_index;

/* p: the buffers of the kernel's parameters; d: its dims; thread: this thread's number, below threads. */
typedef void tc_kernel(void *const *p, const tc_index *d, tc_index thread, tc_index threads);

static inline tc_index tc_min(tc_index a, tc_index b)
{
    return a < b ? a : b;
}

static inline tc_index tc_max(tc_index a, tc_index b)
{
    return a > b ? a : b;
}

/* floor(a / b) for b > 0 and any a. */
static inline tc_index tc_floordiv(tc_index a, tc_index b)
{
    return a / b - (a % b < 0);
}

/* Thread `thread`'s share [*begin, *end) of n items: contiguous, sizes at most one apart, larger ones in between. */
static inline void tc_split(tc_index n, tc_index thread, tc_index threads, tc_index *begin, tc_index *end)
{
    if (threads == 1) { /* divisions cost more than many a kernel's work */
        *begin = 0;
        *end = n;
        return;
    }
    const tc_index size = n / threads, more = n % threads;
    *begin = thread * size + thread * more / threads;
    *end = (thread + 1) * size + (thread + 1) * more / threads;
}

/* The tree that combines the 16 lanes of one block of a `lanes` sum (docs/numerics.md); lanes without terms hold -0. */
#define TC_LANES(name, op, T, C)                                                                                       \
    static inline C tc_lanes_##name##_##T(const C lane[16])                                                            \
    {                                                                                                                  \
        C t[8];                                                                                                        \
        for (int l = 0; l < 8; ++l)                                                                                    \
            t[l] = lane[l] op lane[l + 8];                                                                             \
        for (int half = 4; half > 0; half /= 2)                                                                        \
            for (int l = 0; l < half; ++l)                                                                             \
                t[l] = t[l] op t[l + half];                                                                            \
        return t[0];                                                                                                   \
    }
TC_LANES(sum, +, f32, float)
TC_LANES(sum, +, f64, double)
/* of a product lanes without terms hold 1 */
TC_LANES(prod, *, f32, float)
TC_LANES(prod, *, f64, double)
#undef TC_LANES

#endif
