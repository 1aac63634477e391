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
 *   tc-data compare RTOL,ATOL[,UNITS] GOT.safetensors WANT.safetensors [NAME...]
 *       |got - want| <= ATOL + RTOL * |want|, WANT of GOT's dtype or f64; integers and bool are equal. RTOL and ATOL of
 *       f16 and bf16 are UNITS in the last place of 1 at least. Prints for every tensor the largest error, in units in
 *       the last place of GOT's dtype, too.
 *   tc-data spread RTOL any|own GOT WANT CENTER COUNT LARGER SAMPLE... [NAME...]
 *       |got - want| <= RTOL * |want| + 8 * spread: the largest distance of one of the COUNT samples from the center, and
 *       half a unit in the last place at least; or the largest distance of one of the LARGER samples behind them, whose
 *       errors are 8 times as large. What is an infinity, a NaN, an integer or a bool is WANT's; with `any` it may be one
 *       of the COUNT samples'. Prints besides how much of its bound an error is, but not of a wrong element that no
 *       sample moves.
 *   tc-data errors GOT.safetensors WANT.safetensors
 *       A line a tensor of WANT, of floats: its name, the sum of its squares, that of the squares of the differences,
 *       the largest difference, the largest magnitude, how many rows along the last axis there are, and in how many of
 *       them the largest element is at the same place.
 */
#include "data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int data_fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 2;
}

int data_fail_file(const char *path, const char *message)
{
    fprintf(stderr, "%s: error: %s\n", path, message);
    return 2;
}

#define KIND_FLOAT 1
#define KIND_SIGNED 0
#define KIND_UNSIGNED 0
#define KIND_BOOL 0
const data_dtype data_dtypes[TC_DTYPE_COUNT + 1] = {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file)                                                       \
    [TC_DTYPE_##upper] = {#name, KIND_##kind * digits, bytes},
#include "dtypes.def"
#undef TC_DTYPE
    [TC_DTYPE_COUNT] = {"?", 0, 1}, /* 8-bit floats, which models do not have */
};

int64_t data_count(const tc_safetensor *tensor)
{
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; ++d)
        count *= tensor->shape[d];
    return count;
}

double data_element(const tc_safetensor *tensor, int64_t i)
{
    const unsigned char *at = (const unsigned char *)tensor->data + (size_t)i * data_dtypes[tensor->dtype].bytes;
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

double data_unit(tc_dtype dtype, double x)
{
    const int digits = data_dtypes[dtype].digits, width = 8 * (int)data_dtypes[dtype].bytes;
    const int least = 3 - (1 << (width - digits - 1)); /* of frexp, at the smallest normal number */
    int exponent;
    frexp(fabs(x), &exponent);
    return ldexp(1.0, (x == 0 || exponent < least ? least : exponent) - digits);
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

static bool dtype_named(const char *wanted, tc_dtype *dtype)
{
    for (*dtype = 0; *dtype < TC_DTYPE_COUNT; ++*dtype)
        if (!strcmp(data_dtypes[*dtype].name, wanted))
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
    size_t count = 1, size = data_dtypes[tensor->dtype].bytes;
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
        return data_fail("tc-data random SEED OUT.safetensors NAME:DTYPE:BOUND:SIZExSIZE...");
    uint64_t state = strtoull(arguments[0], NULL, 10);
    tc_safetensor *tensors = calloc((size_t)count, sizeof *tensors);
    if (!tensors)
        return data_fail("out of memory");
    for (int i = 2; i < count; ++i) {
        long long bound;
        if (!parse_spec(arguments[i], &tensors[i - 2], &bound) || !fill(&tensors[i - 2], bound, &state))
            return data_fail(arguments[i]);
    }
    const tc_status status = tc_safetensors_write(arguments[1], tensors, (size_t)count - 2);
    const char *reason = strerror(errno);
    for (int i = 2; i < count; ++i)
        free((void *)tensors[i - 2].data);
    free(tensors);
    return status == TC_STATUS_OK ? 0 : data_fail_file(arguments[1], reason);
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
            const double a = data_element(got, i), b = data_element(want, i), error = fabs(a - b);
            signal += b * b;
            noise += error * error;
            largest = !(error <= largest) ? error : largest;
            most = !(fabs(b) <= most) ? fabs(b) : most;
            first = a > data_element(got, row * length + first) ? i - row * length : first;
            second = b > data_element(want, row * length + second) ? i - row * length : second;
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
        return data_fail("tc-data errors GOT.safetensors WANT.safetensors");
    if (tc_safetensors_open(&got, arguments[0]) != TC_STATUS_OK)
        return data_fail_file(arguments[0], got.message);
    if (tc_safetensors_open(&want, arguments[1]) != TC_STATUS_OK)
        return data_fail_file(arguments[1], want.message);
    for (size_t i = 0; i < want.count; ++i) {
        const tc_safetensor *wanted = &want.tensors[i], *found = tc_safetensors_find(&got, wanted->name);
        if (data_dtypes[wanted->dtype].digits && found && found->dtype == wanted->dtype &&
            found->bytes == wanted->bytes)
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
    const size_t size = data_dtypes[tensor->dtype].bytes;
    const unsigned char *at = (const unsigned char *)tensor->data + (size_t)i * size;
    int64_t wide = 0;
    switch (tensor->dtype) {
    case TC_DTYPE_F16:
    case TC_DTYPE_BF16:
    case TC_DTYPE_F32:
    case TC_DTYPE_F64: return data_element(tensor, i);
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
    printf("%s: %s[", tensor->name, data_dtypes[tensor->dtype].name);
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
        return data_fail("tc-data show IN.safetensors [NAME...]");
    if (tc_safetensors_open(&file, arguments[0]) != TC_STATUS_OK)
        return data_fail_file(arguments[0], file.message);
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
        return data_compare(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "spread"))
        return data_spread(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "errors"))
        return command_errors(argc - 2, argv + 2);
    return data_fail("tc-data random|show|compare|spread|errors ...");
}
