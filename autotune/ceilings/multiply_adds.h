/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiply-adds of f32 in registers alone, as many at once as hide the latency of each: what a processor can do at most of
 * the instruction set that the compiler's flags choose. -DLANES: floats of a vector.
 */
#ifndef TC_CEILINGS_MULTIPLY_ADDS_H
#define TC_CEILINGS_MULTIPLY_ADDS_H

#ifndef LANES
#define LANES 4
#endif

enum { CHAINS = 12, MULTIPLY_ADDS = CHAINS * LANES /* of an iteration */ };

typedef float vector __attribute__((vector_size(LANES * 4)));

/* Keeps a value in a register: nothing is known of it behind this. */
#if defined __x86_64__
#define HELD(x) __asm__ volatile("" : "+x"(x))
#elif defined __aarch64__
#define HELD(x) __asm__ volatile("" : "+w"(x))
#else
#define HELD(x) __asm__ volatile("" : "+m"(x))
#endif
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)

/* `loops` iterations; what is returned needs all of them. An array of accumulators would stay in memory. */
static inline float multiply_adds(long loops)
{
    vector a = {0}, b = {0};
    a += 0.999f, b += 1e-3f;
#define DECLARED(i) vector c##i = b + (float)(i);
#define STEP(i) c##i = c##i * a + b;
#define KEPT(i) HELD(c##i);
#define SUMMED(i) +c##i[0]
    EACH(DECLARED)
    for (long n = 0; n < loops; n++) {
        EACH(STEP)
        EACH(KEPT)
    }
    return 0 EACH(SUMMED);
}
#undef DECLARED
#undef STEP
#undef KEPT
#undef SUMMED
#undef EACH
#undef HELD
#endif
