/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions at values that are chosen for them: where a result is rounded the other way, where there is a form for values near
 * 0 or near 1, where nothing may become a denormal number.
 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "lanes.h"
#include "tap.h"

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

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "halves") == 0) {
        check_halves(1);
        return tc_done();
    }
    check_near_exp();
    check_masked();
    check_exps();
    check_divisor();
    check_divisors();
    check_quantized_quotient();
    check_halves(4099);
    return tc_done();
}
