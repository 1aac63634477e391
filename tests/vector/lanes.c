/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

float xf[16], yf[16], zf[16], rf[16];
int32_t xi[16], yi[16], ri[16];
uint8_t xb[16], yb[16], rb[16];
int8_t xi8[16], yi8[16], ri8[16];
uint8_t xu8[16], yu8[16], ru8[16];
int16_t xi16[16], yi16[16], ri16[16];
uint16_t xu16[16], yu16[16], ru16[16], xf16[16], rf16[16], xbf16[16], rbf16[16];

static uint64_t state = 88172645463325252u;

uint32_t next(void)
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

uint32_t pattern(void)
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

void fresh(void)
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

void fresh_narrow(void)
{
    fresh();
    for (int l = 0; l < 16; ++l) {
        const uint32_t few[] = {0, 1, 0xffffffff, 0x80, 0x7f, 0x8000, 0x7fff, 0x7c00, 0xfc01, 0x7f80, 0x3ff, 0x400};
        const uint32_t x = next() % 3 ? next() : few[next() % 12], y = next() % 3 ? next() : few[next() % 12];
        xi8[l] = (int8_t)x, xu8[l] = (uint8_t)x, xi16[l] = (int16_t)x, xu16[l] = xf16[l] = xbf16[l] = (uint16_t)x;
        yi8[l] = (int8_t)y, yu8[l] = (uint8_t)y, yi16[l] = (int16_t)y, yu16[l] = (uint16_t)y;
    }
}
