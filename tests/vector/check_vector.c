/* SPDX-License-Identifier: Apache-2.0
 *
 * Every vector operation against its scalar one, on random and extreme values: the same bits, or both NaN. Compiled once
 * for each instruction set. Partial loads and stores end at a page that may not be touched.
 */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lanes.h"
#include "tap.h"

#define CHECK(name, R, r, vector, scalar)                                                                              \
    do {                                                                                                               \
        int bad = -1, at = 0;                                                                                          \
        for (int i = 0; i < ROUNDS && bad < 0; ++i) {                                                                  \
            fresh();                                                                                                   \
            tcv_store_##R(r, vector);                                                                                  \
            for (int l = 0; l < 16; ++l)                                                                               \
                if (!same_##R(r[l], scalar))                                                                           \
                    bad = l, at = i;                                                                                   \
        }                                                                                                              \
        if (!tc_ok(bad < 0, "%s", name))                                                                               \
            tc_note("round %d lane %d: f32 %08x %08x %08x i32 %d %d bool %d %d", at, bad, tc_asint_f32(xf[bad]),      \
                    tc_asint_f32(yf[bad]), tc_asint_f32(zf[bad]), xi[bad], yi[bad], xb[bad], yb[bad]);                 \
    } while (0)
#define F1(op) CHECK(#op, f32, rf, tcv_##op(F(x)), tc_##op(xf[l]))
#define F2(op) CHECK(#op, f32, rf, tcv_##op(F(x), F(y)), tc_##op(xf[l], yf[l]))
#define FC(op) CHECK(#op, bool, rb, tcv_##op(F(x), F(y)), tc_##op(xf[l], yf[l]))
#define I1(op) CHECK(#op, i32, ri, tcv_##op(I(x)), tc_##op(xi[l]))
#define I2(op) CHECK(#op, i32, ri, tcv_##op(I(x), I(y)), tc_##op(xi[l], yi[l]))
#define IC(op) CHECK(#op, bool, rb, tcv_##op(I(x), I(y)), tc_##op(xi[l], yi[l]))
#define B2(op) CHECK(#op, bool, rb, tcv_##op(B(x), B(y)), tc_##op(xb[l], yb[l]))

/* Vectors of i64 come from i32 and go back: both halves of a result are looked at. */
#define W2(op)                                                                                                         \
    CHECK(#op, i32, ri,                                                                                                \
          tcv_cast_i64_i32(tcv_##op(tcv_mul_i64(tcv_cast_i32_i64(I(x)), tcv_splat_i64(0x123456789)),                   \
                                    tcv_cast_i32_i64(I(y)))),                                                          \
          (int32_t)tc_##op((int64_t)((uint64_t)xi[l] * 0x123456789), (int64_t)yi[l]));                                 \
    CHECK(#op " high", i32, ri,                                                                                        \
          tcv_cast_i64_i32(tcv_shift_right_i64(tcv_##op(tcv_cast_i32_i64(I(x)), tcv_cast_i32_i64(I(y))),               \
                                               tcv_splat_i64(32))),                                                    \
          (int32_t)(tc_##op((int64_t)xi[l], (int64_t)yi[l]) >> 32))
static void check_wide(void)
{
    W2(add_i64); W2(sub_i64); W2(mul_i64); W2(maximum_i64); W2(minimum_i64); W2(shift_left_i64); W2(shift_right_i64);
    int64_t wide[32];
    for (int l = 0; l < 32; ++l)
        wide[l] = (int64_t)l << 33 | l;
    CHECK("load_i64", i32, ri, tcv_cast_i64_i32(tcv_load_i64(wide)), l);
    CHECK("loadn_i64", i32, ri, tcv_cast_i64_i32(tcv_loadn_i64(wide, 5)), l < 5 ? l : 0);
    CHECK("loads_i64", i32, ri, tcv_cast_i64_i32(tcv_loads_i64(wide, 2, 3, 16, tcv_splat_i64(7))), l < 3 ? 7 : 2 * l);
}

/* By compositions of scalars. */
static int32_t upper_half(int32_t x, int32_t y)
{
    const int64_t product = tc_add_i64(tc_mul_i64(x, y), INT64_C(1) << 31);
    return tc_add_i32(x, tc_cast_i64_i32(tc_shift_right_i64(product, 32)));
}
static int32_t high_half(int32_t x, int32_t y)
{
    const int64_t product = tc_add_i64(tc_mul_i64(x, y), INT64_C(1) << 30);
    return tc_cast_i64_i32(tc_minimum_i64(tc_shift_right_i64(product, 31), INT32_MAX));
}

/* Limits that are no NaN; a zero alone beside numbers that are not the other one. */
static void check_limits(void)
{
    const float limits[] = {6.0f, -3.0f, 0x1p-140f, tc_asfloat_i32(0x7f800000), tc_asfloat_i32((int32_t)0xff800000)};
    for (int n = 0; n < (int)(sizeof limits / sizeof *limits); ++n) {
        const float by = limits[n];
        CHECK("at_least_f32", f32, rf, tcv_at_least_f32(F(x), tcv_splat_f32(by)), tc_maximum_f32(xf[l], by));
        CHECK("at_most_f32", f32, rf, tcv_at_most_f32(F(x), tcv_splat_f32(by)), tc_minimum_f32(xf[l], by));
    }
    const float zero = 0.0f;
    CHECK("relu_f32", f32, rf, tcv_relu_f32(F(x)), tc_maximum_f32(xf[l], zero));
    CHECK("at_least_f32 -0", f32, rf, tcv_at_least_f32(F(x), tcv_splat_f32(-zero)), tc_maximum_f32(xf[l], -zero));
    CHECK("at_most_f32 0", f32, rf, tcv_at_most_f32(F(x), tcv_splat_f32(zero)), tc_minimum_f32(xf[l], zero));
    CHECK("at_least_f32 0", f32, rf, tcv_at_least_f32(tcv_add_f32(F(x), tcv_splat_f32(zero)), tcv_splat_f32(zero)),
          tc_maximum_f32(xf[l], zero));
}

static void check_operations(void)
{
    CHECK("exp_below_f32", f32, rf, tcv_exp_below_f32(tcv_lesser_f32(F(x), tcv_neg_f32(F(x)))),
          tc_exp_f32(xf[l] < -xf[l] ? xf[l] : -xf[l]));
    F1(neg_f32); F1(abs_f32); F1(sqrt_f32); F1(floor_f32); F1(exp_f32); F1(log_f32); F1(tanh_f32); F1(erf_f32);
    F1(erfc_f32); F1(lgamma_f32);
    F1(round_f32); F1(expm1_f32); F1(log1p_f32); F1(sin_f32); F1(cos_f32); F2(pow_f32); F2(rem_f32);
    F2(add_f32); F2(sub_f32); F2(mul_f32); F2(div_f32); F2(maximum_f32); F2(minimum_f32);
    F2(lesser_f32); F2(greater_f32);
    check_limits();
    FC(eq_f32); FC(ne_f32); FC(lt_f32); FC(le_f32); FC(gt_f32); FC(ge_f32);
    CHECK("fma_f32", f32, rf, tcv_fma_f32(F(x), F(y), F(z)), tc_fma_f32(xf[l], yf[l], zf[l]));
    I1(neg_i32); I1(abs_i32);
    I2(add_i32); I2(sub_i32); I2(mul_i32); I2(div_i32); I2(maximum_i32); I2(minimum_i32); I2(bit_and_i32); I2(bit_or_i32);
    CHECK("upper_half_i32", i32, ri, tcv_upper_half_i32(I(x), I(y)), upper_half(xi[l], yi[l]));
    CHECK("high_half_i32", i32, ri, tcv_high_half_i32(I(x), I(y)), high_half(xi[l], yi[l]));
    I2(bit_xor_i32); I1(bit_not_i32); I2(rem_i32); I2(shift_left_i32); I2(shift_right_i32);
    IC(eq_i32); IC(ne_i32); IC(lt_i32); IC(le_i32); IC(gt_i32); IC(ge_i32);
    CHECK("fma_short", i32, ri, tcv_fma_short(tcv_wrap_i16(I(x)), tcv_wrap_i16(I(y)), I(x)),
          tc_add_i32((int16_t)xi[l] * (int16_t)yi[l], xi[l]));
    CHECK("shl_i32", i32, ri, tcv_shl_i32(I(x), 23), tc_shl_i32(xi[l], 23));
    CHECK("sar_i32", i32, ri, tcv_sar_i32(I(x), 23), tc_sar_i32(xi[l], 23));
    check_wide();
    B2(logical_and_bool); B2(logical_or_bool); B2(logical_xor_bool);
    B2(eq_bool); B2(ne_bool); B2(lt_bool); B2(le_bool); B2(gt_bool); B2(ge_bool);
    CHECK("logical_not_bool", bool, rb, tcv_logical_not_bool(B(x)), tc_logical_not_bool(xb[l]));
    CHECK("select_f32", f32, rf, tcv_select_f32(B(x), F(x), F(y)), tc_select_f32(xb[l], xf[l], yf[l]));
    CHECK("select_i32", i32, ri, tcv_select_i32(B(x), I(x), I(y)), tc_select_i32(xb[l], xi[l], yi[l]));
    CHECK("select_bool", bool, rb, tcv_select_bool(B(x), B(y), B(x)), tc_select_bool(xb[l], yb[l], xb[l]));
    CHECK("cast_f32_i32", i32, ri, tcv_cast_f32_i32(F(x)), tc_cast_f32_i32(xf[l]));
    CHECK("cast_f32_bool", bool, rb, tcv_cast_f32_bool(F(x)), tc_cast_f32_bool(xf[l]));
    CHECK("cast_i32_f32", f32, rf, tcv_cast_i32_f32(I(x)), tc_cast_i32_f32(xi[l]));
    CHECK("cast_i32_bool", bool, rb, tcv_cast_i32_bool(I(x)), tc_cast_i32_bool(xi[l]));
    CHECK("cast_bool_f32", f32, rf, tcv_cast_bool_f32(B(x)), tc_cast_bool_f32(xb[l]));
    CHECK("cast_bool_i32", i32, ri, tcv_cast_bool_i32(B(x)), tc_cast_bool_i32(xb[l]));
    CHECK("bitcast_f32_i32", i32, ri, tcv_bitcast_f32_i32(F(x)), tc_bitcast_f32_i32(xf[l]));
    CHECK("bitcast_i32_f32", i32, ri, tcv_asint_f32(tcv_bitcast_i32_f32(I(x))), xi[l]);
    CHECK("asint_f32", i32, ri, tcv_asint_f32(F(x)), tc_asint_f32(xf[l]));
    CHECK("iota_i32", i32, ri, tcv_iota_i32(), l);
    CHECK("splat_f32", f32, rf, tcv_splat_f32(xf[0]), xf[0]);
    CHECK("splat_i32", i32, ri, tcv_splat_i32(xi[0]), xi[0]);
    CHECK("splat_bool", bool, rb, tcv_splat_bool(xb[0]), xb[0]);
}

#define xf32 xf
#define rf32 rf
#define xi32 xi
#define ri32 ri
#define xbool xb
#define rbool rb
#define NARROW(good, R, vector, scalar)                                                                                \
    do {                                                                                                               \
        tcv_store_##R(r##R, vector);                                                                                   \
        for (int l = 0; l < 16; ++l)                                                                                   \
            good &= same_##R(r##R[l], scalar);                                                                         \
    } while (0)
#define X(T) tcv_load_##T(x##T)
#define Y(T) tcv_load_##T(y##T)
#define N1(op, T) NARROW(arithmetic, T, tcv_##op##_##T(X(T)), tc_##op##_##T(x##T[l]))
#define N2(op, T) NARROW(arithmetic, T, tcv_##op##_##T(X(T), Y(T)), tc_##op##_##T(x##T[l], y##T[l]))
#define NC(op, T) NARROW(arithmetic, bool, tcv_##op##_##T(X(T), Y(T)), tc_##op##_##T(x##T[l], y##T[l]))
#define NARROW_INTEGER(T)                                                                                              \
    do {                                                                                                               \
        N1(neg, T); N1(abs, T); N2(add, T); N2(sub, T); N2(mul, T); N2(div, T); N2(maximum, T); N2(minimum, T);        \
        N2(bit_and, T); N2(bit_or, T); N2(bit_xor, T);                                                                 \
        NC(eq, T); NC(ne, T); NC(lt, T); NC(le, T); NC(gt, T); NC(ge, T);                                              \
        NARROW(arithmetic, T, tcv_select_##T(tcv_load_bool(xb), X(T), Y(T)), tc_select_##T(xb[l], x##T[l], y##T[l]));  \
    } while (0)
#define TO(from, to) NARROW(casts, to, tcv_cast_##from##_##to(X(from)), tc_cast_##from##_##to(x##from[l]))

static void check_narrow(void)
{
    int arithmetic = 1, casts = 1;
    for (int i = 0; i < ROUNDS / 4; ++i) {
        fresh_narrow();
        NARROW_INTEGER(i8);
        NARROW_INTEGER(u8);
        NARROW_INTEGER(i16);
        NARROW_INTEGER(u16);
        TO(f32, f16); TO(f32, bf16); TO(f32, i8); TO(f32, u8); TO(f32, i16); TO(f32, u16);
        TO(i32, f16); TO(i32, bf16); TO(i32, i8); TO(i32, u8); TO(i32, i16); TO(i32, u16);
        TO(bool, f16); TO(bool, bf16); TO(bool, i8); TO(bool, u8); TO(bool, i16); TO(bool, u16);
        TO(f16, f32); TO(f16, bf16); TO(f16, i32); TO(f16, bool); TO(f16, i8); TO(f16, u8); TO(f16, i16); TO(f16, u16);
        TO(bf16, f32); TO(bf16, f16); TO(bf16, i32); TO(bf16, bool); TO(bf16, i8); TO(bf16, u8); TO(bf16, i16);
        TO(bf16, u16);
        TO(i8, f32); TO(i8, f16); TO(i8, bf16); TO(i8, i32); TO(i8, bool); TO(i8, u8); TO(i8, i16); TO(i8, u16);
        TO(u8, f32); TO(u8, f16); TO(u8, bf16); TO(u8, i32); TO(u8, bool); TO(u8, i8); TO(u8, i16); TO(u8, u16);
        TO(i16, f32); TO(i16, f16); TO(i16, bf16); TO(i16, i32); TO(i16, bool); TO(i16, i8); TO(i16, u8); TO(i16, u16);
        TO(u16, f32); TO(u16, f16); TO(u16, bf16); TO(u16, i32); TO(u16, bool); TO(u16, i8); TO(u16, u8); TO(u16, i16);
    }
    tc_ok(arithmetic, "i8, u8, i16 and u16");
    tc_ok(casts, "casts from and to narrow dtypes");
}

static void check_reductions(void)
{
    int sum = 1, extremes = 1, integers = 1, masks = 1;
    for (int i = 0; i < ROUNDS; ++i) {
        fresh();
        float t[16], high = xf[0], low = xf[0];
        int32_t total = 0, product = 1, most = xi[0], least = xi[0];
        uint8_t any = 0, all = 1;
        memcpy(t, xf, sizeof t);
        for (int half = 8; half > 0; half /= 2)
            for (int l = 0; l < half; ++l)
                t[l] = t[l] + t[l + half];
        for (int l = 0; l < 16; ++l) {
            high = tc_maximum_f32(high, xf[l]);
            low = tc_minimum_f32(low, xf[l]);
            total = tc_add_i32(total, xi[l]);
            product = tc_mul_i32(product, xi[l]);
            most = tc_maximum_i32(most, xi[l]);
            least = tc_minimum_i32(least, xi[l]);
            any |= xb[l];
            all &= xb[l];
        }
        sum &= same_f32(tcv_sum_f32(F(x)), t[0]);
        extremes &= same_f32(tcv_max_f32(F(x)), high) && same_f32(tcv_min_f32(F(x)), low);
        sum &= same_f32(tcv_prod_f32(F(x)), tc_lanes_prod_f32(xf));
        integers &= tcv_prod_i32(I(x)) == product;
        integers &= tcv_sum_i32(I(x)) == total && tcv_max_i32(I(x)) == most && tcv_min_i32(I(x)) == least;
        masks &= tcv_any_bool(B(x)) == any && tcv_all_bool(B(x)) == all;
    }
    tc_ok(sum, "sum_f32, prod_f32 are the tree over the lanes");
    tc_ok(extremes, "max_f32, min_f32");
    tc_ok(integers, "sum_i32, prod_i32, max_i32, min_i32");
    tc_ok(masks && !tcv_any_bool(tcv_splat_bool(0)) && tcv_all_bool(tcv_splat_bool(1)), "any_bool, all_bool");
}

/* Two pages, the second (and the one before the first) forbidden. */
static unsigned char *pages(size_t *size)
{
    *size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *p = mmap(NULL, 3 * *size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + *size, *size, PROT_READ | PROT_WRITE))
        exit(2);
    return p + *size;
}

#define PARTIAL(T, C, same, x, r)                                                                                      \
    do {                                                                                                               \
        int loads = 1, stores = 1;                                                                                     \
        fresh();                                                                                                       \
        for (int lo = 0; lo <= 17; ++lo)                                                                               \
            for (int hi = -1; hi <= 16; ++hi) {                                                                        \
                const int count = hi > lo ? hi - lo : 0;                                                               \
                C *const last = (C *)(void *)(page + size) - count, *const first = (C *)(void *)page;                  \
                memcpy(last, x, (size_t)count * sizeof *x);                                                            \
                tcv_store_##T(r, tcv_loadw_##T(last - lo, lo, hi, tcv_splat_##T(x[3])));                               \
                for (int l = 0; l < 16; ++l)                                                                           \
                    loads &= same(r[l], l >= lo && l < hi ? x[l - lo] : x[3]);                                         \
                memcpy(first, x, (size_t)count * sizeof *x);                                                           \
                tcv_store_##T(r, tcv_loadw_##T(first - lo, lo, hi, tcv_splat_##T(x[3])));                              \
                for (int l = 0; l < 16; ++l)                                                                           \
                    loads &= same(r[l], l >= lo && l < hi ? x[l - lo] : x[3]);                                         \
            }                                                                                                          \
        for (int n = 0; n <= 16; ++n) {                                                                                \
            C *const end = (C *)(void *)(page + size);                                                                 \
            tcv_storen_##T(end - n, tcv_load_##T(x), n);                                                               \
            tcv_store_##T(r, tcv_loadn_##T(end - n, n));                                                               \
            for (int l = 0; l < 16; ++l)                                                                               \
                stores &= same(r[l], l < n ? x[l] : 0) && (l >= n || same((end - n)[l], x[l]));                        \
            if (n == 0)                                                                                                \
                continue;                                                                                              \
            C *const spaced = end - 3 * (n - 1) - 1;                                                                   \
            tcv_stores_##T(spaced, 3, tcv_load_##T(x), n);                                                             \
            tcv_store_##T(r, tcv_loads_##T(spaced, 3, 0, n, tcv_splat_##T(x[5])));                                     \
            for (int l = 0; l < 16; ++l)                                                                               \
                stores &= same(r[l], l < n ? x[l] : x[5]);                                                             \
        }                                                                                                              \
        tc_ok(loads, "partial loads of " #T " within their elements");                                                 \
        tc_ok(stores, "partial and strided stores of " #T " within their elements");                                   \
    } while (0)

/* The elements from lo to hi of 32 lie at the end of what may be touched, and at its beginning. */
#define ALTERNATE(T, C, same, x, r)                                                                                    \
    do {                                                                                                               \
        int evens = 1, odds = 1;                                                                                       \
        fresh();                                                                                                       \
        for (int lo = 0; lo <= 32; ++lo)                                                                               \
            for (int hi = lo; hi <= 32; ++hi) {                                                                        \
                const int count = hi - lo;                                                                             \
                C *const last = (C *)(void *)(page + size) - count, *const first = (C *)(void *)page;                  \
                for (int end = 0; end < 2; ++end) {                                                                    \
                    C *const from = end ? last : first;                                                                \
                    for (int e = 0; e < count; ++e)                                                                    \
                        from[e] = x[(lo + e) % 16 ^ (lo + e) / 16];                                                    \
                    tcv_store_##T(r, tcv_evens_##T(from - lo, lo, hi));                                                \
                    for (int l = 0; l < 16; ++l)                                                                       \
                        evens &= 2 * l < lo || 2 * l >= hi || same(r[l], from[2 * l - lo]);                            \
                    tcv_store_##T(r, tcv_odds_##T(from - lo, lo, hi));                                                 \
                    for (int l = 0; l < 16; ++l)                                                                       \
                        odds &= 2 * l + 1 < lo || 2 * l + 1 >= hi || same(r[l], from[2 * l + 1 - lo]);                 \
                }                                                                                                      \
            }                                                                                                          \
        C *const whole = (C *)(void *)(page + size) - 31;                                                              \
        for (int e = 0; e < 31; ++e)                                                                                   \
            whole[e] = x[e % 16 ^ e / 16];                                                                             \
        tcv_store_##T(r, tcv_loads_##T(whole, 2, 0, 16, tcv_splat_##T(0)));                                            \
        for (int l = 0; l < 16; ++l)                                                                                   \
            evens &= same(r[l], whole[2 * l]);                                                                         \
        tc_ok(evens, "elements of even numbers of " #T " within their elements");                                      \
        tc_ok(odds, "elements of odd numbers of " #T " within their elements");                                        \
    } while (0)

/* Turns of n: the elements from lo to hi, as above, and the first `count` turns. */
#define IN_TURN(T, C, V, same, x, r, n)                                                                                \
    do {                                                                                                               \
        int parted = 1, joined = 1;                                                                                    \
        for (int lo = 0; lo <= 16 * (n); lo += lo < 2 || lo > 16 * (n) - 3 ? 1 : 5)                                    \
            for (int hi = lo; hi <= 16 * (n); ++hi) {                                                                  \
                const int count = hi - lo;                                                                             \
                C *const last = (C *)(void *)(page + size) - count, *const first = (C *)(void *)page;                  \
                for (int end = 0; end < 2; ++end) {                                                                    \
                    C *const from = end ? last : first;                                                                \
                    for (int e = 0; e < count; ++e)                                                                    \
                        from[e] = x[(lo + e) % 16 ^ (lo + e) / 16];                                                    \
                    V taken[8];                                                                                        \
                    tcv_take_##T(from - lo, n, lo, hi, taken);                                                         \
                    for (int k = 0; k < (n); ++k) {                                                                    \
                        tcv_store_##T(r, taken[k]);                                                                    \
                        for (int l = 0; l < 16; ++l) {                                                                 \
                            const int e = l * (n) + k;                                                                 \
                            parted &= e < lo || e >= hi || same(r[l], from[e - lo]);                                   \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        for (int count = 1; count <= 16; ++count) {                                                                    \
            C *const to = (C *)(void *)(page + size) - count * (n);                                                    \
            V given[8];                                                                                                \
            for (int k = 0; k < (n); ++k) {                                                                            \
                for (int l = 0; l < 16; ++l)                                                                           \
                    r[l] = x[l ^ k];                                                                                   \
                given[k] = tcv_load_##T(r);                                                                            \
            }                                                                                                          \
            const C before = to[-1];                                                                                   \
            tcv_put_##T(to, n, count, given);                                                                          \
            for (int e = 0; e < count * (n); ++e)                                                                      \
                joined &= same(to[e], x[e / (n) ^ e % (n)]);                                                           \
            joined &= !memcmp(&before, to - 1, sizeof before);                                                         \
        }                                                                                                              \
        tc_ok(parted, "turns of " #n " of " #T " parted within their elements");                                       \
        tc_ok(joined, "turns of " #n " of " #T " joined within their elements");                                       \
    } while (0)
/* A function each: compilers take long for large ones. */
#define TURNS(T, C, V, x, r)                                                                                           \
    static TC_NOINLINE void check_turns_2_##T(unsigned char *page, size_t size)                                        \
    {                                                                                                                  \
        IN_TURN(T, C, V, same_##T, x, r, 2);                                                                           \
    }                                                                                                                  \
    static TC_NOINLINE void check_turns_3_##T(unsigned char *page, size_t size)                                        \
    {                                                                                                                  \
        IN_TURN(T, C, V, same_##T, x, r, 3);                                                                           \
    }                                                                                                                  \
    static TC_NOINLINE void check_turns_4_##T(unsigned char *page, size_t size)                                        \
    {                                                                                                                  \
        IN_TURN(T, C, V, same_##T, x, r, 4);                                                                           \
    }                                                                                                                  \
    static TC_NOINLINE void check_turns_8_##T(unsigned char *page, size_t size)                                        \
    {                                                                                                                  \
        IN_TURN(T, C, V, same_##T, x, r, 8);                                                                           \
    }                                                                                                                  \
    static void check_turns_##T(unsigned char *page, size_t size)                                                      \
    {                                                                                                                  \
        check_turns_2_##T(page, size);                                                                                 \
        check_turns_3_##T(page, size);                                                                                 \
        check_turns_4_##T(page, size);                                                                                 \
        check_turns_8_##T(page, size);                                                                                 \
    }
TURNS(f32, float, tcv_f32, xf, rf)
TURNS(i32, int32_t, tcv_i32, xi, ri)
TURNS(i8, int8_t, tcv_i32, xi8, ri8)
TURNS(u8, uint8_t, tcv_i32, xu8, ru8)
TURNS(i16, int16_t, tcv_i32, xi16, ri16)
TURNS(u16, uint16_t, tcv_i32, xu16, ru16)
TURNS(f16, uint16_t, tcv_f32, xf16, rf16)
TURNS(bf16, uint16_t, tcv_f32, xbf16, rbf16)

#define SHIFTED(n)                                                                                                     \
    do {                                                                                                               \
        tcv_store_f32(rf, tcv_shifted_f32(tcv_load_f32(xf), tcv_load_f32(yf), n));                                     \
        for (int l = 0; l < 16; ++l)                                                                                   \
            same &= same_f32(rf[l], l + (n) < 16 ? xf[l + (n)] : yf[l + (n) - 16]);                                    \
    } while (0)
static void check_shifted(void)
{
    int same = 1;
    fresh();
    SHIFTED(1);
    SHIFTED(6);
    SHIFTED(8);
    SHIFTED(15);
    tc_ok(same, "shifted");
}

/* Stores past the caches are stores. */
static void check_stream(void)
{
    static _Alignas(64) float to[48];
    int same = 1;
    for (int i = 0; i < 16; ++i)
        xf[i] = (float)i - 7.5f;
    tcv_stream_f32(to + 16, tcv_load_f32(xf));
    tcv_stream_end();
    for (int i = 0; i < 48; ++i)
        same &= to[i] == (i / 16 == 1 ? xf[i - 16] : 0.0f);
    tc_ok(same, "stream");
}

static void check_memory(void)
{
    size_t size;
    unsigned char *const page = pages(&size);
    PARTIAL(f32, float, same_f32, xf, rf);
    PARTIAL(i32, int32_t, same_i32, xi, ri);
    PARTIAL(bool, uint8_t, same_bool, xb, rb);
    fresh_narrow();
    PARTIAL(i8, int8_t, same_i8, xi8, ri8);
    PARTIAL(u16, uint16_t, same_u16, xu16, ru16);
    PARTIAL(f16, uint16_t, same_f16, xf16, rf16);
    PARTIAL(bf16, uint16_t, same_bf16, xbf16, rbf16);
    ALTERNATE(f32, float, same_f32, xf, rf);
    ALTERNATE(i32, int32_t, same_i32, xi, ri);
    ALTERNATE(bool, uint8_t, same_bool, xb, rb);
    ALTERNATE(i8, int8_t, same_i8, xi8, ri8);
    ALTERNATE(u8, uint8_t, same_u8, xu8, ru8);
    ALTERNATE(i16, int16_t, same_i16, xi16, ri16);
    ALTERNATE(u16, uint16_t, same_u16, xu16, ru16);
    ALTERNATE(f16, uint16_t, same_f16, xf16, rf16);
    ALTERNATE(bf16, uint16_t, same_bf16, xbf16, rbf16);
    check_turns_f32(page, size);
    check_turns_i32(page, size);
    check_turns_i8(page, size);
    check_turns_u8(page, size);
    check_turns_i16(page, size);
    check_turns_u16(page, size);
    check_turns_f16(page, size);
    check_turns_bf16(page, size);
    check_shifted();
    check_stream();
}

int main(void)
{
    check_operations();
    check_narrow();
    check_reductions();
    check_memory();
    return tc_done();
}
