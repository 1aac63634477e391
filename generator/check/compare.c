/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of one file beside those of another: by their bits, within a fixed bound, or within one that samples give, runs
 * in which every rounding went another way (interpreter/noise.h).
 */
#include "data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far an element may be from the wanted one, in spreads: the largest distance of a sample of it from the center. The
 * errors of N samples, normal as the element's own, are all less than an eighth of that one with a probability of about
 * (N - 1)!! / 10^N: 1e-6 for 8 samples, 2e-10 for 16. */
enum { SPREADS = 8 };

/* larger: samples whose errors are SPREADS times as large. Where a function bends, as a rectifier does at zero, an element
 * may be the center's in every other sample, or nearly so, and right beyond the bend. */
typedef struct bound {
    enum { BITS, FIXED, SPREAD } kind;
    double rtol, atol, units;
    bool any; /* what is no finite float may be a sample's */
    tc_safetensors center, *samples, *larger;
    size_t count, larger_count;
} bound;

/* What one tensor is compared with besides the wanted one. */
typedef struct beside {
    const tc_safetensor *center, **samples, **larger;
    size_t count, larger_count;
} beside;

typedef struct worst {
    int64_t differ, first; /* how many elements, and the first of them */
    int64_t sampled;       /* elements that are not the wanted ones, but a sample's */
    int64_t larger;        /* elements that samples of larger errors alone explain */
    double error, ulp;     /* the largest, and in units of the last place of its element */
    double share; /* of its bound: the largest one, of whichever right element, or wrong one that samples move */
    bool small;   /* that element is so small beside its error that units mean nothing */
} worst;

static const double NEAR_ZERO = 1e-4; /* the least relative error that is told so */

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static bool equal_bits(const tc_safetensor *a, const tc_safetensor *b, int64_t i)
{
    const size_t size = data_dtypes[a->dtype].bytes;
    if (!memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)i * size, size))
        return true;
    return data_dtypes[a->dtype].digits && isnan(data_element(a, i)) && isnan(data_element(b, i));
}

/* The largest distance of one of the samples from the center; `least` where none is as far. */
static double farthest(const tc_safetensor **samples, size_t count, double center, int64_t i, double least)
{
    double most = least;
    for (size_t k = 0; k < count; ++k) {
        const double far = fabs(data_element(samples[k], i) - center);
        most = isfinite(far) ? fmax(most, far) : most;
    }
    return most;
}

static double size_of(double want)
{
    return isfinite(want) ? fabs(want) : 0;
}

/* The largest error that ordinary samples explain. */
static double ordinary_bound(const bound *how, const beside *with, tc_dtype dtype, double want, int64_t i)
{
    const double size = size_of(want), relative = how->rtol * size;
    if (how->kind == FIXED) {
        const double least = data_dtypes[dtype].bytes == 2 ? how->units * data_unit(dtype, 1) : 0;
        return fmax(how->atol, least) + fmax(how->rtol, least) * size;
    }
    const double center = data_element(with->center, i);
    if (!isfinite(center))
        return relative;
    const double spread = farthest(with->samples, with->count, center, i, data_unit(dtype, center) / 2);
    return relative + SPREADS * spread;
}

/* The largest error that rounding explains: where there are samples of larger errors, what they have, too. */
static double bound_of(const bound *how, const beside *with, double want, int64_t i, double ordinary)
{
    if (!with->larger_count)
        return ordinary;
    return fmax(ordinary, how->rtol * size_of(want) +
                              farthest(with->larger, with->larger_count, data_element(with->center, i), i, 0));
}

/* Whether a sample is another one than the center. */
static bool is_moved(const beside *with, int64_t i)
{
    const double center = data_element(with->center, i);
    return farthest(with->larger, with->larger_count, center, i, farthest(with->samples, with->count, center, i, 0)) >
           0;
}

static bool same_element(const tc_safetensor *a, const tc_safetensor *b, int64_t i)
{
    return data_dtypes[a->dtype].digits ? same_number(data_element(a, i), data_element(b, i)) : equal_bits(a, b, i);
}

static bool is_sample(const beside *with, const tc_safetensor *x, int64_t i)
{
    for (size_t k = 0; k < with->count; ++k)
        if (same_element(x, with->samples[k], i))
            return true;
    return false;
}

/* Whether the wanted element is one that roundings lead to: the center's, a sample's, or a float as near to the center's
 * as rounding explains. */
static bool is_explained(const bound *how, const beside *with, const tc_safetensor *want, int64_t i)
{
    if (same_element(want, with->center, i) || is_sample(with, want, i))
        return true;
    if (!data_dtypes[want->dtype].digits)
        return false;
    const double wanted = data_element(want, i), far = fabs(wanted - data_element(with->center, i));
    return isfinite(far) && far <= bound_of(how, with, wanted, i, ordinary_bound(how, with, want->dtype, wanted, i));
}

/* Whether `got` is a sample's, of what is no finite float, where other roundings lead to the wanted element, too. */
static bool is_sampled(const bound *how, const beside *with, const tc_safetensor *got, const tc_safetensor *want,
                       int64_t i)
{
    if (data_dtypes[got->dtype].digits && isfinite(data_element(got, i)))
        return false;
    return is_sample(with, got, i) && is_explained(how, with, want, i);
}

static void compare_float(const bound *how, const beside *with, const tc_safetensor *got, const tc_safetensor *want,
                          int64_t i, worst *out)
{
    const double a = data_element(got, i), b = data_element(want, i);
    if (same_number(a, b))
        return;
    if (how->any && is_sampled(how, with, got, want, i)) {
        ++out->sampled;
        return;
    }
    const double error = fabs(a - b), ordinary = ordinary_bound(how, with, got->dtype, b, i);
    const double most = bound_of(how, with, b, i, ordinary);
    const bool right = error <= most;
    out->larger += right && error > ordinary;
    if (!isnan(out->error) && !(error <= out->error)) {
        out->error = error;
        out->ulp = error / data_unit(got->dtype, b);
        out->small = right && !(error <= NEAR_ZERO * fabs(b));
    }
    if (right || (how->kind == SPREAD && is_moved(with, i)))
        out->share = isnan(out->share) || error / most <= out->share ? out->share : error / most;
    if (!right && out->differ++ == 0)
        out->first = i;
}

static void compare_exact(const bound *how, const beside *with, const tc_safetensor *got, const tc_safetensor *want,
                          int64_t i, worst *out)
{
    if (equal_bits(got, want, i))
        return;
    if (how->any && is_sampled(how, with, got, want, i))
        ++out->sampled;
    else if (out->differ++ == 0)
        out->first = i;
}

static bool same_type(const tc_safetensor *a, const tc_safetensor *b)
{
    const bool floats = data_dtypes[a->dtype].digits && (b->dtype == a->dtype || b->dtype == TC_DTYPE_F64);
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) &&
           (a->dtype == b->dtype || floats);
}

static void print_line(const bound *how, const char *name, bool floats, int64_t count, const worst *found)
{
    printf("%s: ", name);
    const char *then = "";
    if (how->kind == BITS || !floats) {
        if (!found->differ)
            printf("equal");
        then = found->differ ? "" : ", ";
    } else {
        printf("largest error %.3g", found->error);
        if (!found->small)
            printf(", %.3g ulp", found->ulp);
        else if (how->kind == FIXED)
            printf(", near zero");
        if (how->kind == SPREAD && found->error > 0 && found->share > 0)
            printf(", %.2g of the bound", found->share);
        then = ", ";
    }
    if (found->sampled) {
        printf("%s%lld of %lld elements as other roundings have them", then, (long long)found->sampled,
               (long long)count);
        then = ", ";
    }
    if (found->larger) {
        printf("%s%lld of %lld elements as errors %d times as large have them", then, (long long)found->larger,
               (long long)count, SPREADS);
        then = ", ";
    }
    if (found->differ)
        printf("%s%lld of %lld elements differ, the first at %lld  FAILED", then, (long long)found->differ,
               (long long)count, (long long)found->first);
    putchar('\n');
}

/* The tensors of that name that have the type of `got`; how many. */
static size_t find_samples(const tc_safetensor **found, const tc_safetensors *files, size_t count, const char *name,
                           const tc_safetensor *got)
{
    size_t n = 0;
    for (size_t k = 0; k < count; ++k) {
        const tc_safetensor *sample = tc_safetensors_find(&files[k], name);
        if (sample && same_type(got, sample))
            found[n++] = sample;
    }
    return n;
}

static bool compare_one(const bound *how, const tc_safetensor *got, const tc_safetensor *want)
{
    const tc_safetensor **samples = calloc(how->count + how->larger_count + 1, sizeof *samples);
    if (!samples) {
        printf("%s: out of memory  FAILED\n", want->name);
        return false;
    }
    beside with = {.samples = samples, .larger = samples + how->count};
    if (how->kind == SPREAD) {
        with.center = tc_safetensors_find(&how->center, want->name);
        with.count = find_samples(with.samples, how->samples, how->count, want->name, got);
        with.larger_count = find_samples(with.larger, how->larger, how->larger_count, want->name, got);
    }
    worst found = {.first = -1};
    const bool typed = same_type(got, want) && (how->kind != SPREAD || (with.center && same_type(got, with.center)));
    const bool floats = data_dtypes[got->dtype].digits && how->kind != BITS;
    const int64_t count = data_count(want);
    if (!typed)
        printf("%s: another dtype or shape  FAILED\n", want->name);
    for (int64_t i = 0; i < count && typed; ++i) {
        if (floats)
            compare_float(how, &with, got, want, i, &found);
        else
            compare_exact(how, &with, got, want, i, &found);
    }
    if (typed)
        print_line(how, want->name, floats, count, &found);
    free(samples);
    return typed && !found.differ;
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

/* left_out: names of tensors that are not compared. */
static int compare_files(const bound *how, const char *got_path, const char *want_path, int count, char **left_out)
{
    tc_safetensors got, want;
    if (tc_safetensors_open(&got, got_path) != TC_STATUS_OK)
        return data_fail_file(got_path, got.message);
    if (tc_safetensors_open(&want, want_path) != TC_STATUS_OK)
        return data_fail_file(want_path, want.message);
    bool same = true;
    for (size_t i = 0; i < want.count; ++i) {
        const tc_safetensor *wanted = &want.tensors[i], *found = tc_safetensors_find(&got, wanted->name);
        if (!is_one_of(wanted->name, count, left_out))
            same &= found ? compare_one(how, found, wanted) : missing(wanted->name);
    }
    tc_safetensors_close(&got);
    tc_safetensors_close(&want);
    return same ? 0 : 1;
}

int data_compare(int count, char **arguments)
{
    if (count < 3)
        return data_fail("tc-data compare bits|RTOL,ATOL[,UNITS] GOT.safetensors WANT.safetensors [NAME...]");
    bound how = {.kind = strcmp(arguments[0], "bits") ? FIXED : BITS};
    if (how.kind == FIXED && sscanf(arguments[0], "%lf,%lf,%lf", &how.rtol, &how.atol, &how.units) < 2)
        return data_fail("RTOL,ATOL is expected");
    return compare_files(&how, arguments[1], arguments[2], count - 3, arguments + 3);
}

static int open_samples(tc_safetensors **files, size_t *opened, int count, char **paths)
{
    *files = calloc((size_t)count + 1, sizeof **files);
    if (!*files)
        return data_fail("out of memory");
    for (; *opened < (size_t)count; ++*opened) {
        tc_safetensors *sample = &(*files)[*opened];
        if (tc_safetensors_open(sample, paths[*opened]) != TC_STATUS_OK)
            return data_fail_file(paths[*opened], sample->message);
    }
    return 0;
}

static void close_samples(tc_safetensors *files, size_t count)
{
    for (size_t k = 0; k < count; ++k)
        tc_safetensors_close(&files[k]);
    free(files);
}

int data_spread(int count, char **arguments)
{
    const int fixed = 7, samples = count < fixed ? 0 : atoi(arguments[5]),
              larger = count < fixed ? 0 : atoi(arguments[6]);
    const int names = fixed + samples + larger;
    if (count < names)
        return data_fail("tc-data spread RTOL any|own GOT WANT CENTER COUNT LARGER SAMPLE... [NAME...]");
    bound how = {.kind = SPREAD, .rtol = strtod(arguments[0], NULL), .any = !strcmp(arguments[1], "any")};
    if (tc_safetensors_open(&how.center, arguments[4]) != TC_STATUS_OK)
        return data_fail_file(arguments[4], how.center.message);
    int code = open_samples(&how.samples, &how.count, samples, arguments + fixed);
    if (!code)
        code = open_samples(&how.larger, &how.larger_count, larger, arguments + fixed + samples);
    if (!code)
        code = compare_files(&how, arguments[2], arguments[3], count - names, arguments + names);
    close_samples(how.samples, how.count);
    close_samples(how.larger, how.larger_count);
    tc_safetensors_close(&how.center);
    return code;
}
