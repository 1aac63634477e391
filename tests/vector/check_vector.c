/* SPDX-License-Identifier: Apache-2.0
 *
 * Every vector operation against its scalar one, on random and extreme values: the same bits, or both NaN. Compiled once
 * for each instruction set. Partial loads and stores end at a page that may not be touched.
 */
#define _DEFAULT_SOURCE
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "tc_vector.h"

enum { ROUNDS = 20000 };

static uint64_t state = 88172645463325252u;

static uint32_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static const uint32_t extreme[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x3f800000, 0xbf800000, 0x4effffff, 0x4f000000, 0xcf000000,
    0xcf000001, 0x3f800800, 0x17800000, 0x7fffffff, 0xffffffff, 0x42b17218, 0xc2cff1b5, 0x3effffff, 0x4b000001,
};

static uint32_t pattern(void)
{
    const uint32_t r = next();
    switch (next() % 4) {
    case 0:
        return extreme[r % (sizeof extreme / sizeof *extreme)];
    case 1:
        return (r & 0x807fffff) | (0x3d000000 + (next() % 16 << 23)); /* around 1 */
    default:
        return r;
    }
}

static int same_f32(float a, float b)
{
    return (a != a && b != b) || tc_asint_f32(a) == tc_asint_f32(b);
}

static int same_i32(int32_t a, int32_t b)
{
    return a == b;
}

static int same_bool(uint8_t a, uint8_t b)
{
    return a == b;
}

static float xf[16], yf[16], zf[16], rf[16];
static int32_t xi[16], yi[16], ri[16];
static uint8_t xb[16], yb[16], rb[16];

static void fresh(void)
{
    for (int l = 0; l < 16; ++l) {
        xf[l] = tc_asfloat_i32((int32_t)pattern());
        yf[l] = next() % 8 ? tc_asfloat_i32((int32_t)pattern()) : xf[l];
        zf[l] = next() % 8 ? tc_asfloat_i32((int32_t)pattern()) : -(xf[l] * yf[l]);
        xi[l] = (int32_t)pattern();
        yi[l] = next() % 4 ? (int32_t)pattern() : (int32_t)(next() % 5) - 2;
        xb[l] = next() & 1;
        yb[l] = next() & 1;
    }
}

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
#define F(x) tcv_load_f32(x##f)
#define I(x) tcv_load_i32(x##i)
#define B(x) tcv_load_bool(x##b)
#define UNARY(op, T, R, in, out, V) CHECK(#op, R, out, tcv_##op(V(x)), tc_##op(in[l]))
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

/* Vectors without a lane that is far from 0 have a form of exp of their own. */
static void check_near_exp(void)
{
    const int32_t last = tc_asint_f32(87.0f);
    int32_t bad = 0;
    for (int32_t bits = last; bits > tc_asint_f32(0x1p-40f) && !bad; bits -= 16 * 997) {
        for (int l = 0; l < 16; ++l)
            xf[l] = tc_asfloat_i32((bits - 997 * l) ^ (l % 2 ? INT32_MIN : 0));
        tcv_store_f32(rf, tcv_exp_f32(F(x)));
        tcv_store_f32(yf, tcv_exp_f32(tcv_neg_f32(F(x))));
        tcv_store_f32(zf, tcv_exp_below_f32(tcv_neg_f32(tcv_abs_f32(F(x)))));
        for (int l = 0; l < 16; ++l)
            if (!same_f32(rf[l], tc_exp_f32(xf[l])) || !same_f32(yf[l], tc_exp_f32(-xf[l]))
                || !same_f32(zf[l], l % 2 ? rf[l] : yf[l]))
                bad = bits - 997 * l;
    }
    tc_ok(!bad, "exp of 87 and less");
    if (bad)
        tc_note("%08x", bad);
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
    check_near_exp();
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

/* Narrow dtypes: registers hold their values as i32 and f32, so patterns are loaded and stored as the dtype. */
static int8_t xi8[16], yi8[16], ri8[16];
static uint8_t xu8[16], yu8[16], ru8[16];
static int16_t xi16[16], yi16[16], ri16[16];
static uint16_t xu16[16], yu16[16], ru16[16], xf16[16], rf16[16], xbf16[16], rbf16[16];

static void fresh_narrow(void)
{
    fresh();
    for (int l = 0; l < 16; ++l) {
        const uint32_t few[] = {0, 1, 0xffffffff, 0x80, 0x7f, 0x8000, 0x7fff, 0x7c00, 0xfc01, 0x7f80, 0x3ff, 0x400};
        const uint32_t x = next() % 3 ? next() : few[next() % 12], y = next() % 3 ? next() : few[next() % 12];
        xi8[l] = (int8_t)x, xu8[l] = (uint8_t)x, xi16[l] = (int16_t)x, xu16[l] = xf16[l] = xbf16[l] = (uint16_t)x;
        yi8[l] = (int8_t)y, yu8[l] = (uint8_t)y, yi16[l] = (int16_t)y, yu16[l] = (uint16_t)y;
    }
}

static int same_f16(uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00);
}

static int same_bf16(uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fff) > 0x7f80 && (b & 0x7fff) > 0x7f80);
}

#define same_i8(a, b) ((a) == (b))
#define same_u8(a, b) ((a) == (b))
#define same_i16(a, b) ((a) == (b))
#define same_u16(a, b) ((a) == (b))
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

/* Of 16 f32 the ones whose f16 and bf16 differ from the scalars'. */
static int halves_differ(const float *x)
{
    int wrong = 0;
    uint16_t f16[16], bf16[16];
    tcv_store_f16(f16, tcv_cast_f32_f16(tcv_load_f32(x)));
    tcv_store_bf16(bf16, tcv_cast_f32_bf16(tcv_load_f32(x)));
    for (int l = 0; l < 16; ++l)
        wrong += !same_f16(f16[l], tc_cast_f32_f16(x[l])) || !same_bf16(bf16[l], tc_cast_f32_bf16(x[l]));
    return wrong;
}

/* Every f16 and bf16; of f32 those around every f16 and around halfway to the next one, and each stride-th. */
static void check_halves(uint64_t stride)
{
    int widened = 1;
    uint64_t rounded = 0, strided = 0;
    for (uint32_t first = 0; first < 65536; first += 16) {
        uint16_t pattern[16];
        float x[16], f16[16], bf16[16];
        for (int l = 0; l < 16; ++l)
            pattern[l] = (uint16_t)(first + (uint32_t)l);
        tcv_store_f32(f16, tcv_cast_f16_f32(tcv_load_f16(pattern)));
        tcv_store_f32(bf16, tcv_cast_bf16_f32(tcv_load_bf16(pattern)));
        for (int l = 0; l < 16; ++l)
            widened &= same_f32(f16[l], tc_cast_f16_f32(pattern[l])) && same_f32(bf16[l], tc_cast_bf16_f32(pattern[l]));
        for (int step = 0; step < 6; ++step) {
            for (int l = 0; l < 16; ++l) /* halfway: the mean of both, exact in f32 */
                x[l] = step < 3 ? f16[l] : 0.5f * (f16[l] + tc_cast_f16_f32((uint16_t)(pattern[l] + 1)));
            for (int l = 0; l < 16; ++l)
                x[l] = tc_asfloat_i32((int32_t)((uint32_t)tc_asint_f32(x[l]) + (uint32_t)(step % 3) - 1));
            rounded += (uint64_t)halves_differ(x);
        }
    }
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 16 * stride) {
        float x[16];
        for (uint64_t l = 0; l < 16; ++l)
            x[l] = tc_asfloat_i32((int32_t)(uint32_t)(bits + l * stride));
        strided += (uint64_t)halves_differ(x);
    }
    tc_ok(widened, "every f16 and bf16 as f32");
    tc_ok(rounded == 0, "f32 around every f16 and every tie");
    tc_ok(strided == 0, "f32 to f16 and bf16, every %lluth", (unsigned long long)stride);
}

/* Masked scores are -inf: what becomes 0 must not get there through denormal numbers, which cost a hundred times as much
 * as others do. */
static void check_masked(void)
{
    static const float far[] = {-177.0f, -10000.0f, -3e38f, -INFINITY};
    int zero = 1;
    float *const volatile in = xf, *const volatile out = rf;
    feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 16; ++i)
        in[i] = far[i % 4];
    tcv_store_f32(out, tcv_exp_f32(tcv_load_f32(in)));
    for (int i = 0; i < 16; ++i)
        zero &= tc_asint_f32(out[i]) == 0;
    for (int i = 0; i < 4; ++i) {
        const volatile float x = far[i];
        const volatile double wide = i < 3 ? 9.0 * (double)x : (double)x;
        const volatile float y = tc_exp_f32(x);
        const volatile double z = tc_exp_f64(wide);
        zero &= tc_asint_f32(y) == 0 && tc_asint_f64(z) == 0;
    }
    tc_ok(zero, "exp far below 0");
    tc_ok(!fetestexcept(FE_UNDERFLOW), "without an underflow");
}

/* Quotients of numbers near and far, and of quotients that lie next to the middle of two numbers. */
static void check_divisor(void)
{
    static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 0x1p-60f, 0x1p60f, 0x1p-61f, 0x1p61f,
                                    1.0f, -1.0f};
    enum { SPECIAL = sizeof special / sizeof *special };
    uint32_t seed = 1;
    int same = 1;
    for (int i = 0; i < 200000; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const uint32_t bits = (seed & 0x7fffffu) | (127u - 20u + (seed >> 25) % 40u) << 23;
        float y;
        memcpy(&y, &bits, sizeof y);
        if (i % 64 == 0)
            y = special[i / 64 % SPECIAL];
        for (int l = 0; l < 16; ++l) {
            seed = seed * 1664525u + 1013904223u;
            const float q = 1.0f + (float)(seed >> 9) * 0x1p-23f;
            xf[l] = (float)((double)y * ((double)q + 0x1p-24));
        }
        if (i % 8 == 0)
            xf[i / 8 % 16] = special[i / 128 % SPECIAL];
        tcv_store_f32(rf, tcv_div_by_f32(tcv_load_f32(xf), y));
        for (int l = 0; l < 16; ++l) {
            const volatile float x = xf[l], by = y;
            const float z = x / by;
            same &= tc_asint_f32(z) == tc_asint_f32(rf[l]) || (z != z && rf[l] != rf[l]);
        }
    }
    tc_ok(same, "division by one number");
}

/* Quotients that are rounded to 8 bits: next to the middle of two integers and to the limits, of all patterns, by divisors near
   and far. */
static void check_quantized_quotient(void)
{
    static const struct {
        float y;
        int32_t low, zero;
    } by[] = {{0.03864107f, 0, 125}, {0x1.fffffep-3f, -128, 0},     {0x1.000002p5f, 0, 255}, {0x1.5a5a5ap-7f, -128, -128},
              {0x1p-60f, 0, 0},      {0x1.7ffffep-59f, -128, -255}, {0x1p60f, -128, 127}};
    int same = 1;
    for (int i = 0; i < 350000; ++i) {
        const float y = by[i % 7].y;
        const int32_t low = by[i % 7].low, zero = by[i % 7].zero;
        for (int l = 0; l < 16; ++l) {
            const float middle = ((float)(next() % 1200) * 0.5f - 300.0f) * y;
            xf[l] = tc_asfloat_i32(next() % 4 ? tc_asint_f32(middle) + (int32_t)(next() % 5) - 2 : (int32_t)pattern());
        }
        tcv_store_i32(ri, tcv_quantized_quotient_f32(tcv_load_f32(xf), y, low, low + 255, zero));
        for (int l = 0; l < 16; ++l) {
            const volatile float x = xf[l], divisor = y;
            const float q = tc_round_f32(x / divisor), z = q + (float)zero, high = (float)(low + 255);
            same &= ri[l] == (z != z ? 0 : (int32_t)(z < (float)low ? (float)low : z > high ? high : z));
        }
    }
    tc_ok(same, "quotients rounded to 8 bits");
}

/* The same of several vectors by as many numbers: all near, or lanes and divisors that are not. */
static void check_divisors(void)
{
    static const float odd[] = {0.0f, -0.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-40f, 0x1p-61f, 0x1p-60f,
                                0x1p60f, 0x1.000002p60f, 3e38f};
    enum { ODD = sizeof odd / sizeof *odd };
    uint32_t seed = 7;
    int same = 1;
    for (int i = 0; i < 40000; ++i) {
        float from[4][16], by[4];
        for (int l = 0; l < 64; ++l) {
            seed = seed * 1664525u + 1013904223u;
            from[l / 16][l % 16] = (float)(seed >> 8) * 0x1p-24f;
        }
        for (int r = 0; r < 4; ++r) {
            seed = seed * 1664525u + 1013904223u;
            by[r] = 1.0f + (float)(seed >> 8) * 0x1p-12f;
        }
        if (i % 4 == 1)
            from[i / 4 % 4][i / 16 % 16] = odd[i / 256 % ODD];
        if (i % 16 == 2)
            by[i / 16 % 4] = odd[i / 64 % ODD];
        const int count = 1 + i / 7 % 4;
        tcv_f32 x[4] = {tcv_load_f32(from[0]), tcv_load_f32(from[1]), tcv_load_f32(from[2]), tcv_load_f32(from[3])};
        tcv_divs_by_f32(x, by, count);
        for (int r = 0; r < count; ++r) {
            tcv_store_f32(rf, x[r]);
            for (int l = 0; l < 16; ++l) {
                const volatile float above = from[r][l], below = by[r];
                same &= same_f32(rf[l], above / below);
            }
        }
    }
    tc_ok(same, "division of four vectors");
}

/* exps of several vectors: all near, or one lane of one of them far from 0, -infinity or NaN. */
static void check_exps(void)
{
#ifdef TC_ISA_AVX512
    static const float odd[] = {-87.0f, -88.0f, -200.0f, -INFINITY, NAN};
    int same = 1;
    for (int i = 0; i < 5 * 4 * 4; ++i) {
        float from[4][16];
        for (int l = 0; l < 64; ++l)
            from[l / 16][l % 16] = -0.37f * (float)l;
        from[i % 4][i % 16] = odd[i / 16];
        from[i / 4 % 4][15 - i % 16] = odd[(i / 16 + i) % 5];
        tcv_f32 x[4] = {tcv_load_f32(from[0]), tcv_load_f32(from[1]), tcv_load_f32(from[2]), tcv_load_f32(from[3])};
        tcv_exps_below_f32(x, 4);
        for (int r = 0; r < 4; ++r) {
            tcv_store_f32(rf, x[r]);
            for (int l = 0; l < 16; ++l)
                same &= same_f32(rf[l], tc_exp_f32(from[r][l]));
        }
    }
    tc_ok(same, "exps of four vectors");
#endif
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

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "halves") == 0) {
        check_halves(1);
        return tc_done();
    }
    size_t size;
    unsigned char *const page = pages(&size);
    check_operations();
    check_masked();
    check_stream();
    check_exps();
    check_divisor();
    check_divisors();
    check_quantized_quotient();
    check_narrow();
    check_halves(4099);
    check_reductions();
    PARTIAL(f32, float, same_f32, xf, rf);
    PARTIAL(i32, int32_t, same_i32, xi, ri);
    PARTIAL(bool, uint8_t, same_bool, xb, rb);
    fresh_narrow();
    PARTIAL(i8, int8_t, same_i8, xi8, ri8);
    PARTIAL(u16, uint16_t, same_u16, xu16, ru16);
    PARTIAL(f16, uint16_t, same_f16, xf16, rf16);
    PARTIAL(bf16, uint16_t, same_bf16, xbf16, rbf16);
    return tc_done();
}
