/* SPDX-License-Identifier: Apache-2.0
 *
 * exp, expm1, log, log1p, tanh, erf, erfc, lgamma and pow on f64, included by tc_f64.h. tests/numerics/fit_f64.py makes
 * the coefficients, docs/numerics.md has the errors.
 */
#ifndef TC_F64_MATH_H
#define TC_F64_MATH_H

/* c[0] + c[1] x + ... + c[degree] x^degree by Horner's rule. */
static inline double tc_polynomial_f64(double x, const double *c, int degree)
{
    double p = c[degree];
    for (int i = degree - 1; i >= 0; --i)
        p = tc_fma_f64(p, x, c[i]);
    return p;
}

/* x = n ln(2) + r for the integer n = *whole nearest to x / ln(2), |r| <= ln(2)/2, ln(2) in two parts. What r lacks is
 * below its last place; *low has it. */
static inline double tc_less_logarithms_f64(double x, double *low, int64_t *n)
{
    const double shift = 0x1.8p52, rounded = tc_fma_f64(x, 0x1.71547652b82fep+0, shift), whole = rounded - shift;
    *n = (int64_t)((uint64_t)tc_asint_f64(rounded) - (uint64_t)tc_asint_f64(shift));
    const double first = tc_fma_f64(whole, -0x1.62e42fefa39efp-1, x),
                 r = tc_fma_f64(whole, -0x1.abc9e3b39803fp-56, first);
    *low = tc_fma_f64(whole, -0x1.abc9e3b39803fp-56, first - r);
    return r;
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2)/2. */
static inline double tc_exp_rest_f64(double r)
{
    static const double q[] = {
        0x1p-1, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f67dp-7, 0x1.6c16c16c1440ap-10,
        0x1.a01a01affb235p-13, 0x1.a01a01b0cc7a9p-16, 0x1.71ddf8167713p-19, 0x1.27e4c5730121bp-22,
        0x1.af5f32e452f98p-26, 0x1.1f95aa9e32fd9p-29};
    return tc_polynomial_f64(r, q, 10);
}

/* e^r - 1 = r + r^2 q(r) and the integer n of x = n ln(2) + r. */
static inline double tc_expm1_reduced_f64(double x, int64_t *n)
{
    double low;
    const double r = tc_less_logarithms_f64(x, &low, n);
    return tc_fma_f64(r * r, tc_exp_rest_f64(r), r);
}

/* x 2^n rounded once, for x near 1 and -2044 <= n <= 2046: by two normal powers of two; 0 for an n of -2045 or -2046. */
static inline double tc_scale_f64(double x, int64_t n)
{
    const int64_t half = n >> 1;
    return x * tc_asfloat_i64((int64_t)((uint64_t)(half + 1023) << 52)) *
           tc_asfloat_i64((int64_t)((uint64_t)(n - half + 1023) << 52));
}

/* Beyond the clamp the result is 0, by a factor of 0 as in tc_exp_f32, or infinite. */
static inline double tc_exp_f64(double x)
{
    int64_t n;
    x = x < -1418.0 ? -1418.0 : x > 710.0 ? 710.0 : x;
    const double p = tc_expm1_reduced_f64(x, &n);
    return tc_scale_f64(1.0 + p, x == x ? n : 0);
}

/*
 * e^x - 1 = 2^n (e^r - 1) + (2^n - 1) as twice the same with 2^(n-1), a normal number for every n of the clamp: the sum
 * of 2^(n-1) - 1/2 and 2^(n-1) r, with its error and what e^r - 1 has beside r. n = 0 keeps denormals and the sign of
 * zero.
 */
static inline double tc_expm1_f64(double x)
{
    int64_t n;
    double low;
    const double t = x < -40.0 ? -40.0 : x > 710.0 ? 710.0 : x, r = tc_less_logarithms_f64(t, &low, &n);
    const double rest = tc_fma_f64(r * r, tc_exp_rest_f64(r), low);
    const double scale = tc_asfloat_i64((int64_t)((uint64_t)((x == x ? n : 0) + 1022) << 52));
    const double whole = scale - 0.5, part = scale * r, sum = whole + part, back = sum - whole;
    const double error = ((whole - (sum - back)) + (part - back)) + ((scale - whole) - 0.5);
    const double far = 2.0 * (sum + tc_fma_f64(scale, rest, error)), near = r + rest;
    return n != 0 ? far : tc_asint_f64(x) < 0 ? tc_neg_f64(tc_abs_f64(near)) : near;
}

/*
 * k ln(2) + log(1 + f) + low for 1/sqrt(2) <= 1 + f < sqrt(2) and a low far below their last places: log(1 + f) = f -
 * f^2/2 + s (f^2/2 + z L(z)), s = f/(2 + f), z = s^2, the series of 2 artanh(s) with what weighs most taken exactly.
 */
static inline double tc_log_sum_f64(double k, double f, double low)
{
    static const double l[] = {
        0x1.5555555555572p-1, 0x1.99999999877b9p-2, 0x1.2492493cc2161p-2, 0x1.c71c55677c037p-3, 0x1.7465ae59e8ba9p-3,
        0x1.39adc76c2bbbep-3, 0x1.2ea07d81ce84cp-3};
    const double s = f / (2.0 + f), z = s * s, square = 0.5 * f * f;
    const double rest = s * (square + z * tc_polynomial_f64(z, l, 6));
    /* the first part of ln(2) has 33 digits, so k times it is exact */
    return k * 0x1.62e42feep-1 - (square - (rest + (k * 0x1.a39ef35793c76p-33 + low)) - f);
}

/* x = 2^k (1 + f) for a normal x > 0. */
static inline double tc_log_parts_f64(double x, double *f)
{
    const int64_t root = 0x3fe6a09e667f3bcd, bits = tc_asint_f64(x) - root;
    *f = tc_asfloat_i64((bits & (((int64_t)1 << 52) - 1)) + root) - 1.0;
    return (double)(bits >> 52);
}

static inline double tc_log_f64(double x)
{
    const int64_t infinity = (int64_t)0x7ff << 52;
    if (x != x || tc_asint_f64(x) == infinity)
        return x;
    if (x <= 0)
        return x < 0 ? tc_asfloat_i64(0x7ff8000000000000) : -tc_asfloat_i64(infinity);
    const int small = x < 0x1p-1022;
    double f;
    const double k = tc_log_parts_f64(small ? x * 0x1p54 : x, &f);
    return tc_log_sum_f64(k - (small ? 54.0 : 0.0), f, 0.0);
}

/* log(1 + x): 1 + x = u + low exactly, so log(1 + x) = log(u) + low/u but for (low/u)^2. */
static inline double tc_log1p_f64(double x)
{
    const int64_t infinity = (int64_t)0x7ff << 52;
    if (!(x > -1.0) || tc_asint_f64(x) == infinity)
        return x == -1.0 ? -tc_asfloat_i64(infinity) : x < -1.0 ? tc_asfloat_i64(0x7ff8000000000000) : x;
    if (x == 0)
        return x; /* of either sign */
    double f;
    const double u = 1.0 + x, back = u - 1.0, low = (1.0 - (u - back)) + (x - back);
    const double k = tc_log_parts_f64(u, &f);
    return tc_log_sum_f64(k, f, low / u);
}

/* e^2|x| - 1 = e gives e / (e + 2); it rounds to 1 beyond 20. 2^n - 1 is exact, so small results keep their digits. */
static inline double tc_tanh_f64(double x)
{
    int64_t n;
    const double size = tc_abs_f64(x), doubled = size < 20.0 ? 2.0 * size : 40.0;
    const double p = tc_expm1_reduced_f64(doubled, &n);
    const double power = tc_asfloat_i64((int64_t)((uint64_t)(n + 1023) << 52));
    const double e = tc_fma_f64(power, p, power - 1.0), r = e / (e + 2.0);
    return x != x ? x : tc_asint_f64(x) < 0 ? tc_neg_f64(r) : r;
}

/* erf(x)/x - 1 = A(x^2) for |x| < 7/8. */
static inline double tc_erf_small_f64(double x)
{
    static const double a[] = {
        0x1.06eba8214db69p-3, -0x1.812746b0379e5p-2, 0x1.ce2f21a0429bdp-4, -0x1.b82ce3127b953p-6, 0x1.565bcd0bd1c7p-8,
        -0x1.c02db365070a5p-11, 0x1.f9a30ff617258p-14, -0x1.f4d01c07e8f4bp-17, 0x1.b9c110590db1cp-20,
        -0x1.5dcff1d96cfb4p-23, 0x1.e548d01940e0ep-27, -0x1.dc8ab76c400dbp-31};
    return tc_polynomial_f64(x * x, a, 11);
}

/* x + x A(x^2) below 7/8; above, 1 - e^(-x^2) B((x - 2)/(x + 2)), which rounds to 1 beyond 6. */
static inline double tc_erf_f64(double x)
{
    static const double b[] = {
        0x1.058671b52c776p-2, -0x1.b57034efd3f75p-2, 0x1.eeea7dc8a7872p-3, -0x1.437f0b68c0475p-4, 0x1.e9471598a66c5p-9,
        0x1.ca95ed532bed9p-8, -0x1.bc25a55744fffp-11, -0x1.016b5df475f07p-10, 0x1.6d600ab8e83c1p-15,
        0x1.6daa6cde9da16p-13, 0x1.cdb8408a4c2f6p-16, -0x1.cf144f3169588p-16, -0x1.d3e8cf201eb33p-17,
        0x1.987ef66b98ef3p-20, 0x1.f51595ceb2e3p-19, 0x1.ae9bcaca5fb18p-21, -0x1.fe33b348a0dfp-22};
    const double size = tc_abs_f64(x);
    if (size < 0.875)
        return tc_fma_f64(x, tc_erf_small_f64(x), x);
    if (x != x)
        return x;
    const double y = size < 6.0 ? size : 6.0;
    const double r = 1.0 - tc_exp_f64(-(y * y)) * tc_polynomial_f64((y - 2.0) / (y + 2.0), b, 16);
    return x < 0 ? -r : r;
}

/*
 * 1 - (a + a A(a^2)) for a = |x| below 1/2, e^(-a^2) B((a - 2)/(a + 2)) / (1 + 2 a) from there on, a^2 with its rounding
 * error; 2 less that for a negative x. It is 0 from 27.3 on; the clamp keeps a^2 finite.
 */
static inline double tc_erfc_f64(double x)
{
    static const double b[] = {
        0x1.46e80e2277953p+0, -0x1.7bf5ec1700633p-4, -0x1.5407bebf3242fp-3, 0x1.4ffa1e14e2808p-3,
        -0x1.bc2b95619ab4cp-5, -0x1.074234049a026p-7, 0x1.1dd2ec91ec2e1p-7, 0x1.4d461d40d9431p-10,
        -0x1.7de521cd97ad1p-10, -0x1.dc6936776eb25p-12, 0x1.b0c8d7903a49bp-13, 0x1.3cc0d90ba0e13p-13,
        -0x1.96665b56a50e1p-20, -0x1.318d67f6aa7e9p-15, -0x1.c41059ab8df62p-17, 0x1.f16746c9fa9dep-19,
        0x1.5a41634c4ce44p-18, 0x1.9f72729cd155ep-20, -0x1.3393b8c73ea0cp-21, -0x1.04019b6c8e3d4p-20,
        -0x1.9a9a1beaf88b1p-22, 0x1.6aaccf678b02ap-22, 0x1.90b0ad21d15e7p-23, -0x1.b697f838814a8p-24};
    if (x != x)
        return x;
    const double size = tc_abs_f64(x), a = size < 28.0 ? size : 28.0;
    double r;
    if (a < 0.5) {
        r = 0.5 - ((a - 0.5) + a * tc_erf_small_f64(a));
    } else {
        const double z = a * a, low = tc_fma_f64(a, a, -z), power = tc_exp_f64(-z);
        r = tc_fma_f64(-low, power, power) * tc_polynomial_f64((a - 2.0) / (a + 2.0), b, 23) / tc_fma_f64(2.0, a, 1.0);
    }
    return x < 0 ? 2.0 - r : r;
}

/* log |gamma(x)| as in tc_math.inc: below 8 u v R(v) + g; from there on Stirling's series; for a negative x
 * -log(a r C(r^2)) less that. */
static inline double tc_lgamma_f64(double x)
{
    static const double big[] = {
        0x1.b0ee6072093cep-2, -0x1.9ae6509ea109ep-4, 0x1.0e0c9df293524p-5, -0x1.95ce223a9d2b7p-7,
        0x1.47974853ac027p-8, -0x1.145121f955d2dp-9, 0x1.dfebcf8cc7aa3p-11, -0x1.a96a403b7c613p-12,
        0x1.7ed73413ba01p-13, -0x1.5c86af203d06ep-14, 0x1.402f01e99001ep-15, -0x1.2851180c0ba43p-16,
        0x1.13e5744cafe71p-17, -0x1.0222936676b9ep-18, 0x1.e52eeae538cc3p-20, -0x1.cb4945e21911ep-21,
        0x1.b37fe79052aacp-22, -0x1.8fb13e431097ep-23, 0x1.776ec6ea3075cp-24, -0x1.bf1f82629c61cp-25,
        0x1.c3eaf25a24a09p-26, -0x1.a9b939a1798b5p-31, -0x1.bc8bf3cfc1f72p-31, -0x1.33d1738dfeb66p-27,
        0x1.54744e3980a15p-28, 0x1.53b36e0d2d70ep-29, -0x1.80657117cf73ap-30, -0x1.c26f03929e3a5p-31,
        0x1.d41eeadad539cp-32};
    static const double far[] = {
        0x1.5555555555555p-4, -0x1.6c16c16c14af5p-9, 0x1.a01a017e8a093p-11, -0x1.38134e15d7484p-11,
        0x1.b92c936313e01p-11, -0x1.ef980a0d119b3p-10, 0x1.4c382946e67b2p-8};
    static const double sine[] = {
        0x1p+0, -0x1.a51a6625307d3p+0, 0x1.9f9cb402bc3ebp-1, -0x1.86a8e4720889p-3, 0x1.ac6805cbe088bp-6,
        -0x1.3381697049989p-9, 0x1.3746971b88dccp-13, -0x1.d3e3bb2a6e7a6p-18, 0x1.0718a900b49abp-22};
    const double a = tc_abs_f64(x), infinity = tc_asfloat_i64((int64_t)0x7ff << 52);
    if (x != x || a == infinity)
        return a;
    const double rest = tc_abs_f64(a - tc_round_f64(a));
    if (x <= 0 && rest == 0)
        return infinity;
    double above, g = 0.0, part = 0.0;
    if (a < 8.0) {
        double y = a, product = 1.0;
        for (; y >= 3.0; y -= 1.0)
            product *= y - 1.0;
        const double u = a < 1.0 ? a : y - 1.0, v = a < 1.0 ? a - 1.0 : y - 2.0;
        part = u * v * tc_polynomial_f64(v, big, 28);
        g = a < 1.0 ? -tc_log_f64(a) : a < 3.0 ? 0.0 : tc_log_f64(product);
        above = part + g;
    } else {
        const double z = 1.0 / a;
        above = tc_fma_f64(a - 0.5, tc_log_f64(a) - 1.0, 0x1.acfe390c97d69p-2) + z * tc_polynomial_f64(z * z, far, 6);
    }
    if (x > 0)
        return above;
    const double c = tc_polynomial_f64(rest * rest, sine, 8);
    return a < 0.5 ? (g - part) - tc_log_f64(c) : -above - tc_log_f64(a * rest * c);
}

/*
 * log2(x) for a finite x > 0, with what it lacks in *low; both are right to 2^-70. x = 2^k m as in log; log2(m) is
 * s (A + z (B + z (C + z r(z)))) for s = (m - 1) / (m + 1), z = s^2, A = 2/ln(2), B = A/3 and C = A/5. s, z and all
 * sums but r's are pairs of f64, the second the rounding error of the first.
 */
static inline double tc_log2_pair_f64(double x, double *low)
{
    static const double tail[] = {
        0x1.a61762a7ae389p-2, 0x1.484b13d7333dp-2, 0x1.0c9a8502b1985p-2, 0x1.c68f0400d543ep-3, 0x1.8a061e7625839p-3,
        0x1.593f2bb8e83a4p-3, 0x1.5ff677511aeefp-3};
    const double a = 0x1.71547652b82fep+1, b = 0x1.ec709dc3a03fdp-1, c = 0x1.2776c50ef9bfep-1;
    const int small = x < 0x1p-1022;
    double f;
    const double k = tc_log_parts_f64(small ? x * 0x1p54 : x, &f) - (small ? 54.0 : 0.0);
    /* s */
    const double above = 2.0 + f, above_low = f - (above - 2.0), part = 1.0 / above, s = f * part;
    const double s_low = tc_fma_f64(-s, above_low, tc_fma_f64(-s, above, f)) * part;
    const double z = s * s, z_low = tc_fma_f64(s + s, s_low, tc_fma_f64(s, s, -z));
    /* q = C + z r */
    const double t = z * tc_polynomial_f64(z, tail, 6), q = c + t, q_low = ((c - q) + t) + 0x1.e4b29ccc535d4p-55;
    /* v = B + z q */
    const double u = z * q, u_low = tc_fma_f64(z_low, q, tc_fma_f64(z, q_low, tc_fma_f64(z, q, -u)));
    const double v = b + u, v_low = ((b - v) + u) + (u_low + 0x1.d27f05548af0cp-55);
    /* w = A + z v */
    const double y = z * v, y_low = tc_fma_f64(z_low, v, tc_fma_f64(z, v_low, tc_fma_f64(z, v, -y)));
    const double w = a + y, w_low = ((a - w) + y) + (y_low + 0x1.777d0ffda0d24p-55);
    /* s w, and k */
    const double l = s * w, l_low = tc_fma_f64(s_low, w, tc_fma_f64(s, w_low, tc_fma_f64(s, w, -l)));
    const double sum = k + l;
    *low = ((k - sum) + l) + l_low;
    return sum;
}

/* 2^(y + low) for |y| <= 1100 and a low below y's last place: 2^n times 1 + r ln(2) + r^2 q(r), n the integer nearest
 * to y, r the rest; r, r ln(2) and its sum with 1 as pairs. */
static inline double tc_exp2_pair_f64(double y, double low)
{
    static const double q[] = {
        0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c8p-5, 0x1.3b2ab6fba4e7fp-7, 0x1.5d87fe78a3752p-10, 0x1.430912f8696f2p-13,
        0x1.ffcbfc70b3ae4p-17, 0x1.62c0224ba75dp-20, 0x1.b524e4d563efbp-24, 0x1.e4ceee6f8f10bp-28,
        0x1.e9f72fe9779d2p-32, 0x1.c4d346899ecedp-36};
    const double ln2 = 0x1.62e42fefa39efp-1, shift = 0x1.8p52, rounded = y + shift, whole = rounded - shift;
    const int64_t n = (int64_t)((uint64_t)tc_asint_f64(rounded) - (uint64_t)tc_asint_f64(shift));
    const double r = (y - whole) + low, r_low = ((y - whole) - r) + low, t = r * ln2, sum = 1.0 + t;
    const double t_low = tc_fma_f64(r, 0x1.abc9e3b39803fp-56, tc_fma_f64(r_low, ln2, tc_fma_f64(r, ln2, -t)));
    const double rest = tc_fma_f64(r * r, tc_polynomial_f64(r, q, 10), t_low + ((1.0 - sum) + t));
    return tc_scale_f64(sum + rest, n);
}

/* x to the power of y, with C99's special cases (F.9.4.4): 2^(y log2 |x|) as in tc_math_power.inc. */
static inline double tc_pow_f64(double x, double y)
{
    const double infinity = tc_asfloat_i64((int64_t)0x7ff << 52), a = tc_abs_f64(x), b = tc_abs_f64(y);
    if (y == 0 || x == 1.0 || (a == 1.0 && b == infinity))
        return 1.0;
    if (x != x || y != y)
        return x + y;
    const int whole = tc_round_f64(y) == y, odd = whole && tc_round_f64(0.5 * y) != 0.5 * y;
    const int negative = odd && tc_asint_f64(x) < 0;
    double size;
    if (a == 0 || a == infinity || b == infinity) {
        size = (a > 1.0) == (y > 0) ? infinity : 0.0;
    } else {
        if (x < 0 && !whole)
            return tc_asfloat_i64(0x7ff8000000000000);
        double low;
        const double high = tc_log2_pair_f64(a, &low);
        const double product = y * high, limit = 1100.0;
        const double error = tc_fma_f64(y, low, tc_fma_f64(y, high, -product));
        if (tc_abs_f64(product) < limit)
            size = tc_exp2_pair_f64(product, error);
        else
            size = product > 0 ? infinity : 0.0;
    }
    return negative ? tc_neg_f64(size) : size;
}

#endif
