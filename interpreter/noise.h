/* SPDX-License-Identifier: Apache-2.0
 *
 * Monte Carlo arithmetic (Parker, 1997), for runs in double that show how far rounding carries a model: every result of
 * floats, and every partial sum, that the declared dtype does not hold gets an error drawn evenly from those that rounding
 * to nearest has, up to half a unit in the last place. A function that f32 computes with a larger error gets one of that
 * size. With odd seeds results are rounded, too, so that what becomes an exact number, a pole or a zero, is one there; with
 * even ones they are not: where most runs had the same neighbour of a number, they would show no error. Errors on f64 are
 * larger ones.
 *
 * All errors may be a power of two larger. What stays on one side of a bend of the function in every run with errors of
 * their own size, such as a number below zero in front of a rectifier, so shows how far errors on the other side go.
 */
#ifndef TCI_NOISE_H
#define TCI_NOISE_H

#include "ops.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What the partial sums of the kernel that runs are rounded to. */
typedef enum tci_sums { TCI_SUMS_WIDE, TCI_SUMS_F32, TCI_SUMS_F64 } tci_sums;

enum { TCI_AHEAD = 8 };

/* The state of the one run of the process: scalar operations have no other argument. scale: of the errors, a power of two
 * of either sign, times 2^-52. draws: that of the generator, which after i + 1 more draws is draws * factors[i] + terms[i]. */
extern struct tci_noise {
    bool on, rounds;
    tci_sums sums;
    double scale;
    uint64_t draws, factors[TCI_AHEAD], terms[TCI_AHEAD];
} tci_noise;

/* times: of the errors' own size. */
void tci_noise_start(uint64_t seed, int times);

/* Around a kernel: its partial sums are rounded, and then its results, which are dense and its own; NULL where it failed. */
void tci_noise_begin(const tci_node *node);
void tci_noise_end(const tci_node *node, const tci_tensor *out);

/* Uniform in (-1, 1), times the scale: the upper bits of a linear congruential generator (Knuth's MMIX). */
#define TCI_FACTOR 6364136223846793005u
#define TCI_TERM 1442695040888963407u
static inline double tci_draw(void)
{
    tci_noise.draws = tci_noise.draws * TCI_FACTOR + TCI_TERM;
    return (double)((int64_t)tci_noise.draws >> 11) * tci_noise.scale;
}

/* The bits of a double: its sign and its exponent. */
#define TCI_SIGN ((uint64_t)1 << 63)
#define TCI_EXPONENT ((uint64_t)0x7ff << 52)

/* The power of two at |x| or below it; x is finite. */
static inline double tci_power_below(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= TCI_EXPONENT;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* Of f64, in units of the last place: a double holds no part of one, and errors of few different sizes would often cancel. */
#define TCI_UNITS_F64 1024.0

/* A double cannot show whether it is exact: it is where f32 holds it. */
static inline double tci_noisy_f64(double x)
{
    if (!(fabs(x) <= DBL_MAX) || (double)(float)x == x)
        return x;
    return x + tci_power_below(x) * 0x1p-52 * TCI_UNITS_F64 * tci_draw();
}

/* Beyond the range of f32 it is infinite. */
static inline double tci_noisy_f32(double x)
{
    if ((double)(float)x == x || x != x)
        return x;
    return isinf((float)x) ? (float)x : x + tci_power_below(x) * 0x1p-24 * tci_draw();
}

static inline double tci_noisy_sum(double x)
{
    return tci_noise.sums == TCI_SUMS_WIDE ? x : tci_noise.sums == TCI_SUMS_F32 ? tci_noisy_f32(x) : tci_noisy_f64(x);
}

#endif
