/* SPDX-License-Identifier: Apache-2.0
 *
 * Sixteen lanes of each dtype, drawn at random among extreme values, and when two of them are the same: the same bits, or both
 * NaN. x, y, z are operands, r is a result.
 */
#ifndef LANES_H
#define LANES_H

#include "tc_in_turn.h"

enum { ROUNDS = 20000 };

extern float xf[16], yf[16], zf[16], rf[16];
extern int32_t xi[16], yi[16], ri[16];
extern uint8_t xb[16], yb[16], rb[16];

/* Narrow dtypes: registers hold their values as i32 and f32, so patterns are loaded and stored as the dtype. */
extern int8_t xi8[16], yi8[16], ri8[16];
extern uint8_t xu8[16], yu8[16], ru8[16];
extern int16_t xi16[16], yi16[16], ri16[16];
extern uint16_t xu16[16], yu16[16], ru16[16], xf16[16], rf16[16], xbf16[16], rbf16[16];

uint32_t next(void);
uint32_t pattern(void); /* of an f32 or i32, a quarter of them extreme ones */
void fresh(void);
void fresh_narrow(void);

static inline int same_f32(float a, float b)
{
    return (a != a && b != b) || tc_asint_f32(a) == tc_asint_f32(b);
}

static inline int same_i32(int32_t a, int32_t b)
{
    return a == b;
}

static inline int same_bool(uint8_t a, uint8_t b)
{
    return a == b;
}

static inline int same_f16(uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00);
}

static inline int same_bf16(uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fff) > 0x7f80 && (b & 0x7fff) > 0x7f80);
}

#define same_i8(a, b) ((a) == (b))
#define same_u8(a, b) ((a) == (b))
#define same_i16(a, b) ((a) == (b))
#define same_u16(a, b) ((a) == (b))

#define F(x) tcv_load_f32(x##f)
#define I(x) tcv_load_i32(x##i)
#define B(x) tcv_load_bool(x##b)

#endif
