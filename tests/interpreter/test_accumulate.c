/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of contractions on vectors (accumulate_x86.h) against the plain ones: the same bits and the same draws, for
 * every width, with sums that need no error among those that do, and with numbers of every kind.
 */
#include "contract.c" /* its functions are static */

#include "tap.h"

enum { MOST_TERMS = 40, MORE = 3 };

typedef enum kind { ANY, ROUNDED, INTEGERS_ONLY, SOME_COLUMNS, LARGE, TINY, NO_NUMBERS, KIND_COUNT } kind;
static const char *const kinds[] = {"any numbers", "floats", "integers",          "columns of zeros",
                                    "beyond f32",  "tiny",   "NaN and infinities"};

typedef struct operands {
    double a[MOST_TERMS], b[MOST_TERMS * (COLUMNS + MORE)], acc[COLUMNS];
    float a_f32[MOST_TERMS], b_f32[MOST_TERMS * (COLUMNS + MORE)], acc_f32[COLUMNS];
} operands;

static uint64_t state;

static double random_number(void)
{
    state = state * TCI_FACTOR + TCI_TERM;
    return (double)((int64_t)state >> 11) * 0x1p-50;
}

static double element(kind which, int64_t column)
{
    const double x = random_number();
    switch (which) {
    case ROUNDED: return (float)x;
    case INTEGERS_ONLY: return rint(100 * x);
    case SOME_COLUMNS: return column % 3 == 0 ? 0 : x;
    case LARGE: return x * 0x1p63;
    case TINY: return x * 0x1p-76;
    case NO_NUMBERS: return column % 11 != 3 ? x : x > 0 ? (double)NAN : x < -2 ? -(double)INFINITY : 1e300;
    default: return x;
    }
}

static void make(operands *o, kind which, int64_t n, int64_t k, int64_t stride)
{
    for (int64_t i = 0; i < k; i++)
        o->a[i] = element(which, 1), o->a_f32[i] = (float)o->a[i];
    for (int64_t i = 0; i < k * stride; i++)
        o->b[i] = element(which, i % stride), o->b_f32[i] = (float)o->b[i];
    for (int64_t j = 0; j < n; j++)
        o->acc[j] = j % 2 ? element(which, j) : 0, o->acc_f32[j] = (float)o->acc[j];
}

static bool equal(const void *got, const void *want, size_t size, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        const char *x = (const char *)got + (size_t)j * size, *y = (const char *)want + (size_t)j * size;
        const double p = size == 4 ? *(const float *)(const void *)x : *(const double *)(const void *)x;
        const double q = size == 4 ? *(const float *)(const void *)y : *(const double *)(const void *)y;
        if (memcmp(x, y, size) != 0 && (p == p || q == q))
            return false;
    }
    return true;
}

/* Of the errors. */
static int times_of(int64_t n)
{
    return n % 3 == 0 ? -8 : 1;
}

static bool same(const loops *with, const operands *o, int64_t n, int64_t k, int64_t stride)
{
    _Alignas(64) double got[COLUMNS], want[COLUMNS];
    _Alignas(64) float got_f32[COLUMNS], want_f32[COLUMNS];
    memcpy(got_f32, o->acc_f32, sizeof got_f32);
    memcpy(want_f32, o->acc_f32, sizeof want_f32);
    with->f32(got_f32, n, o->a_f32, k, o->b_f32, stride);
    accumulate_f32(want_f32, n, o->a_f32, k, o->b_f32, stride);
    bool ok = equal(got_f32, want_f32, sizeof(float), n);
    memcpy(got, o->acc, sizeof got);
    memcpy(want, o->acc, sizeof want);
    tci_noise.on = false;
    tci_noise.sums = TCI_SUMS_WIDE;
    with->wide(got, n, o->a, k, o->b, stride);
    accumulate_wide(want, n, o->a, k, o->b, stride);
    ok &= equal(got, want, sizeof(double), n);
    memcpy(got, o->acc, sizeof got);
    memcpy(want, o->acc, sizeof want);
    tci_noise_start(state, times_of(n));
    tci_noise.sums = TCI_SUMS_F32;
    with->noisy(got, n, o->a, k, o->b, stride);
    const uint64_t drawn = tci_noise.draws;
    tci_noise_start(state, times_of(n));
    tci_noise.sums = TCI_SUMS_F32;
    accumulate_noisy(want, n, o->a, k, o->b, stride);
    return ok && equal(got, want, sizeof(double), n) && drawn == tci_noise.draws;
}

/* One term of each column, whose factors are two rows of b. */
static bool same_each(const loops *with, const operands *o, int64_t n)
{
    _Alignas(64) double got[COLUMNS], want[COLUMNS];
    _Alignas(64) float got_f32[COLUMNS], want_f32[COLUMNS];
    memcpy(got_f32, o->acc_f32, sizeof got_f32);
    memcpy(want_f32, o->acc_f32, sizeof want_f32);
    with->each_f32(got_f32, n, o->b_f32, o->b_f32 + n);
    each_f32(want_f32, n, o->b_f32, o->b_f32 + n);
    bool ok = equal(got_f32, want_f32, sizeof(float), n);
    memcpy(got, o->acc, sizeof got);
    memcpy(want, o->acc, sizeof want);
    tci_noise.on = false;
    tci_noise.sums = TCI_SUMS_WIDE;
    with->each_wide(got, n, o->b, o->b + n);
    each_wide(want, n, o->b, o->b + n);
    ok &= equal(got, want, sizeof(double), n);
    memcpy(got, o->acc, sizeof got);
    memcpy(want, o->acc, sizeof want);
    tci_noise_start(state, times_of(n));
    tci_noise.sums = TCI_SUMS_F32;
    with->each_noisy(got, n, o->b, o->b + n);
    const uint64_t drawn = tci_noise.draws;
    tci_noise_start(state, times_of(n));
    tci_noise.sums = TCI_SUMS_F32;
    each_noisy(want, n, o->b, o->b + n);
    return ok && equal(got, want, sizeof(double), n) && drawn == tci_noise.draws;
}

static void compare(const char *set, const loops *with)
{
    static const int64_t terms[] = {0, 1, 2, 7, MOST_TERMS};
    static operands o;
    for (int which = 0; which < KIND_COUNT; which++) {
        int64_t wrong = 0;
        for (int64_t n = 1; n <= COLUMNS; n++) {
            for (size_t t = 0; t < sizeof terms / sizeof terms[0]; t++) {
                const int64_t stride = n + (int64_t)(t % 2) * MORE;
                make(&o, (kind)which, n, terms[t], stride);
                if (!same(with, &o, n, terms[t], stride) && wrong++ == 0)
                    tc_note("%lld columns of %lld terms", (long long)n, (long long)terms[t]);
                if (terms[t] > 1 && !same_each(with, &o, n) && wrong++ == 0)
                    tc_note("%lld columns, a term of each", (long long)n);
            }
        }
        tc_ok(wrong == 0, "%s: %s", set, kinds[which]);
    }
}

int main(void)
{
#if defined(__x86_64__)
    if (has_fma())
        compare("AVX2", &(loops){accumulate_f32_avx2, accumulate_wide_avx2, accumulate_noisy_avx2, each_f32_avx2,
                                 each_wide_avx2, each_noisy_avx2});
    else
        tc_skip(KIND_COUNT, "no AVX2 here");
    if (has_avx512())
        compare("AVX-512", &(loops){accumulate_f32_avx512, accumulate_wide_avx512, accumulate_noisy_avx512,
                                    each_f32_avx512, each_wide_avx512, each_noisy_avx512});
    else
        tc_skip(KIND_COUNT, "no AVX-512 here");
#else
    const loops best = best_loops();
    compare("this machine", &best);
#endif
    return tc_done();
}
