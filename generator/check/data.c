/* SPDX-License-Identifier: Apache-2.0
 *
 * The build machine's part of `tensor-compile check`:
 *
 *   tc-data random SEED OUT.safetensors NAME:DTYPE:BOUND:SIZExSIZE…
 *       Random tensors: floats about 1 in both signs; integers in 0..BOUND-1 (their low bits); bool. No sizes: a
 *       scalar.
 *   tc-data show IN.safetensors [NAME...]
 *       A line a tensor, those that are named in their order: dtype, shape, range, mean, the first elements.
 *   tc-data compare bits GOT.safetensors WANT.safetensors [NAME...]
 *       Every tensor of WANT but those named is in GOT with the same bits (or NaN in both places). Exit code 1 where
 *       one differs.
 *   tc-data compare RTOL,ATOL GOT.safetensors WANT.safetensors [NAME...]
 *       |got - want| <= ATOL + RTOL * |want|, WANT of GOT's dtype or f64; integers and bool are equal. RTOL and ATOL of
 *       f16 and bf16 are at least 16 units in the last place of 1. Prints for every tensor the largest error and the
 *       largest distance in units in the last place of GOT's dtype.
 *   tc-data errors GOT.safetensors WANT.safetensors
 *       A line a tensor of WANT, of floats: its name, the sum of its squares, that of the squares of the differences,
 *       the largest difference, the largest magnitude, how many rows along the last axis there are, and in how many of
 *       them the largest element is at the same place.
 */
#include "tc_scalar.h"

#include <tensor_compile/safetensors.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 2;
}

/* -- random -------------------------------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    /* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float normal(uint64_t *state)
{
    /* The sum of four uniform numbers, scaled to variance 1: bell-shaped, and no function of a library. */
    double sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += (double)(next(state) >> 11) / 9007199254740992.0 - 0.5;
    return (float)(sum * 1.7320508075688772);
}

/* Of a file that cannot be read or written: what the tool shows as an error of the user's. */
static int fail_file(const char *path, const char *message)
{
    fprintf(stderr, "%s: error: %s\n", path, message);
    return 2;
}

#define KIND_FLOAT 1
#define KIND_SIGNED 0
#define KIND_UNSIGNED 0
#define KIND_BOOL 0
/* By dtype of files: the name in graph text, NULL where a model has none such; binary digits of the significand of a
 * float, 0 of others. */
static const struct {
    const char *name;
    int digits;
    size_t bytes;
} dtypes[TC_DTYPE_COUNT + 1] = {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file)                                                       \
    [TC_DTYPE_##upper] = {#name, KIND_##kind * digits, bytes},
#include "dtypes.def"
#undef TC_DTYPE
    [TC_DTYPE_COUNT] = {"?", 0, 1}, /* 8-bit floats, which models do not have */
};

static bool dtype_named(const char *wanted, tc_dtype *dtype)
{
    for (*dtype = 0; *dtype < TC_DTYPE_COUNT; ++*dtype)
        if (!strcmp(dtypes[*dtype].name, wanted))
            return true;
    return false;
}

static bool parse_spec(char *spec, tc_safetensor *tensor, long long *bound)
{
    char *dtype = strchr(spec, ':'), *limit = dtype ? strchr(dtype + 1, ':') : NULL;
    char *sizes = limit ? strchr(limit + 1, ':') : NULL;
    if (!sizes)
        return false;
    *dtype++ = *limit++ = *sizes++ = '\0';
    tensor->name = spec;
    if (!dtype_named(dtype, &tensor->dtype))
        return false;
    *bound = strtoll(limit, NULL, 10);
    tensor->rank = 0;
    for (char *word = strtok(sizes, "x"); word && tensor->rank < TC_SAFETENSORS_MAX_RANK; word = strtok(NULL, "x"))
        tensor->shape[tensor->rank++] = (tc_index)strtoll(word, NULL, 10);
    return *bound > 0;
}

static bool fill(tc_safetensor *tensor, long long bound, uint64_t *state)
{
    size_t count = 1, size = dtypes[tensor->dtype].bytes;
    for (int d = 0; d < tensor->rank; ++d)
        count *= (size_t)tensor->shape[d];
    unsigned char *data = malloc(count * size + 1);
    if (!data)
        return false;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t whole = next(state) % (uint64_t)bound;
        const float value = normal(state);
        const double wide = value;
        const uint16_t f16 = tc_cast_f32_f16(value), bf16 = tc_cast_f32_bf16(value);
        switch (tensor->dtype) {
        case TC_DTYPE_F32: memcpy(data + i * size, &value, size); break;
        case TC_DTYPE_F64: memcpy(data + i * size, &wide, size); break;
        case TC_DTYPE_F16: memcpy(data + i * size, &f16, size); break;
        case TC_DTYPE_BF16: memcpy(data + i * size, &bf16, size); break;
        case TC_DTYPE_BOOL: data[i] = (unsigned char)(whole & 1); break;
        default: memcpy(data + i * size, &whole, size); break; /* little-endian: the low bits */
        }
    }
    tensor->data = data;
    tensor->bytes = count * size;
    return true;
}

static int command_random(int count, char **arguments)
{
    if (count < 2)
        return fail("tc-data random SEED OUT.safetensors NAME:DTYPE:BOUND:SIZExSIZE...");
    uint64_t state = strtoull(arguments[0], NULL, 10);
    tc_safetensor *tensors = calloc((size_t)count, sizeof *tensors);
    if (!tensors)
        return fail("out of memory");
    for (int i = 2; i < count; ++i) {
        long long bound;
        if (!parse_spec(arguments[i], &tensors[i - 2], &bound) || !fill(&tensors[i - 2], bound, &state))
            return fail(arguments[i]);
    }
    const tc_status status = tc_safetensors_write(arguments[1], tensors, (size_t)count - 2);
    const char *reason = strerror(errno);
    for (int i = 2; i < count; ++i)
        free((void *)tensors[i - 2].data);
    free(tensors);
    return status == TC_STATUS_OK ? 0 : fail_file(arguments[1], reason);
}

/* -- compare ------------------------------------------------------------------------------------------------------- */

typedef struct worst {
    int64_t differ, first; /* how many elements, and the first of them */
    double error, ulp;     /* the largest, and in units of the last place of its element */
    bool small;            /* that element is so near to zero that only atol makes the error right */
} worst;

static double element(const tc_safetensor *tensor, int64_t i)
{
    const unsigned char *at = (const unsigned char *)tensor->data + (size_t)i * dtypes[tensor->dtype].bytes;
    float f;
    double d;
    uint16_t half;
    switch (tensor->dtype) {
    case TC_DTYPE_F64: return memcpy(&d, at, sizeof d), d;
    case TC_DTYPE_F16: return memcpy(&half, at, sizeof half), tc_cast_f16_f64(half);
    case TC_DTYPE_BF16: return memcpy(&half, at, sizeof half), tc_cast_bf16_f64(half);
    default: return memcpy(&f, at, sizeof f), f;
    }
}

/* The distance between the neighbours of a float at |x|, down to its denormals. */
static double unit(tc_dtype dtype, double x)
{
    const int digits = dtypes[dtype].digits, width = 8 * (int)dtypes[dtype].bytes;
    const int least = 3 - (1 << (width - digits - 1)); /* of frexp, at the smallest normal number */
    int exponent;
    frexp(fabs(x), &exponent);
    return ldexp(1.0, (x == 0 || exponent < least ? least : exponent) - digits);
}

static void compare_floats(const tc_safetensor *got, const tc_safetensor *want, int64_t count, double rtol, double atol,
                           worst *out)
{
    for (int64_t i = 0; i < count; ++i) {
        const double a = element(got, i), b = element(want, i);
        if ((isnan(a) && isnan(b)) || a == b)
            continue;
        const double error = fabs(a - b);
        const bool right = error <= atol + rtol * fabs(b);
        if (!isnan(out->error) && !(error <= out->error)) {
            out->error = error;
            out->ulp = error / unit(got->dtype, b);
            out->small = right && !(error <= rtol * fabs(b));
        }
        if (!right && out->differ++ == 0)
            out->first = i;
    }
}

static bool equal_bits(const tc_safetensor *got, const tc_safetensor *want, int64_t i)
{
    const size_t size = dtypes[want->dtype].bytes;
    if (!memcmp((const char *)got->data + (size_t)i * size, (const char *)want->data + (size_t)i * size, size))
        return true;
    return dtypes[want->dtype].digits && isnan(element(got, i)) && isnan(element(want, i));
}

static bool compare_one(const tc_safetensor *got, const tc_safetensor *want, const char *how)
{
    int64_t count = 1;
    worst found = {0, -1, 0, 0, false};
    double rtol = 0, atol = 0;
    const bool floats = dtypes[got->dtype].digits && (want->dtype == got->dtype || want->dtype == TC_DTYPE_F64);
    if (got->rank != want->rank || memcmp(got->shape, want->shape, (size_t)got->rank * sizeof *got->shape) ||
        (got->dtype != want->dtype && !floats)) {
        printf("%s: another dtype or shape  FAILED\n", want->name);
        return false;
    }
    for (int d = 0; d < want->rank; ++d)
        count *= want->shape[d];
    const bool bits = !strcmp(how, "bits");
    if (floats && !bits) {
        sscanf(how, "%lf,%lf", &rtol, &atol);
        if (dtypes[got->dtype].bytes == 2) { /* every operation of the model rounded to so few digits */
            const double units = 16 * unit(got->dtype, 1);
            rtol = fmax(rtol, units);
            atol = fmax(atol, units);
        }
        compare_floats(got, want, count, rtol, atol, &found);
    } else {
        for (int64_t i = 0; i < count; ++i)
            if (!equal_bits(got, want, i) && found.differ++ == 0)
                found.first = i;
    }
    printf("%s: ", want->name);
    if (bits || !floats)
        printf("%s", found.differ ? "" : "equal");
    else if (found.small)
        printf("largest error %.3g, near zero%s", found.error, found.differ ? ", " : "");
    else
        printf("largest error %.3g, %.3g ulp%s", found.error, found.ulp, found.differ ? ", " : "");
    if (found.differ)
        printf("%lld of %lld elements differ, the first at %lld  FAILED", (long long)found.differ, (long long)count,
               (long long)found.first);
    putchar('\n');
    return !found.differ;
}

static bool missing(const char *name)
{
    printf("%s: not among the outputs  FAILED\n", name);
    return false;
}

static bool is_one_of(const char *name, int count, char **names)
{
    for (int i = 0; i < count; ++i)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int command_compare(int count, char **arguments)
{
    if (count < 3)
        return fail("tc-data compare bits|RTOL,ATOL GOT.safetensors WANT.safetensors [NAME...]");
    tc_safetensors got, want;
    if (tc_safetensors_open(&got, arguments[1]) != TC_STATUS_OK)
        return fail_file(arguments[1], got.message);
    if (tc_safetensors_open(&want, arguments[2]) != TC_STATUS_OK)
        return fail_file(arguments[2], want.message);
    bool same = true;
    for (size_t i = 0; i < want.count; ++i) {
        const tc_safetensor *wanted = &want.tensors[i], *found = tc_safetensors_find(&got, wanted->name);
        if (!is_one_of(wanted->name, count - 3, arguments + 3))
            same &= found ? compare_one(found, wanted, arguments[0]) : missing(wanted->name);
    }
    tc_safetensors_close(&got);
    tc_safetensors_close(&want);
    return same ? 0 : 1;
}

/* -- errors -------------------------------------------------------------------------------------------------------- */

static void print_errors(const tc_safetensor *got, const tc_safetensor *want)
{
    int64_t count = 1, agreeing = 0;
    double signal = 0, noise = 0, largest = 0, most = 0;
    for (int d = 0; d < want->rank; ++d)
        count *= want->shape[d];
    const int64_t length = want->rank ? want->shape[want->rank - 1] : 1, rows = length ? count / length : 0;
    for (int64_t row = 0; row < rows; ++row) {
        int64_t first = 0, second = 0;
        for (int64_t i = row * length; i < (row + 1) * length; ++i) {
            const double a = element(got, i), b = element(want, i), error = fabs(a - b);
            signal += b * b;
            noise += error * error;
            largest = !(error <= largest) ? error : largest;
            most = !(fabs(b) <= most) ? fabs(b) : most;
            first = a > element(got, row * length + first) ? i - row * length : first;
            second = b > element(want, row * length + second) ? i - row * length : second;
        }
        agreeing += first == second;
    }
    printf("%s %.17g %.17g %.9g %.9g %lld %lld\n", want->name, signal, noise, largest, most, (long long)rows,
           (long long)agreeing);
}

static int command_errors(int count, char **arguments)
{
    tc_safetensors got, want;
    if (count != 2)
        return fail("tc-data errors GOT.safetensors WANT.safetensors");
    if (tc_safetensors_open(&got, arguments[0]) != TC_STATUS_OK)
        return fail_file(arguments[0], got.message);
    if (tc_safetensors_open(&want, arguments[1]) != TC_STATUS_OK)
        return fail_file(arguments[1], want.message);
    for (size_t i = 0; i < want.count; ++i) {
        const tc_safetensor *wanted = &want.tensors[i], *found = tc_safetensors_find(&got, wanted->name);
        if (dtypes[wanted->dtype].digits && found && found->dtype == wanted->dtype && found->bytes == wanted->bytes)
            print_errors(found, wanted);
    }
    tc_safetensors_close(&got);
    tc_safetensors_close(&want);
    return 0;
}

/* -- show ---------------------------------------------------------------------------------------------------------- */

enum { SHOWN = 6 }; /* elements of a tensor */

/* Any element as a double: an integer beyond 2^53 is rounded. */
static double number(const tc_safetensor *tensor, int64_t i)
{
    const size_t size = dtypes[tensor->dtype].bytes;
    const unsigned char *at = (const unsigned char *)tensor->data + (size_t)i * size;
    int64_t wide = 0;
    switch (tensor->dtype) {
    case TC_DTYPE_F16:
    case TC_DTYPE_BF16:
    case TC_DTYPE_F32:
    case TC_DTYPE_F64: return element(tensor, i);
    case TC_DTYPE_I8: return *(const int8_t *)at;
    case TC_DTYPE_I16: return memcpy(&wide, at, size), (int16_t)wide;
    case TC_DTYPE_I32: return memcpy(&wide, at, size), (int32_t)wide;
    case TC_DTYPE_I64: return memcpy(&wide, at, size), (double)wide;
    default: return memcpy(&wide, at, size), (double)(uint64_t)wide;
    }
}

static void show(const tc_safetensor *tensor)
{
    int64_t count = 1, broken = 0;
    double least = INFINITY, most = -INFINITY, sum = 0;
    printf("%s: %s[", tensor->name, dtypes[tensor->dtype].name);
    for (int d = 0; d < tensor->rank; ++d) {
        printf(d ? ",%lld" : "%lld", (long long)tensor->shape[d]);
        count *= tensor->shape[d];
    }
    for (int64_t i = 0; i < count; ++i) {
        const double x = number(tensor, i);
        broken += isnan(x);
        least = x < least ? x : least;
        most = x > most ? x : most;
        sum += x;
    }
    printf("]");
    if (count)
        printf("  %.6g to %.6g, mean %.6g", least, most, sum / (double)count);
    if (broken)
        printf(", %lld NaN", (long long)broken);
    for (int64_t i = 0; i < count && i < SHOWN; ++i)
        printf(i ? " %.6g" : "  [%.6g", number(tensor, i));
    puts(count > SHOWN ? " ...]" : count ? "]" : "");
}

static int command_show(int count, char **arguments)
{
    tc_safetensors file;
    if (count < 1)
        return fail("tc-data show IN.safetensors [NAME...]");
    if (tc_safetensors_open(&file, arguments[0]) != TC_STATUS_OK)
        return fail_file(arguments[0], file.message);
    for (int i = 1; i < count; ++i)
        if (tc_safetensors_find(&file, arguments[i]))
            show(tc_safetensors_find(&file, arguments[i]));
    for (size_t i = 0; count == 1 && i < file.count; ++i)
        show(&file.tensors[i]);
    tc_safetensors_close(&file);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "show"))
        return command_show(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "random"))
        return command_random(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "compare"))
        return command_compare(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "errors"))
        return command_errors(argc - 2, argv + 2);
    return fail("tc-data random|show|compare|errors ...");
}
