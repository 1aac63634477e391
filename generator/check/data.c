/* SPDX-License-Identifier: Apache-2.0
 *
 * The build machine's part of `tensor-compile check`:
 *
 *   tc-data random SEED OUT.safetensors NAME:DTYPE:BOUND:SIZExSIZE…
 *       Random tensors: f32 about 1 in both signs; integers in 0..BOUND-1; bool. No sizes: a scalar.
 *   tc-data compare bits GOT.safetensors WANT.safetensors [NAME...]
 *       Every tensor of WANT but those named is in GOT with the same bits (or NaN in both places). Exit code 1 where one
 *       differs.
 *   tc-data compare RTOL,ATOL GOT.safetensors WANT.safetensors [NAME...]
 *       |got - want| <= ATOL + RTOL * |want|, WANT f32 or f64; integers and bool are equal. Prints for every tensor the
 *       largest error and the largest distance in units in the last place of f32.
 */
#include "diag.h"
#include "safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *message) {
    fprintf(stderr, "%s\n", message);
    return 2;
}

/* -- random -------------------------------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state) {
    /* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float normal(uint64_t *state) {
    /* The sum of four uniform numbers, scaled to variance 1: bell-shaped, and no function of a library. */
    double sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += (double)(next(state) >> 11) / 9007199254740992.0 - 0.5;
    return (float)(sum * 1.7320508075688772);
}

static bool dtype_named(const char *wanted, tc_st_dtype *dtype) {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) \
    if (!strcmp(wanted, #name))                                  \
        return *dtype = TC_ST_##upper, true;
#include "dtypes.def"
#undef TC_DTYPE
    return false;
}

static bool parse_spec(char *spec, tc_st_tensor *tensor, long long *bound) {
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
    for (char *word = strtok(sizes, "x"); word && tensor->rank < TC_ST_MAX_RANK; word = strtok(NULL, "x"))
        tensor->shape[tensor->rank++] = strtoll(word, NULL, 10);
    return *bound > 0;
}

static bool fill(tc_st_tensor *tensor, long long bound, uint64_t *state) {
    size_t count = 1, size = tc_st_dtype_size(tensor->dtype);
    for (int d = 0; d < tensor->rank; ++d)
        count *= (size_t)tensor->shape[d];
    unsigned char *data = malloc(count * size + 1);
    if (!data)
        return false;
    for (size_t i = 0; i < count; ++i) {
        const int64_t wide = (int64_t)(next(state) % (uint64_t)bound);
        const int32_t narrow = (int32_t)wide;
        const float value = normal(state);
        switch (tensor->dtype) {
        case TC_ST_F32: memcpy(data + i * size, &value, size); break;
        case TC_ST_I32: memcpy(data + i * size, &narrow, size); break;
        case TC_ST_I64: memcpy(data + i * size, &wide, size); break;
        default: data[i] = (unsigned char)(wide & 1); break;
        }
    }
    tensor->data = data;
    tensor->bytes = count * size;
    return true;
}

static int command_random(int count, char **arguments) {
    if (count < 2)
        return fail("tc-data random SEED OUT.safetensors NAME:DTYPE:BOUND:SIZExSIZE...");
    uint64_t state = strtoull(arguments[0], NULL, 10);
    tc_st_tensor *tensors = calloc((size_t)count, sizeof *tensors);
    tci_diag diag = {0};
    if (!tensors)
        return fail("out of memory");
    for (int i = 2; i < count; ++i) {
        long long bound;
        if (!parse_spec(arguments[i], &tensors[i - 2], &bound) || !fill(&tensors[i - 2], bound, &state))
            return fail(arguments[i]);
    }
    bool done = tc_st_write(arguments[1], tensors, (size_t)count - 2, &diag);
    for (int i = 2; i < count; ++i)
        free((void *)tensors[i - 2].data);
    free(tensors);
    return done ? 0 : fail(diag.text);
}

/* -- compare ------------------------------------------------------------------------------------------------------- */

typedef struct worst {
    int64_t differ, first; /* how many elements, and the first of them */
    double error, ulp;     /* largest */
} worst;

static double element(const tc_st_tensor *tensor, int64_t i) {
    const unsigned char *at = (const unsigned char *)tensor->data + (size_t)i * tc_st_dtype_size(tensor->dtype);
    float f;
    double d;
    if (tensor->dtype == TC_ST_F64)
        return memcpy(&d, at, sizeof d), d;
    return memcpy(&f, at, sizeof f), f;
}

/* The distance between the neighbours of f32 at |x|, down to the denormals. */
static double unit(double x) {
    int exponent;
    frexp(fabs(x), &exponent);
    return ldexp(1.0, (x == 0 || exponent < -125 ? -125 : exponent) - 24);
}

static void compare_floats(const tc_st_tensor *got, const tc_st_tensor *want, int64_t count, double rtol, double atol,
                           worst *out) {
    for (int64_t i = 0; i < count; ++i) {
        const double a = element(got, i), b = element(want, i);
        if ((isnan(a) && isnan(b)) || a == b)
            continue;
        const double error = fabs(a - b), ulp = error / unit(b);
        out->error = !(error <= out->error) ? error : out->error;
        out->ulp = !(ulp <= out->ulp) ? ulp : out->ulp;
        if (!(error <= atol + rtol * fabs(b)) && out->differ++ == 0)
            out->first = i;
    }
}

static bool equal_bits(const tc_st_tensor *got, const tc_st_tensor *want, int64_t i) {
    const size_t size = tc_st_dtype_size(want->dtype);
    if (!memcmp((const char *)got->data + (size_t)i * size, (const char *)want->data + (size_t)i * size, size))
        return true;
    return want->dtype == TC_ST_F32 && isnan(element(got, i)) && isnan(element(want, i));
}

static bool compare_one(const tc_st_tensor *got, const tc_st_tensor *want, const char *how) {
    int64_t count = 1;
    worst found = {0, -1, 0, 0};
    double rtol = 0, atol = 0;
    if (!got) {
        printf("%s: not among the outputs  FAILED\n", want->name);
        return false;
    }
    const bool floats = got->dtype == TC_ST_F32 && (want->dtype == TC_ST_F32 || want->dtype == TC_ST_F64);
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
        compare_floats(got, want, count, rtol, atol, &found);
    } else {
        for (int64_t i = 0; i < count; ++i)
            if (!equal_bits(got, want, i) && found.differ++ == 0)
                found.first = i;
    }
    printf("%s: ", want->name);
    if (bits || !floats)
        printf("%s", found.differ ? "" : "equal");
    else
        printf("largest error %.3g, %.3g ulp%s", found.error, found.ulp, found.differ ? ", " : "");
    if (found.differ)
        printf("%lld of %lld elements differ, the first at %lld  FAILED", (long long)found.differ, (long long)count,
               (long long)found.first);
    putchar('\n');
    return !found.differ;
}

static bool is_one_of(const char *name, int count, char **names) {
    for (int i = 0; i < count; ++i)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int command_compare(int count, char **arguments) {
    if (count < 3)
        return fail("tc-data compare bits|RTOL,ATOL GOT.safetensors WANT.safetensors [NAME...]");
    tc_st_file got = {0}, want = {0};
    tci_diag diag = {0};
    if (!tc_st_open(&got, arguments[1], &diag) || !tc_st_open(&want, arguments[2], &diag))
        return fail(diag.text);
    bool same = true;
    for (size_t i = 0; i < want.count; ++i)
        if (!is_one_of(want.tensors[i].name, count - 3, arguments + 3))
            same &= compare_one(tc_st_find(&got, want.tensors[i].name), &want.tensors[i], arguments[0]);
    tc_st_close(&got);
    tc_st_close(&want);
    return same ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "random"))
        return command_random(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "compare"))
        return command_compare(argc - 2, argv + 2);
    return fail("tc-data random|compare ...");
}
