/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of kernels whose numbers were rounded to 16 bits already: within 1e-6 of the exact ones, relative or absolute,
 * where those take dozens of instructions.
 */
#ifndef TC_RELAXED_CUH
#define TC_RELAXED_CUH

#ifdef __CUDACC__

/* 2 to the power x, within 2 units in the last place; 0 for -inf. */
__device__ inline float tc_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline float tc_relaxed_div(float a, float b)
{
    return __fdividef(a, b);
}

/* 1 / x, where x is no less than 1. */
__device__ inline float tc_relaxed_inverse(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline float tc_relaxed_fma(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

#else /* the emulation of the tests */

__device__ inline float tc_exp2(float x)
{
    return tc_exp_f32(x * 0.6931471805599453f);
}

__device__ inline float tc_relaxed_div(float a, float b)
{
    return a / b;
}

__device__ inline float tc_relaxed_inverse(float x)
{
    return 1.0f / x;
}

__device__ inline float tc_relaxed_fma(float a, float b, float c)
{
    return a * b + c;
}

#endif

/* |x|, and a number that is not negative with the sign of x: two operations on bits. */
__device__ inline float tc_relaxed_size(float x)
{
    return tc_asfloat_i32(tc_asint_f32(x) & 0x7fffffff);
}

__device__ inline float tc_relaxed_signed(float size, float x)
{
    return tc_asfloat_i32((tc_asint_f32(size) & 0x7fffffff) | (tc_asint_f32(x) & (int32_t)0x80000000u));
}

__device__ inline float tc_relaxed_exp(float x)
{
    return tc_exp2(x * 1.4426950408889634f);
}

/* tanh: 1 - 2 / (exp(2 |x|) + 1), with the sign of x; for small |x| the first terms of its series. */
__device__ inline float tc_relaxed_tanh(float x)
{
    const float size = tc_relaxed_size(x);
    const float large = tc_relaxed_fma(-2.0f, tc_relaxed_inverse(tc_exp2(size * 2.8853900817779268f) + 1.0f), 1.0f);
    const float square = x * x;
    const float small = size * tc_relaxed_fma(square, tc_relaxed_fma(square, 0.13333333f, -0.33333333f), 1.0f);
    return tc_relaxed_signed(size < 0.1f ? small : large, x);
}

/* erf by the rational approximation 7.1.26 of Abramowitz and Stegun: within 1.5e-7. */
__device__ inline float tc_relaxed_erf(float x)
{
    const float size = tc_relaxed_size(x);
    const float t = tc_relaxed_inverse(tc_relaxed_fma(size, 0.3275911f, 1.0f));
    float p = tc_relaxed_fma(t, 1.061405429f, -1.453152027f);
    p = tc_relaxed_fma(p, t, 1.421413741f);
    p = tc_relaxed_fma(p, t, -0.284496736f);
    p = tc_relaxed_fma(p, t, 0.254829592f);
    const float found = tc_relaxed_fma(-p * t, tc_exp2(x * x * -1.4426950408889634f), 1.0f);
    return tc_relaxed_signed(found, x);
}

#endif
