/* SPDX-License-Identifier: Apache-2.0
 *
 * Floats of 8 and 4 bits as bit patterns, and small integers stored densely.
 */
#include <math.h>

#include "compose.h"
#include "quantization.h"

/* exponent and mantissa: numbers of bits. most: the pattern of the largest number; infinity, nan: patterns, -1 for
 * none. UZ: NaN stands where -0 would. */
typedef struct format {
    const char *name;
    int exponent, mantissa, bias, most, infinity, nan;
    bool has_sign, is_uz;
} format;

static const format formats[] = {
    [TC_E4M3FN] = {"E4M3FN", 4, 3, 7, 0x7e, -1, 0x7f, true, false},
    [TC_E4M3FNUZ] = {"E4M3FNUZ", 4, 3, 8, 0x7f, -1, 0x80, true, true},
    [TC_E5M2] = {"E5M2", 5, 2, 15, 0x7b, 0x7c, 0x7e, true, false},
    [TC_E5M2FNUZ] = {"E5M2FNUZ", 5, 2, 16, 0x7f, -1, 0x80, true, true},
    [TC_E8M0] = {"E8M0", 8, 0, 127, 0xfe, -1, 0xff, false, false},
    [TC_E2M1] = {"E2M1", 2, 1, 1, 7, -1, -1, true, false},
};

bool tc_check_small_float(tc_graph *g, tc_small_float which)
{
    if (which >= TC_E4M3FN && which <= TC_E2M1)
        return true;
    tc_fail(g, "TC_E4M3FN, TC_E4M3FNUZ, TC_E5M2, TC_E5M2FNUZ, TC_E8M0, TC_E2M1", "%d is no format of small floats",
            (int)which);
    return false;
}

/* -- decoding ------------------------------------------------------------------------------------------------------ */

/* x * 2^n of the u8 n < 2^bits, exact where the result and x's power of two are in range. */
static tc_tensor times_power(tc_site at, tc_tensor x, tc_tensor n, int bits)
{
    for (int i = 0; i < bits; ++i) {
        tc_tensor bit = NE(BIT_AND(n, 1 << i), 0);
        tc_tensor larger = i < 7 ? MUL(x, ldexp(1, 1 << i))
                                 : MUL(MUL(x, ldexp(1, 64)), ldexp(1, 64)); /* 2^128 is no f32 */
        x = WHERE(bit, larger, x);
    }
    return x;
}

static tc_tensor decode(tc_graph *g, tc_site at, tc_tensor x, const format *f)
{
    const int bits = f->exponent + f->mantissa, fields = (1 << f->exponent) - 1;
    if (!f->has_sign) {
        tc_tensor least = tc_constant_of(g, TC_F32, TC_OPERAND(ldexp(1, -f->bias)));
        least = tc_broadcast_to(g, least, x->type.rank, x->type.shape);
        tc_tensor y = times_power(at, least, x, f->exponent);
        return WHERE(EQ(x, f->nan), NAN, y);
    }
    tc_tensor field = BIT_AND(SHIFT_RIGHT(x, f->mantissa), fields), normal = tc_prim_cast(g, NE(field, 0), TC_U8);
    tc_tensor hidden = SHIFT_LEFT(normal, f->mantissa), fraction = BIT_AND(x, (1 << f->mantissa) - 1);
    tc_tensor significand = ADD(hidden, fraction), power = SUB(field, normal);
    tc_tensor y = MUL(tc_prim_cast(g, significand, TC_F32), ldexp(1, 1 - f->bias - f->mantissa));
    y = times_power(at, y, power, f->exponent);
    tc_tensor magnitude = BIT_AND(x, (1 << bits) - 1), negative = NE(BIT_AND(x, 1 << bits), 0);
    y = WHERE(negative, tc_neg_at(at, y), y);
    if (f->infinity >= 0) {
        tc_tensor infinite = EQ(magnitude, f->infinity), beyond = GT(magnitude, f->infinity);
        y = WHERE(infinite, WHERE(negative, (double)-INFINITY, (double)INFINITY), y);
        return WHERE(beyond, NAN, y);
    }
    return f->nan < 0 ? y : WHERE(EQ(f->is_uz ? x : magnitude, f->nan), NAN, y);
}

tc_tensor tc_decode_float_at(tc_site at, tc_tensor x, tc_small_float which)
{
    tc_graph *g = tc_op_enter(at, "tc_decode_float", "decode_float", "x", 1, &x);
    if (!g)
        return tc_poison();
    if (!tc_check_small_float(g, which))
        return tc_op_leave(g, tc_poison());
    if (x->type.dtype != TC_U8) {
        tc_fail(g, "one pattern a byte", "patterns of %s are u8, not %s", formats[which].name,
                tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, decode(g, at, x, &formats[which]));
}

/* -- encoding ------------------------------------------------------------------------------------------------------ */

/* x >= 0 as y * 2^n with 1 <= y < 2 where x >= 1, n < 2^bits: *x becomes y; n as i32. */
static tc_tensor take_power(tc_site at, tc_tensor *x, int bits)
{
    tc_tensor n = NULL;
    for (int i = bits - 1; i >= 0; --i) {
        tc_tensor large = GE(*x, ldexp(1, 1 << i));
        *x = WHERE(large, MUL(*x, ldexp(1, -(1 << i))), *x);
        tc_tensor part = MUL(tc_prim_cast(tc_current_graph(), large, TC_I32), 1 << i);
        n = n ? ADD(n, part) : part;
    }
    return n;
}

/* E8M0. In f64, which has no denormals here. */
static tc_tensor encode_power(tc_graph *g, tc_site at, const tc_encode_float_args *args, tc_tensor x, const format *f)
{
    tc_tensor wide = tc_prim_cast(g, tc_abs_at(at, x), TC_F64);
    tc_tensor y = MINIMUM(MUL(wide, ldexp(1, f->bias)), ldexp(1, f->most + 1)), below = LT(y, 1);
    tc_tensor n = take_power(at, &y, f->exponent);
    if (args->rounding != TC_E8M0_DOWN) {
        tc_tensor up = args->rounding == TC_E8M0_UP ? GT(y, 1) : GE(y, 1.5);
        n = ADD(n, tc_prim_cast(g, up, TC_I32));
    }
    tc_tensor unknown = tc_isnan_at(at, x);
    if (args->overflow)
        unknown = OR(unknown, below);
    n = args->overflow ? MINIMUM(n, f->nan) : MINIMUM(n, f->most);
    return tc_prim_cast(g, WHERE(unknown, f->nan, n), TC_U8);
}

static tc_tensor encode(tc_graph *g, tc_site at, const tc_encode_float_args *args, tc_tensor x, const format *f)
{
    if (!f->has_sign)
        return encode_power(g, at, args, x, f);
    /* twice the largest number is beyond it; what is above is limited to that, so that no integer overflows */
    const double least = ldexp(1, 1 - f->bias);
    const double most = ldexp((1 << f->mantissa) + (f->most & ((1 << f->mantissa) - 1)),
                              (f->most >> f->mantissa) - f->bias - f->mantissa);
    tc_tensor y = MUL(MINIMUM(tc_abs_at(at, x), 2 * most), 1 / least), n = take_power(at, &y, f->exponent);
    tc_tensor significand = tc_prim_cast(g, tc_round_at(at, MUL(y, 1 << f->mantissa)), TC_I32);
    tc_tensor code = ADD(MUL(n, 1 << f->mantissa), significand); /* a carry adds one to the exponent */
    const int beyond = !args->overflow || f->nan < 0 ? f->most : f->infinity >= 0 ? f->infinity : f->nan;
    const int bits = f->exponent + f->mantissa;
    tc_tensor over = GT(code, f->most), sign = MUL(tc_prim_cast(g, tc_signbit_at(at, x), TC_I32), 1 << bits);
    tc_tensor signed_code = ADD(code, sign);
    if (f->is_uz)
        signed_code = WHERE(EQ(code, 0), code, signed_code);
    if (f->is_uz && args->overflow)
        signed_code = WHERE(over, beyond, signed_code);
    else
        signed_code = WHERE(over, ADD(sign, beyond), signed_code);
    signed_code = WHERE(tc_isnan_at(at, x), f->nan < 0 ? 1 << bits : f->nan, signed_code);
    return tc_prim_cast(g, signed_code, TC_U8);
}

tc_tensor tc_encode_float_of(tc_graph *g, const tc_encode_float_args *args)
{
    if (!tc_check_small_float(g, args->format) || !tc_check_float(g, &args->x->type))
        return tc_poison();
    if (args->rounding < TC_E8M0_UP || args->rounding > TC_E8M0_NEAREST ||
        (args->rounding && args->format != TC_E8M0)) {
        tc_fail(g, "TC_E8M0_UP, TC_E8M0_DOWN or TC_E8M0_NEAREST", ".rounding is %d of %s: it is an option of E8M0",
                (int)args->rounding, formats[args->format].name);
        return tc_poison();
    }
    tc_tensor x = args->x->type.dtype == TC_F32 ? args->x : tc_prim_cast(g, args->x, TC_F32);
    return encode(g, args->at, args, x, &formats[args->format]);
}

tc_tensor tc_encode_float_at(const tc_encode_float_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_encode_float", "encode_float", "x", 1, &args->x);
    return g ? tc_op_leave(g, tc_encode_float_of(g, args)) : tc_poison();
}

/* -- several integers a byte --------------------------------------------------------------------------------------- */

static bool check_bits(tc_graph *g, const tc_type *x, int bits, bool packed)
{
    if (bits != 1 && bits != 2 && bits != 4) {
        tc_fail(g, NULL, "a byte holds numbers of 1, 2 or 4 bits, not %d", bits);
        return false;
    }
    if (!x->rank || (x->dtype != TC_U8 && (packed || x->dtype != TC_I8))) {
        tc_fail(g, NULL, packed ? "needs bytes with an axis, u8, not %s" : "needs i8 or u8 with an axis, not %s",
                tc_type_text(g, x));
        return false;
    }
    return true;
}

/* u8, of x's shape with an axis of 8 / bits behind: where the numbers of a byte begin. */
static tc_tensor positions(tc_graph *g, tc_site at, const tc_type *x, int bits)
{
    tc_type wide = *x;
    wide.dtype = TC_I32;
    tc_tensor number = tc_prim_iota(g, wide.rank - 1, &wide);
    return tc_prim_cast(g, MUL(number, bits), TC_U8);
}

static tc_tensor unpack(tc_graph *g, tc_site at, tc_tensor x, int bits, bool is_signed)
{
    tc_type wide = x->type;
    if (!check_bits(g, &x->type, bits, true))
        return tc_poison();
    if (wide.rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "needs a rank below %d, not %s", TC_MAX_RANK, tc_type_text(g, &x->type));
        return tc_poison();
    }
    int axes[TC_MAX_RANK];
    for (int i = 0; i < wide.rank; ++i)
        axes[i] = i;
    wide.shape[wide.rank++] = tc_expr_const(&g->dims, 8 / bits);
    tc_tensor bytes = tc_prim_broadcast(g, x, wide.rank, wide.shape, axes);
    tc_tensor y = BIT_AND(SHIFT_RIGHT(bytes, positions(g, at, &wide, bits)), (1 << bits) - 1);
    if (is_signed) {
        y = tc_prim_cast(g, y, TC_I8);
        y = SUB(BIT_XOR(y, 1 << (bits - 1)), 1 << (bits - 1));
    }
    tc_type out = x->type;
    out.shape[out.rank - 1] = tc_expr_mul_int(out.shape[out.rank - 1], 8 / bits);
    return tc_prim_reshape(g, y, out.rank, out.shape);
}

tc_tensor tc_unpack_bits_at(tc_site at, tc_tensor x, int bits, bool is_signed)
{
    tc_graph *g = tc_op_enter(at, "tc_unpack_bits", "unpack_bits", "x", 1, &x);
    return g ? tc_op_leave(g, unpack(g, at, x, bits, is_signed)) : tc_poison();
}

static tc_tensor pack(tc_graph *g, tc_site at, tc_tensor x, int bits)
{
    tc_type wide = x->type;
    if (!check_bits(g, &x->type, bits, false))
        return tc_poison();
    const tc_expr *size = wide.shape[wide.rank - 1], *count = tc_expr_const(&g->dims, 8 / bits);
    const tc_expr *bytes = tc_expr_exact_div(size, count);
    if (!bytes || wide.rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "the last axis of %s is no multiple of %d, or the rank %d", tc_type_text(g, &x->type),
                8 / bits, TC_MAX_RANK);
        return tc_poison();
    }
    wide.shape[wide.rank - 1] = bytes;
    wide.shape[wide.rank++] = count;
    tc_tensor y = tc_prim_reshape(g, x->type.dtype == TC_U8 ? x : tc_prim_cast(g, x, TC_U8), wide.rank, wide.shape);
    y = BIT_AND(y, (1 << bits) - 1);
    y = SHIFT_LEFT(y, positions(g, at, &wide, bits));
    return tc_prim_reduce(g, y, "sum", 1, (const int[]){wide.rank - 1});
}

tc_tensor tc_pack_bits_at(tc_site at, tc_tensor x, int bits)
{
    tc_graph *g = tc_op_enter(at, "tc_pack_bits", "pack_bits", "x", 1, &x);
    return g ? tc_op_leave(g, pack(g, at, x, bits)) : tc_poison();
}
