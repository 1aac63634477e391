/* SPDX-License-Identifier: Apache-2.0
 *
 * What the functions of tc_math.inc leave to integers: operands so far apart that arithmetic in f32 would not be exact.
 * Scalar; the vectors' functions hand over the lanes that need it (their tests say which), so that all other vectors pay
 * one comparison.
 */
#ifndef TC_SCALAR_FAR_H
#define TC_SCALAR_FAR_H

/*
 * r and n modulo 4 with x = n pi/2 + r and |r| <= pi/4, for 2^17 <= x < infinity (Payne and Hanek's reduction). x is
 * m 2^e with m of 24 bits; of the product m 2^e (2/pi) only the bits from 2^1 down to 2^-62 matter, and the three words of
 * 2/pi that the offset e selects give them to one unit. No f32 is nearer to a multiple of pi/2 than 2^-31, so r keeps 31
 * bits. Other operands (small ones, infinities, NaN) give some r and n.
 */
static inline float tc_reduce_far_f32(float x, int32_t *n)
{
    static const uint32_t two_over_pi[] = {0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, /* the fraction's bits */
                                           0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const uint32_t bits = (uint32_t)tc_asint_f32(x) & 0x7fffffffu;
    const uint32_t offset = bits < 0x48000000u ? 24 : (bits >> 23) - 120; /* e + 30, from 24 to 135 */
    const uint32_t *word = two_over_pi + (offset >> 5); /* at most the fourth */
    const uint32_t shift = offset & 31;
    const uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    uint32_t w[3];
    for (int i = 0; i < 3; i++)
        w[i] = (uint32_t)(((uint64_t)word[i] << 32 | word[i + 1]) >> (32 - shift));
    const uint64_t quarters = (m * w[0] << 32) + m * w[1] + (m * w[2] >> 32); /* in units of 2^-62, modulo 4 */
    const uint64_t nearest = (quarters + ((uint64_t)1 << 61)) >> 62;
    const int64_t rest = (int64_t)(quarters - (nearest << 62));
    const float high = (float)rest, low = (float)(rest - (int64_t)high);
    *n = (int32_t)nearest;
    return tc_fma_f32(high, 0x1.921fb6p-62f, tc_fma_f32(high, -0x1.777a5cp-87f, low * 0x1.921fb6p-62f));
}

/* C's fmod, exact for all operands: long division of the significands, 8 bits a step. */
static inline float tc_rem_far_f32(float x, float y)
{
    const uint32_t sign = (uint32_t)tc_asint_f32(x) & 0x80000000u;
    const uint32_t a = (uint32_t)tc_asint_f32(x) ^ sign, b = (uint32_t)tc_asint_f32(y) & 0x7fffffffu;
    if (a >= 0x7f800000u || b > 0x7f800000u || b == 0)
        return tc_asfloat_i32(0x7fc00000);
    if (a < b)
        return x;
    /* the values are m 2^(e - 150) */
    int32_t ea = (int32_t)(a >> 23), eb = (int32_t)(b >> 23);
    uint32_t ma = a & 0x7fffffu, mb = b & 0x7fffffu;
    ma = ea != 0 ? ma | 0x800000u : ma;
    mb = eb != 0 ? mb | 0x800000u : mb;
    ea = ea != 0 ? ea : 1;
    eb = eb != 0 ? eb : 1;
    ma %= mb;
    for (; ea - eb >= 8; ea -= 8)
        ma = (ma << 8) % mb;
    ma = (ma << (ea - eb)) % mb;
    if (ma == 0)
        return tc_asfloat_i32((int32_t)sign);
    for (; ma < 0x800000u && eb > 1; eb--)
        ma <<= 1;
    const uint32_t size = ma < 0x800000u ? ma : (ma & 0x7fffffu) | (uint32_t)eb << 23;
    return tc_asfloat_i32((int32_t)(size | sign));
}

#endif
