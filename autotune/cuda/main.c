/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the candidates of kernels on the first GPU, by its own events.
 *
 *   PROGRAM PLAN [ROUNDS [MAJOR]]         MAJOR: of the version of cuBLASLt whose algorithms are candidates, too
 *
 * The plan is text that compile/tune_cuda.py writes; images of candidates are files. Lines, one case after the other:
 *
 *   case NAME
 *   buffer TYPE ELEMENTS CONSTANT WRITTEN FINITE     TYPE: a number of tc_data_type
 *   dims VALUE…                                      of the kernel's, where it has some
 *   tolerance PART                                   of the largest element; 0: all bits
 *   candidate NAME BLOCKS THREADS SHARED OVERLAPS SYMBOL IMAGE
 *   map BUFFER OFFSET TERMS LINES STRIDE BOX         of the candidate above; offset and stride in bytes
 *   product ROWS COLUMNS TERMS FUNCTION MOST         of the library: what behind the sums (tc_device_product), and how
 *                                                    many algorithms it is asked for; then its matrices
 *   matrix WHICH BUFFER OFFSET STRIDE TURNED         first, second, added, result, bias; offset in bytes
 *   algorithm NAME                                   a candidate of the library that is known already
 *   end INCUMBENT                                    by its name
 *
 * The first candidate is what the others have to be equal to, and is not timed. Each is proved, then those that are right
 * take turns. A sample is a recording of calls, one after the other: constants are other copies in each, twice the second
 * cache together where MOST_CALLS copies are as much, so they come from memory; what changes between calls stays in the
 * cache, as behind the kernel that wrote it. What is printed: `device …`, of a
 * library `library VERSION` or `absent WHY`, the lines of autotune/main.c, and `refused NAME WHY` of an algorithm of the
 * library that does not run, or whose results are none.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../data.h"
#include "../rank.h"
#include "gpu.h"
#include "library.h"

enum { MOST_BUFFERS = 128, MOST_CANDIDATES = 256, MOST_DIMS = 16, MOST_CALLS = 128, MAP_BYTES = 128 };
enum { MOST_MAPS = 8 * 5 }; /* of 8 parts with a first and 4 second operands (loops/grouped_contractions.py) */
enum { SAMPLE = 400000 };   /* ns of a sample, at least */
enum { EDGE = 400 }; /* ns that a kernel of the library takes more between two of ours, which then do not overlap */
static const size_t ROOM = 8ul << 30; /* bytes that copies of constants may take */

typedef struct {
    int buffer;
    long long offset, terms, lines, stride;
    unsigned box;
} map_of;

typedef struct {
    char name[TC_ALGORITHM_NAME], symbol[160], image[1024], why[200];
    tc_gpu_kernel kernel;
    map_of maps[MOST_MAPS];
    int map_count, loaded;
    int is_product; /* the library's, as follows */
    tc_device_product product;
    tc_lt_plan plan;
    void *graph;
    int calls;
} candidate;

typedef struct {
    char name[512];
    tc_param params[MOST_BUFFERS];
    int constant[MOST_BUFFERS], param_count;
    long long dims[MOST_DIMS];
    int dim_count;
    double tolerance;
    candidate candidates[MOST_CANDIDATES];
    int count, incumbent;
    tc_library_case library;
    tc_lt *lt; /* NULL: there is none */
} problem;

/* Of a problem on the GPU. copies: of constants; the first of each buffer is the one that proofs use. */
typedef struct {
    tc_cuda_address copies[MOST_BUFFERS][MOST_CALLS];
    int count;
    void *values[MOST_BUFFERS], *wanted[MOST_BUFFERS], *got[MOST_BUFFERS];
    tc_cuda_address bias, workspace; /* of the library: a bias in the result's dtype */
    size_t workspace_bytes;
} memory_of;

static size_t bytes_of(const tc_param *param)
{
    return tc_data_size(param->type) * (size_t)param->elements;
}

/* -- the plan ------------------------------------------------------------------------------------------------------ */

/* A candidate of the library, unless there is one of its name. */
static void add_product(problem *p, const tc_device_product *product)
{
    candidate *made = &p->candidates[p->count];
    if (p->count == MOST_CANDIDATES)
        return;
    *made = (candidate){.is_product = 1, .product = *product};
    tc_library_name(product, made->name);
    for (int c = 0; c < p->count; ++c)
        if (!strcmp(p->candidates[c].name, made->name))
            return;
    ++p->count;
}

static int add_named(problem *p, const char *name)
{
    tc_device_product product = p->library.product;
    const int good = tc_library_named(&product, name);
    if (good && p->lt)
        add_product(p, &product);
    return good;
}

static int find_incumbent(problem *p, const char *name)
{
    for (int c = 1; c < p->count; ++c)
        if (!strcmp(p->candidates[c].name, name))
            return p->incumbent = c;
    return 0;
}

/* Reads the next problem; 0 at the end, -1 where a line is none. */
static int read_problem(FILE *plan, problem *p, tc_lt *lt)
{
    char line[2048];
    memset(p, 0, sizeof *p);
    p->lt = lt;
    tc_library_begin(&p->library);
    while (fgets(line, sizeof line, plan)) {
        line[strcspn(line, "\n")] = 0;
        candidate *last = p->count ? &p->candidates[p->count - 1] : NULL;
        int type, constant, written, finite, used, good = 1;
        long long elements;
        if (!strncmp(line, "case ", 5)) {
            snprintf(p->name, sizeof p->name, "%.511s", line + 5);
        } else if (!strncmp(line, "buffer ", 7) && p->param_count < MOST_BUFFERS) {
            good = sscanf(line, "buffer %d %lld %d %d %d", &type, &elements, &constant, &written, &finite) == 5;
            p->constant[p->param_count] = constant;
            p->params[p->param_count++] = (tc_param){.name = "",
                                                     .type = (tc_data_type)type,
                                                     .elements = (ptrdiff_t)elements,
                                                     .finite = (uint8_t)finite,
                                                     .written = (uint8_t)written};
        } else if (!strncmp(line, "dims ", 5)) {
            char *at = line + 5, *next;
            for (; p->dim_count < MOST_DIMS; at = next) {
                p->dims[p->dim_count] = strtoll(at, &next, 10);
                if (next == at)
                    break;
                ++p->dim_count;
            }
        } else if (!strncmp(line, "tolerance ", 10)) {
            p->tolerance = atof(line + 10);
        } else if (!strncmp(line, "candidate ", 10) && p->count < MOST_CANDIDATES) {
            candidate *made = &p->candidates[p->count++];
            good = sscanf(line, "candidate %191s %u %u %u %d %159s %n", made->name, &made->kernel.blocks,
                          &made->kernel.threads, &made->kernel.shared, &made->kernel.overlaps, made->symbol,
                          &used) == 6;
            if (good)
                snprintf(made->image, sizeof made->image, "%s", line + used);
        } else if (!strncmp(line, "map ", 4) && last && last->map_count < MOST_MAPS) {
            map_of *m = &last->maps[last->map_count++];
            good = sscanf(line, "map %d %lld %lld %lld %lld %u", &m->buffer, &m->offset, &m->terms, &m->lines,
                          &m->stride, &m->box) == 6;
        } else if (!strncmp(line, "algorithm ", 10)) {
            good = add_named(p, line + 10);
        } else if (!strncmp(line, "end ", 4)) {
            return find_incumbent(p, line + 4) ? 1 : -1;
        } else {
            good = tc_library_line(&p->library, line);
        }
        if (!good) {
            printf("failed no line of a plan: %s\n", line);
            return -1;
        }
    }
    return 0;
}

/* -- memory and calls ---------------------------------------------------------------------------------------------- */

static int take(tc_gpu *gpu, const problem *p, memory_of *m)
{
    size_t constants = 0;
    for (int i = 0; i < p->param_count; ++i)
        constants += p->constant[i] ? bytes_of(&p->params[i]) : 0;
    m->count = 1;
    while (constants && m->count < MOST_CALLS && (size_t)m->count * constants < 2 * gpu->facts.cache_bytes &&
           (size_t)(m->count + 1) * constants < ROOM)
        ++m->count;
    for (int i = 0; i < p->param_count; ++i) {
        const size_t bytes = bytes_of(&p->params[i]);
        for (int c = 0; c < (p->constant[i] ? m->count : 1); ++c)
            if (!tc_gpu_answer(gpu, gpu->api.allocate(&m->copies[i][c], (bytes + 255) / 256 * 256), "cuMemAlloc"))
                return 0;
        m->values[i] = malloc(bytes + 1);
        m->wanted[i] = p->params[i].written ? malloc(bytes + 1) : NULL;
        m->got[i] = p->params[i].written ? malloc(bytes + 1) : NULL;
        if (!m->values[i] || (p->params[i].written && (!m->wanted[i] || !m->got[i])))
            return 0;
    }
    return 1;
}

static tc_dtype dtype_of(const problem *p, int which)
{
    const tc_data_type type = p->params[p->library.places[which].buffer].type;
    return type == TC_DATA_F32 ? TC_DTYPE_F32 : type == TC_DATA_F16 ? TC_DTYPE_F16 : TC_DTYPE_BF16;
}

static int rounds_bias(const problem *p)
{
    return p->library.product.has_bias && p->library.product.result != TC_DTYPE_F32;
}

/* The candidates that the library has, and memory for them. Where it refuses one, that has the reason. */
static int ask_library(tc_gpu *gpu, problem *p, memory_of *m)
{
    tc_library_case *const library = &p->library;
    tc_device_product found[64];
    if (!p->lt || !library->most)
        return 1;
    library->product.operand = dtype_of(p, TC_FIRST);
    library->product.result = dtype_of(p, TC_RESULT);
    const int count = tc_library_propose(p->lt, library, found);
    for (int i = 0; i < count; ++i)
        add_product(p, &found[i]);
    for (int c = 1; c < p->count; ++c) {
        candidate *one = &p->candidates[c];
        if (!one->is_product)
            continue;
        one->product.operand = library->product.operand;
        one->product.result = library->product.result;
        int status = tc_lt_plan_make(p->lt, &one->product, &one->plan);
        status = status ? status : tc_lt_plan_check(p->lt, &one->product, &one->plan);
        one->loaded = !status;
        if (status)
            snprintf(one->why, sizeof one->why, "%s", p->lt->status_name(status));
        if (one->product.workspace > m->workspace_bytes)
            m->workspace_bytes = (size_t)one->product.workspace;
    }
    if (m->workspace_bytes)
        tc_gpu_answer(gpu, gpu->api.allocate(&m->workspace, m->workspace_bytes), "cuMemAlloc");
    if (rounds_bias(p) && !gpu->failed)
        tc_gpu_answer(gpu, gpu->api.allocate(&m->bias, 2 * (size_t)library->product.columns), "cuMemAlloc");
    return !gpu->failed;
}

/* The bias that is in `values`, in the result's dtype. */
static void round_bias(tc_gpu *gpu, const problem *p, const memory_of *m)
{
    const tc_device_product *const product = &p->library.product;
    const tc_matrix_place *const bias = &p->library.places[TC_BIAS];
    if (!m->bias || gpu->failed)
        return;
    uint16_t *rounded = malloc(2 * (size_t)product->columns);
    if (!rounded)
        return;
    tc_lt_round(rounded, (const float *)(const void *)((const char *)m->values[bias->buffer] + bias->offset),
                (size_t)product->columns, product->result);
    tc_gpu_answer(gpu, gpu->api.upload(m->bias, rounded, 2 * (size_t)product->columns, gpu->stream),
                  "cuMemcpyHtoDAsync");
    tc_gpu_wait(gpu);
    free(rounded);
}

static void give(tc_gpu *gpu, const problem *p, memory_of *m)
{
    if (m->bias)
        gpu->api.release(m->bias);
    if (m->workspace)
        gpu->api.release(m->workspace);
    for (int i = 0; i < p->param_count; ++i) {
        for (int c = 0; c < MOST_CALLS; ++c)
            if (m->copies[i][c])
                gpu->api.release(m->copies[i][c]);
        free(m->values[i]);
        free(m->wanted[i]);
        free(m->got[i]);
    }
}

static void upload(tc_gpu *gpu, const problem *p, const memory_of *m, int i, int copy)
{
    if (!gpu->failed)
        tc_gpu_answer(gpu, gpu->api.upload(m->copies[i][copy], m->values[i], bytes_of(&p->params[i]), gpu->stream),
                      "cuMemcpyHtoDAsync");
}

/* The same by the library. What it refuses is no candidate any more. */
static void call_library(tc_gpu *gpu, const problem *p, const memory_of *m, candidate *c, int copy)
{
    uint64_t at[TC_MATRIX_COUNT] = {0};
    for (int i = 0; i < TC_MATRIX_COUNT; ++i) {
        const tc_matrix_place *const place = &p->library.places[i];
        if (place->buffer >= 0)
            at[i] = m->copies[place->buffer][p->constant[place->buffer] ? copy : 0] + (uint64_t)place->offset;
    }
    const tc_device_operands operands =
        {at[TC_FIRST], at[TC_SECOND], at[TC_ADDED], at[TC_RESULT], m->bias ? m->bias : at[TC_BIAS], m->workspace};
    const int status = gpu->failed ? 0 : tc_lt_multiply(p->lt, &c->product, &c->plan, &operands, gpu->stream);
    if (status && c->loaded) {
        c->loaded = 0;
        snprintf(c->why, sizeof c->why, "%s", p->lt->status_name(status));
    }
}

/* One call with the constants of a copy. */
static void call(tc_gpu *gpu, const problem *p, const memory_of *m, candidate *c, int copy)
{
    if (c->is_product) {
        call_library(gpu, p, m, c, copy);
        return;
    }
    _Alignas(64) unsigned char block[MOST_MAPS * MAP_BYTES + 8 * (MOST_BUFFERS + MOST_DIMS)];
    unsigned char *at = block;
    for (int i = 0; i < c->map_count; ++i, at += MAP_BYTES) {
        const map_of *map = &c->maps[i];
        const uint64_t sizes[] = {(uint64_t)map->terms, (uint64_t)map->lines}, strides[] = {(uint64_t)map->stride};
        const unsigned boxes[] = {64, map->box}, steps[] = {1, 1};
        const tc_cuda_address address = m->copies[map->buffer][p->constant[map->buffer] ? copy : 0];
        if (!gpu->failed) /* the numbers are those of runtime/cuda/device.c */
            tc_gpu_answer(gpu,
                          gpu->api.tensor_map(at, 1, 2, address + (uint64_t)map->offset, sizes, strides, boxes, steps,
                                              0, 3, 3, 0),
                          "cuTensorMapEncodeTiled");
    }
    for (int i = 0; i < p->param_count; ++i, at += 8)
        memcpy(at, &m->copies[i][p->constant[i] ? copy : 0], 8);
    for (int i = 0; i < p->dim_count; ++i, at += 8)
        memcpy(at, &p->dims[i], 8);
    tc_gpu_launch(gpu, &c->kernel, block);
}

/* Runs a candidate on what is in `values`, and fetches what it wrote. */
static void results(tc_gpu *gpu, const problem *p, const memory_of *m, candidate *c, void *const *to)
{
    for (int i = 0; i < p->param_count; ++i)
        if (p->params[i].written)
            upload(gpu, p, m, i, 0);
    call(gpu, p, m, c, 0);
    tc_gpu_wait(gpu);
    for (int i = 0; i < p->param_count; ++i)
        if (p->params[i].written && !gpu->failed)
            tc_gpu_answer(gpu, gpu->api.download(to[i], m->copies[i][0], bytes_of(&p->params[i]), gpu->stream),
                          "cuMemcpyDtoHAsync");
    tc_gpu_wait(gpu);
}

/* -- proofs -------------------------------------------------------------------------------------------------------- */

static double number(const void *values, const tc_param *param, ptrdiff_t i)
{
    uint16_t half;
    uint32_t bits;
    float single;
    if (param->type == TC_DATA_F32) {
        memcpy(&single, (const char *)values + 4 * i, 4);
        return (double)single;
    }
    memcpy(&half, (const char *)values + 2 * i, 2);
    if (param->type == TC_DATA_BF16) {
        bits = (uint32_t)half << 16;
        memcpy(&single, &bits, 4);
        return (double)single;
    }
    const int exponent = half >> 10 & 31, digits = half & 1023; /* of f16 */
    const double size = exponent == 31 ? (digits ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + digits, exponent - 25)
                                       : ldexp(digits, -24);
    return half >> 15 ? -size : size;
}

/* Whether `got` is near enough to `wanted`; else why not. */
static int near(const tc_param *param, const void *got, const void *wanted, double tolerance, char *why, size_t room)
{
    if (!(tolerance > 0) || (param->type != TC_DATA_F32 && param->type != TC_DATA_BF16 && param->type != TC_DATA_F16)) {
        const ptrdiff_t at = tc_data_differ(got, wanted, param);
        if (at >= 0)
            snprintf(why, room, "element %lld differs", (long long)at);
        return at < 0;
    }
    double largest = 0;
    for (ptrdiff_t i = 0; i < param->elements; ++i)
        largest = fmax(largest, fabs(number(wanted, param, i)));
    for (ptrdiff_t i = 0; i < param->elements; ++i) {
        const double x = number(got, param, i), should = number(wanted, param, i);
        if (!(fabs(x - should) <= tolerance * largest) && !(isnan(x) && isnan(should))) {
            snprintf(why, room, "element %lld is %g, should be %g", (long long)i, x, should);
            return 0;
        }
    }
    return 1;
}

/* Compares every candidate with the first: on each kind of data, bit for bit; or, with a tolerance, on plain data, and with
 * itself bit for bit. Where there is a relu of the library's, which nothing promises to keep NaN, also with a NaN an operand. */
static void prove(tc_gpu *gpu, problem *p, const memory_of *m, tc_timing *timings)
{
    const int relu = p->lt && p->library.product.function == TC_PRODUCT_RELU, nears = p->tolerance > 0;
    const int fills = nears ? 1 + relu : TC_FILL_COUNT;
    for (int fill = fills - 1; fill >= 0 && !gpu->failed; --fill) { /* plain last: that is what is timed */
        for (int i = 0; i < p->param_count; ++i) {
            const size_t bytes = tc_data_size(p->params[i].type), middle = (size_t)p->params[i].elements / 2;
            tc_data_fill(m->values[i], &p->params[i], nears ? TC_FILL_PLAIN : (tc_fill)fill,
                         (uint64_t)(100 * fill + i));
            if (nears && fill && !p->params[i].written)
                memset((char *)m->values[i] + middle * bytes, 0xff, bytes);
            for (int c = 0; c < (p->constant[i] && fill == 0 ? m->count : 1); ++c)
                upload(gpu, p, m, i, c);
        }
        round_bias(gpu, p, m);
        results(gpu, p, m, &p->candidates[0], m->wanted);
        for (int c = 1; c < p->count && !gpu->failed; ++c) {
            candidate *one = &p->candidates[c];
            for (int again = 0; again < (nears ? 2 : 1) && timings[c].runs; ++again) {
                results(gpu, p, m, one, m->got);
                timings[c].runs = one->loaded;
                for (int i = 0; i < p->param_count && !gpu->failed; ++i)
                    if (p->params[i].written && timings[c].runs)
                        timings[c].runs = near(&p->params[i], m->got[i], m->wanted[i], p->tolerance, one->why,
                                               sizeof one->why);
            }
        }
    }
}

/* A candidate with a tolerance gives the same bits again. */
static void prove_again(tc_gpu *gpu, problem *p, const memory_of *m, tc_timing *timings)
{
    for (int c = 1; c < p->count && p->tolerance > 0; ++c) {
        candidate *one = &p->candidates[c];
        if (!timings[c].runs)
            continue;
        results(gpu, p, m, one, m->wanted);
        for (int again = 0; again < 3 && !gpu->failed; ++again) {
            results(gpu, p, m, one, m->got);
            for (int i = 0; i < p->param_count && timings[c].runs; ++i)
                if (p->params[i].written && tc_data_differ(m->got[i], m->wanted[i], &p->params[i]) >= 0) {
                    snprintf(one->why, sizeof one->why, "other bits in another run");
                    timings[c].runs = 0;
                }
        }
    }
}

/* -- time ---------------------------------------------------------------------------------------------------------- */

/* Records as many calls as a sample takes, at least one with each copy of the constants. */
static void record(tc_gpu *gpu, const problem *p, const memory_of *m, candidate *c)
{
    double ns = 0;
    for (c->calls = m->count < 4 ? 4 : m->count;; c->calls *= 2) {
        tc_gpu_record(gpu);
        for (int i = 0; i < c->calls; ++i)
            call(gpu, p, m, c, i % m->count);
        c->graph = tc_gpu_recorded(gpu);
        if (gpu->failed)
            return;
        ns = tc_gpu_time(gpu, c->graph);
        if (ns >= SAMPLE || c->calls * 2 > MOST_CALLS)
            return;
        gpu->api.graph_drop_made(c->graph);
        c->graph = NULL;
    }
}

/* Nanoseconds of a call. */
static double sample(tc_gpu *gpu, const problem *p, const memory_of *m, candidate *c)
{
    if (!c->graph)
        record(gpu, p, m, c);
    const double edge = c->is_product && p->candidates[1].kernel.overlaps ? EDGE : 0;
    return gpu->failed ? 0 : tc_gpu_time(gpu, c->graph) / c->calls + edge;
}

static int measure(tc_gpu *gpu, problem *p, memory_of *m, tc_timing *timings, int rounds)
{
    for (int round = 0; round < rounds && !gpu->failed; ++round) {
        for (int c = 1; c < p->count && !gpu->failed; ++c) {
            candidate *one = &p->candidates[c];
            tc_timing *timing = &timings[c];
            if (!timing->runs)
                continue;
            const double mean = timing->samples[round] = sample(gpu, p, m, one);
            if (timing->rounds++ == 0 || mean < timing->least)
                timing->least = mean;
        }
        tc_rank_drop(timings + 1, p->count - 1, p->incumbent - 1, round);
    }
    return tc_rank_winner(timings + 1, p->count - 1, p->incumbent - 1, rounds) + 1;
}

static void one_case(tc_gpu *gpu, problem *p, int rounds)
{
    tc_timing timings[MOST_CANDIDATES] = {0};
    double *samples = calloc((size_t)(MOST_CANDIDATES * rounds), sizeof *samples);
    memory_of *m = calloc(1, sizeof *m);
    int winner = 0;
    printf("case %s\n", p->name);
    fflush(stdout);
    const int room = samples && m && ask_library(gpu, p, m);
    for (int c = 0; c < p->count && room; ++c) {
        candidate *one = &p->candidates[c];
        if (!one->is_product)
            one->loaded = tc_gpu_load(gpu, &one->kernel, one->image, one->symbol);
        if (!one->loaded && !one->is_product)
            snprintf(one->why, sizeof one->why, "the driver does not load it");
        timings[c].runs = one->loaded;
        timings[c].samples = samples + c * rounds;
    }
    const int ready = room && timings[0].runs && take(gpu, p, m);
    if (ready) {
        prove(gpu, p, m, timings);
        prove_again(gpu, p, m, timings);
        for (int c = 1; c < p->count && !gpu->failed; ++c)
            if (!timings[c].runs)
                printf("%s %s %s\n", p->candidates[c].is_product ? "refused" : "wrong", p->candidates[c].name,
                       p->candidates[c].why);
        winner = measure(gpu, p, m, timings, rounds);
    }
    for (int c = 1; c < p->count && !gpu->failed; ++c)
        if (timings[c].rounds)
            printf("candidate %s %.1f %d\n", p->candidates[c].name, timings[c].least, timings[c].rounds);
    if (gpu->failed)
        printf("failed %s: %s in %s\n", gpu->call, tc_cuda_error(&gpu->api, gpu->failed), p->name);
    else if (!ready)
        printf("failed no memory, or no reference, for %s\n", p->name);
    else if (winner > 0)
        printf("winner %s %.1f\n", p->candidates[winner].name, timings[winner].least);
    fflush(stdout);
    for (int c = 0; c < p->count; ++c) {
        if (p->candidates[c].graph)
            gpu->api.graph_drop_made(p->candidates[c].graph);
        if (p->candidates[c].is_product)
            tc_lt_plan_drop(p->lt, &p->candidates[c].plan);
        tc_gpu_unload(gpu, &p->candidates[c].kernel);
    }
    if (m)
        give(gpu, p, m);
    free(m);
    free(samples);
}

int main(int argc, char **argv)
{
    static tc_gpu gpu;
    static problem p;
    static tc_lt lt;
    const int rounds = argc > 2 ? atoi(argv[2]) : 20;
    FILE *plan = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!plan || rounds < 1) {
        fprintf(stderr, "usage: %s PLAN [ROUNDS [MAJOR]]\n", argv[0]);
        return 2;
    }
    const char *why = tc_gpu_open(&gpu);
    if (why) {
        printf("failed %s\n", why);
        return 0;
    }
    printf("device %s, %d multiprocessors, at most %d MHz, memory %d MHz, second cache %zu MiB, driver of CUDA %d.%d\n",
           gpu.facts.name, gpu.facts.multiprocessors, gpu.facts.clock, gpu.facts.memory_clock,
           gpu.facts.cache_bytes >> 20, gpu.facts.driver / 1000, gpu.facts.driver % 1000 / 10);
    fflush(stdout);
    const char *absent = argc > 3 ? tc_lt_open(&lt, (unsigned)atoi(argv[3])) : NULL;
    if (absent)
        printf("absent %s: %s\n", lt.name, absent);
    else if (argc > 3)
        printf("library %u\n", (unsigned)lt.version());
    fflush(stdout);
    int more = 0;
    while (!gpu.failed && (more = read_problem(plan, &p, lt.handle ? &lt : NULL)) > 0)
        one_case(&gpu, &p, rounds);
    unsigned clock, memory;
    tc_gpu_clocks(&clock, &memory);
    if (clock)
        printf("clocks %u MHz, memory %u MHz, behind the last sample\n", clock, memory);
    fclose(plan);
    tc_lt_close(&lt);
    tc_gpu_close(&gpu);
    return gpu.failed || more < 0;
}
