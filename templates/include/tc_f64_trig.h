/* SPDX-License-Identifier: Apache-2.0
 *
 * sin and cos on f64, included by tc_f64.h. tests/numerics/fit_f64.py makes the coefficients, docs/numerics.md has the
 * errors.
 */
#ifndef TC_F64_TRIG_H
#define TC_F64_TRIG_H

/*
 * size = n pi/2 + r for 0 <= size < 2^30: n the nearest integer, r returned, with what it lacks in *low. n times the
 * first of three parts of pi/2 is subtracted exactly, as what is left is below 1 and a multiple of the last places of
 * both; of the second part the errors of product and difference are kept. No f64 is nearer to a multiple of pi/2 than
 * 2^-62, where the 159 bits of the three parts leave 69 right ones.
 */
static inline double tc_reduce_near_f64(double size, double *low, int64_t *n)
{
    const double shift = 0x1.8p52, second = 0x1.1a62633145c07p-54, third = -0x1.f1976b7ed8fbcp-110;
    const double rounded = tc_fma_f64(size, 0x1.45f306dc9c883p-1, shift), whole = rounded - shift;
    *n = (int64_t)((uint64_t)tc_asint_f64(rounded) - (uint64_t)tc_asint_f64(shift));
    const double first = tc_fma_f64(-whole, 0x1.921fb54442d18p+0, size);
    const double product = whole * second, error = tc_fma_f64(whole, second, -product);
    const double r = first - product, back = r - first; /* Knuth's two-sum of first and -product */
    const double rest = (first - (r - back)) - (product + back) - tc_fma_f64(whole, third, error);
    const double high = r + rest;
    *low = (r - high) + rest;
    return high;
}

/*
 * The same for every finite size from 2^30 on, n modulo 4 (Payne and Hanek's reduction). size is m 2^e with m of 53
 * bits; of the product m 2^e (2/pi) only the bits from 2^1 down matter, and 192 bits of 2/pi from an offset that e
 * selects give 136 of them, 126 of which are used: even 2^-62 beside a multiple of pi/2 keeps 64.
 */
static inline double tc_reduce_far_f64(double size, double *low, int64_t *n)
{
    static const uint64_t two_over_pi[] = {
        0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
        0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
        0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
        0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab}; /* the fraction's bits */
    const uint64_t bits = (uint64_t)tc_asint_f64(size), hidden = (uint64_t)1 << 52;
    const int offset = (int)(bits >> 52) - 1013; /* e + 62, from 40 to 1033 */
    const uint64_t *word = two_over_pi + (offset >> 6), m = (bits & (hidden - 1)) | hidden;
    uint64_t w[3];
    for (int i = 0; i < 3; ++i)
        w[i] = (offset & 63) ? word[i] << (offset & 63) | word[i + 1] >> (64 - (offset & 63)) : word[i];
    /* the product in units of 2^-126, modulo 4 */
    const tc_u128 middle = tc_product_u128(m, w[1]);
    const uint64_t carried = middle.low + tc_product_u128(m, w[2]).high;
    tc_u128 rest = {m * w[0] + middle.high + (carried < middle.low), carried};
    const uint64_t nearest = (rest.high + ((uint64_t)1 << 61)) >> 62;
    rest.high -= nearest << 62;
    const int negative = rest.high >> 63 != 0;
    if (negative)
        rest = (tc_u128){~rest.high + (rest.low == 0), (uint64_t)0 - rest.low};
    /* its first 53 bits, and the next ones */
    const int zeros = rest.high ? tc_zeros_u64(rest.high) : 64 + tc_zeros_u64(rest.low | 1);
    rest = tc_shl_u128(rest, zeros);
    const double one = tc_asfloat_i64((int64_t)((uint64_t)(1023 - 51 - zeros) << 52)); /* the unit of `high` */
    const double high = (double)(int64_t)(rest.high >> 11) * one;
    const double next = (double)(int64_t)((rest.high & 0x7ff) << 42 | rest.low >> 22) * (one * 0x1p-53);
    const double r = high * 0x1.921fb54442d18p+0, error = tc_fma_f64(high, 0x1.921fb54442d18p+0, -r);
    const double l = tc_fma_f64(high, 0x1.1a62633145c07p-54, tc_fma_f64(next, 0x1.921fb54442d18p+0, error));
    *n = (int64_t)nearest;
    *low = negative ? -l : l;
    return negative ? -r : r;
}

/*
 * The sine of n pi/2 + r + low: by n's last bit r + r^3 p(r^2), whose derivative 1 - r^2/2 is enough for low, or 1 -
 * r^2/2 + r^4 q(r^2) with the error of r^2 and of the first difference, and r low; by n's next bit its negative.
 */
static inline double tc_sine_f64(double r, double low, int64_t n)
{
    static const double p[] = {
        -0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018ae4p-13, 0x1.71de3a5339735p-19,
        -0x1.ae6452984751ep-26, 0x1.612092b533d92p-33, -0x1.aaa5461bc3937p-41};
    static const double q[] = {
        0x1.555555555554cp-5, -0x1.6c16c16c1517ep-10, 0x1.a01a019cb1bddp-16, -0x1.27e4f809f0747p-22,
        0x1.1ee9ebe8ec961p-29, -0x1.8fae9c484a823p-37};
    const double z = r * r, half = 0.5 * z, cosine = 1.0 - half;
    const double odd = r + tc_fma_f64(r * z, tc_polynomial_f64(z, p, 6), low * cosine);
    const double lost = tc_fma_f64(tc_fma_f64(r, r, -z), -0.5, (1.0 - cosine) - half);
    const double even = cosine + tc_fma_f64(z * z, tc_polynomial_f64(z, q, 5), tc_fma_f64(-r, low, lost));
    const double value = (n & 1) != 0 ? even : odd;
    return (n & 2) != 0 ? tc_neg_f64(value) : value;
}

/* NaN for what is not finite. */
static inline double tc_sin_f64(double x)
{
    double low;
    int64_t n;
    const double size = tc_abs_f64(x);
    if (!(size < tc_asfloat_i64(0x7ff0000000000000)))
        return x - x;
    const double r = size < 0x1p30 ? tc_reduce_near_f64(size, &low, &n) : tc_reduce_far_f64(size, &low, &n);
    const double value = tc_sine_f64(r, low, n);
    return tc_asint_f64(x) < 0 ? tc_neg_f64(value) : value;
}

static inline double tc_cos_f64(double x)
{
    double low;
    int64_t n;
    const double size = tc_abs_f64(x);
    if (!(size < tc_asfloat_i64(0x7ff0000000000000)))
        return x - x;
    const double r = size < 0x1p30 ? tc_reduce_near_f64(size, &low, &n) : tc_reduce_far_f64(size, &low, &n);
    return tc_sine_f64(r, low, n + 1);
}

#endif
