/* SPDX-License-Identifier: Apache-2.0
 *
 * tc_cast_<from>_<to> of every pair of dtypes against the definition in docs/numerics.md, computed in another way: values
 * in long double, integers modulo 2^bits in 128 bits, roundings by nearbyintl at the last place. Sources of 8 and 16 bits in
 * full, wider ones at random and around powers of two; `test_casts all` goes through all 2^32 f32 to f16 and bf16.
 */
#include <math.h>
#include <string.h>

#include "tap.h"
#include "tc_scalar.h"

#undef bool

typedef enum kind { KIND_FLOAT, KIND_SIGNED, KIND_UNSIGNED, KIND_BOOL } kind;

typedef struct format {
    const char *name;
    kind kind;
    int bytes, digits;
} format;

enum {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) AT_##name,
#include "dtypes.def"
#undef TC_DTYPE
    COUNT
};

static const format formats[] = {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) {#name, KIND_##kind, bytes, digits},
#include "dtypes.def"
#undef TC_DTYPE
};

/* -- the definition --------------------------------------------------------------------------------------------------- */

/* A float's value; NaN and infinities are themselves. */
static long double float_value(const format *f, uint64_t bits)
{
    const int fraction = f->digits - 1, width = 8 * f->bytes, bias = (1 << (width - f->digits - 1)) - 1;
    const uint64_t field = bits >> fraction & (uint64_t)(2 * bias + 1), rest = bits & (((uint64_t)1 << fraction) - 1);
    long double size;
    if (field == (uint64_t)(2 * bias + 1))
        size = rest ? (long double)NAN : (long double)INFINITY;
    else if (field == 0)
        size = ldexpl((long double)rest, 1 - bias - fraction);
    else
        size = ldexpl((long double)(rest | (uint64_t)1 << fraction), (int)field - bias - fraction);
    return bits >> (width - 1) & 1 ? -size : size;
}

static uint64_t mask(int bytes)
{
    return UINT64_MAX >> (64 - 8 * bytes);
}

static uint64_t float_pattern(const format *f, long double x)
{
    const int fraction = f->digits - 1, width = 8 * f->bytes, bias = (1 << (width - f->digits - 1)) - 1;
    const uint64_t sign = signbit(x) ? (uint64_t)1 << (width - 1) : 0, infinity = (uint64_t)(2 * bias + 1) << fraction;
    if (isnan(x))
        return infinity | 1;
    int e;
    frexpl(x, &e);
    e = x == 0 || isinf(x) || e - 1 < 1 - bias ? 1 - bias : e - 1;
    const long double places = isinf(x) ? (long double)INFINITY : nearbyintl(ldexpl(fabsl(x), fraction - e));
    /* the number that the places are; a carry makes it a power of two of the next exponent */
    const long double size = ldexpl(places, e - fraction);
    if (size >= ldexpl(1, bias + 1))
        return sign | infinity;
    if (places >= ldexpl(1, fraction + 1))
        return sign | (uint64_t)(e + 1 + bias) << fraction;
    if (places < ldexpl(1, fraction))
        return sign | (uint64_t)places;
    return sign | (uint64_t)(e + bias) << fraction | ((uint64_t)places & (((uint64_t)1 << fraction) - 1));
}

__extension__ typedef __int128 wide;

static wide integer_value(const format *f, uint64_t bits)
{
    const int width = 8 * f->bytes;
    return f->kind == KIND_SIGNED && bits >> (width - 1) & 1 ? (wide)bits - ((wide)1 << width) : (wide)bits;
}

static uint64_t expected(const format *from, uint64_t bits, const format *to)
{
    if (from->kind == KIND_FLOAT) {
        const long double x = float_value(from, bits);
        if (to->kind == KIND_BOOL)
            return x != 0;
        if (to->kind == KIND_FLOAT)
            return float_pattern(to, x);
        const long double most = ldexpl(1, to->digits), least = to->kind == KIND_SIGNED ? -most : 0;
        if (isnan(x))
            return 0;
        if (x >= most)
            return to->kind == KIND_SIGNED ? mask(to->bytes) >> 1 : mask(to->bytes);
        return (uint64_t)(wide)(x < least ? least : truncl(x)) & mask(to->bytes);
    }
    const wide x = integer_value(from, bits);
    if (to->kind == KIND_BOOL)
        return x != 0;
    return to->kind == KIND_FLOAT ? float_pattern(to, (long double)x) : (uint64_t)x & mask(to->bytes);
}

static int same(const format *f, uint64_t a, uint64_t b)
{
    if (a == b)
        return 1;
    return f->kind == KIND_FLOAT && isnan(float_value(f, a)) && isnan(float_value(f, b));
}

/* -- the casts -------------------------------------------------------------------------------------------------------- */

#define CAST(from, F, to, T)                                                                                           \
    static uint64_t run_##from##_##to(uint64_t bits)                                                                   \
    {                                                                                                                  \
        F x;                                                                                                           \
        memcpy(&x, &bits, sizeof x);                                                                                   \
        const T y = tc_cast_##from##_##to(x);                                                                          \
        uint64_t out = 0;                                                                                              \
        memcpy(&out, &y, sizeof y);                                                                                    \
        return out;                                                                                                    \
    }
#define EACH(X, from, F)                                                                                               \
    X(from, F, f32, float) X(from, F, i32, int32_t) X(from, F, i64, int64_t) X(from, F, bool, uint8_t)                 \
    X(from, F, f64, double) X(from, F, f16, uint16_t) X(from, F, bf16, uint16_t) X(from, F, i8, int8_t)                \
    X(from, F, u8, uint8_t) X(from, F, i16, int16_t) X(from, F, u16, uint16_t) X(from, F, u32, uint32_t)               \
    X(from, F, u64, uint64_t)
EACH(CAST, f32, float)
EACH(CAST, i32, int32_t)
EACH(CAST, i64, int64_t)
EACH(CAST, bool, uint8_t)
EACH(CAST, f64, double)
EACH(CAST, f16, uint16_t)
EACH(CAST, bf16, uint16_t)
EACH(CAST, i8, int8_t)
EACH(CAST, u8, uint8_t)
EACH(CAST, i16, int16_t)
EACH(CAST, u16, uint16_t)
EACH(CAST, u32, uint32_t)
EACH(CAST, u64, uint64_t)

typedef uint64_t cast(uint64_t bits);
static cast *const casts[COUNT][COUNT] = {
#define ENTRY(from, F, to, T) [AT_##from][AT_##to] = run_##from##_##to,
    EACH(ENTRY, f32, float) EACH(ENTRY, i32, int32_t) EACH(ENTRY, i64, int64_t) EACH(ENTRY, bool, uint8_t)
    EACH(ENTRY, f64, double) EACH(ENTRY, f16, uint16_t) EACH(ENTRY, bf16, uint16_t) EACH(ENTRY, i8, int8_t)
    EACH(ENTRY, u8, uint8_t) EACH(ENTRY, i16, int16_t) EACH(ENTRY, u16, uint16_t) EACH(ENTRY, u32, uint32_t)
    EACH(ENTRY, u64, uint64_t)
};

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* A pattern of a wide source: anything, an exponent at which 16-bit floats and integers end, or near a power of two. */
static uint64_t pattern(const format *f)
{
    const uint64_t r = next();
    if (f->kind != KIND_FLOAT) { /* anything, or near a power of two, or near a tie of 8 or 11 digits */
        const uint64_t digits = next() % 3 ? (1 + (r & (next() % 2 ? 0x1ff : 0xfff))) : 1;
        const uint64_t near = (digits << (next() % 64)) + (next() % 3 - 1);
        return (next() & 1 ? r >> (next() % 64) : next() & 1 ? near : (uint64_t)0 - near) & mask(f->bytes);
    }
    const int fraction = f->digits - 1, bias = (1 << (8 * f->bytes - f->digits - 1)) - 1;
    const uint64_t exponent = (uint64_t)(bias - 140 + (int)(next() % 206)) & (uint64_t)(2 * bias + 1);
    const uint64_t kept = next() % 3 ? r : r & ~(mask(f->bytes) >> (next() % 40 + 8)); /* ties */
    switch (next() % 4) {
    case 0:
        return r & mask(f->bytes);
    default:
        return (r & (uint64_t)1 << (8 * f->bytes - 1)) | exponent << fraction |
               ((kept + (next() % 3 - 1)) & (((uint64_t)1 << fraction) - 1));
    }
}

static void check(int from, int to)
{
    const format *f = &formats[from], *t = &formats[to];
    const int small = f->bytes <= 2;
    const uint64_t count = f->kind == KIND_BOOL ? 2 : small ? (uint64_t)1 << (8 * f->bytes) : 40000;
    uint64_t wrong = 0, first = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = small ? i : pattern(f);
        if (!same(t, casts[from][to](bits), expected(f, bits, t)) && wrong++ == 0)
            first = bits;
    }
    if (!tc_ok(wrong == 0, "%s to %s", f->name, t->name))
        tc_note("%llu wrong, the first of %#llx: %#llx instead of %#llx", (unsigned long long)wrong,
                (unsigned long long)first, (unsigned long long)casts[from][to](first),
                (unsigned long long)expected(f, first, t));
}

/* Every stride-th f32. */
static void check_f32(int to, uint64_t stride)
{
    uint64_t wrong = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
        wrong += !same(&formats[to], casts[AT_f32][to](bits), expected(&formats[AT_f32], bits, &formats[to]));
    tc_ok(wrong == 0, "f32 to %s, every %lluth", formats[to].name, (unsigned long long)stride);
}

int main(int argc, char **argv)
{
    for (int from = 0; from < COUNT; ++from)
        for (int to = 0; to < COUNT; ++to)
            check(from, to);
    const uint64_t stride = argc > 1 && !strcmp(argv[1], "all") ? 1 : 4099;
    check_f32(AT_f16, stride);
    check_f32(AT_bf16, stride);
    return tc_done();
}
