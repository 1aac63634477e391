/* SPDX-License-Identifier: Apache-2.0
 *
 * Contractions: dot and convolution, in the orders of docs/numerics.md. Operands are first brought into the layout of
 * one loop, k outside and the second operand's free index inside, which a compiler can vectorize without changing the
 * order of any sum.
 */
#include "lanes.h"
#include "ops.h"
#include "scalar_wide.h"

#include <string.h>

enum { COLUMNS = 64 };

/* seq: acc[j] = fma(a[i], b[i*stride + j], acc[j]) for ascending i; n <= COLUMNS. */
#define ACCUMULATE(name, C, fma)                                                                                       \
    static void accumulate_##name(C *restrict acc, int64_t n, const C *a, int64_t k, const C *restrict b,              \
                                  int64_t stride)                                                                      \
    {                                                                                                                  \
        for (int64_t i = 0; i < k; i++) {                                                                              \
            const C factor = a[i];                                                                                     \
            for (int64_t j = 0; j < n; j++)                                                                            \
                acc[j] = fma(factor, b[i * stride + j], acc[j]);                                                       \
        }                                                                                                              \
    }

/* seq, one term of each column: acc[j] = fma(a[j], b[j], acc[j]); n <= COLUMNS. */
#define EACH(name, C, fma)                                                                                             \
    static void each_##name(C *restrict acc, int64_t n, const C *a, const C *b)                                        \
    {                                                                                                                  \
        for (int64_t j = 0; j < n; j++)                                                                                \
            acc[j] = fma(a[j], b[j], acc[j]);                                                                          \
    }

/* lanes: the sum of a[i]*b[i]. */
#define LANES(name, attribute, C, fma, add)                                                                            \
    attribute static C lanes_##name(const C *a, const C *b, int64_t n)                                                 \
    {                                                                                                                  \
        TCI_SUM_LANES(C, n, a[i] * b[i], fma(a[i], b[i], sum), add)                                                    \
    }

static inline double fma_noisy(double a, double b, double c)
{
    return tci_noisy_sum(a * b + c);
}

ACCUMULATE(f32, float, tc_fma_f32)
ACCUMULATE(f64, double, tc_fma_f64)
ACCUMULATE(wide, double, tc_fma_wide)
ACCUMULATE(noisy, double, fma_noisy)
EACH(f32, float, tc_fma_f32)
EACH(f64, double, tc_fma_f64)
EACH(wide, double, tc_fma_wide)
EACH(noisy, double, fma_noisy)
LANES(f32, , float, tc_fma_f32, tc_add_f32)
LANES(f64, , double, tc_fma_f64, tc_add_f64)
LANES(wide, , double, tc_fma_wide, tc_add_wide)
LANES(noisy, , double, fma_noisy, tc_add_wide)

/* A build for baseline x86-64 emulates fma and has short vectors; where the machine has more, the same sums use it. */
#if defined(__x86_64__)
#include <immintrin.h>

LANES(f32_fma, __attribute__((target("avx2,fma"))), float, __builtin_fmaf, tc_add_f32)

#define SET(name) name##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#define FMA_F32 _mm256_fmadd_ps
#define TO_F32(x) _mm256_cvtps_pd(_mm256_cvtpd_ps(x))
/* Without an instruction: 2^52 added, the upper 21 bits of 53 belong to 2^84 + 2^32 * upper, the others to 2^52 + lower. */
#define TO_DOUBLE(bits)                                                                                                \
    ((doubles_avx2)(((bits) ^ TCI_SIGN) >> 43 | 0x4530000000000000u) - (0x1p84 + 0x1p53) +                             \
     (doubles_avx2)(((bits) >> 11 & 0xffffffffu) | 0x4330000000000000u))
#include "accumulate_x86.h"

#define SET(name) name##_avx512
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define BYTES 64
#define FMA_F32 _mm512_fmadd_ps
#define TO_F32(x) _mm512_cvtps_pd(_mm512_cvtpd_ps(x))
#define TO_DOUBLE(bits) __builtin_convertvector((integers_avx512)(bits) >> 11, doubles_avx512)
#include "accumulate_x86.h"
#endif

#define ACCUMULATE_WRAP(T, C)                                                                                          \
    static void accumulate_##T(C *acc, int64_t n, const C *a, int64_t k, const C *b, int64_t stride)                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < k; i++)                                                                                \
            for (int64_t j = 0; j < n; j++)                                                                            \
                acc[j] = tc_add_##T(acc[j], tc_mul_##T(a[i], b[i * stride + j]));                                      \
    }                                                                                                                  \
    static void each_##T(C *acc, int64_t n, const C *a, const C *b)                                                    \
    {                                                                                                                  \
        for (int64_t j = 0; j < n; j++)                                                                                \
            acc[j] = tc_add_##T(acc[j], tc_mul_##T(a[j], b[j]));                                                       \
    }
/* X(T, C) for the dtypes that accumulate as they are. */
#define INTEGERS(X)                                                                                                    \
    X(i8, int8_t)                                                                                                      \
    X(i16, int16_t) X(i32, int32_t) X(i64, int64_t) X(u8, uint8_t) X(u16, uint16_t) X(u32, uint32_t) X(u64, uint64_t)
INTEGERS(ACCUMULATE_WRAP)

#if defined(__x86_64__)
static bool has_fma(void)
{
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
#endif

/* Those that the machine runs. */
typedef struct loops {
    void (*f32)(float *acc, int64_t n, const float *a, int64_t k, const float *b, int64_t stride);
    void (*wide)(double *acc, int64_t n, const double *a, int64_t k, const double *b, int64_t stride);
    void (*noisy)(double *acc, int64_t n, const double *a, int64_t k, const double *b,
                  int64_t stride); /* sums of f32 */
    void (*each_f32)(float *acc, int64_t n, const float *a, const float *b);
    void (*each_wide)(double *acc, int64_t n, const double *a, const double *b);
    void (*each_noisy)(double *acc, int64_t n, const double *a, const double *b); /* of f32, too */
} loops;

static loops best_loops(void)
{
#if defined(__x86_64__)
    if (has_avx512())
        return (loops){accumulate_f32_avx512, accumulate_wide_avx512, accumulate_noisy_avx512,
                       each_f32_avx512,       each_wide_avx512,       each_noisy_avx512};
    if (has_fma())
        return (loops){accumulate_f32_avx2, accumulate_wide_avx2, accumulate_noisy_avx2,
                       each_f32_avx2,       each_wide_avx2,       each_noisy_avx2};
#endif
    return (loops){accumulate_f32, accumulate_wide, accumulate_noisy, each_f32, each_wide, each_noisy};
}

/* acc: COLUMNS elements of dtype; offsets into a and b in elements. */
static void accumulate(tci_dtype dtype, void *acc, int64_t n, const tci_tensor *a, int64_t a_at, int64_t k,
                       const tci_tensor *b, int64_t b_at, int64_t stride)
{
    const void *x = a->data, *y = b->data;
    const loops best = best_loops();
    switch ((int)dtype) {
    case DT_f32: best.f32(acc, n, (const float *)x + a_at, k, (const float *)y + b_at, stride); break;
#define CASE(T, C)                                                                                                     \
    case DT_##T: accumulate_##T(acc, n, (const C *)x + a_at, k, (const C *)y + b_at, stride); break;
        CASE(f64, double)
        INTEGERS(CASE)
#undef CASE
    case DT_wide:
        (!tci_noise.on ? best.wide
         : tci_noise.sums == TCI_SUMS_F32
             ? best.noisy
             : accumulate_noisy)(acc, n, (const double *)x + a_at, k, (const double *)y + b_at, stride);
        break;
    }
}

/* As accumulate, of one term, whose factors are those of the columns. */
static void accumulate_each(tci_dtype dtype, void *acc, int64_t n, const tci_tensor *a, int64_t a_at,
                            const tci_tensor *b, int64_t b_at)
{
    const void *x = a->data, *y = b->data;
    const loops best = best_loops();
    switch ((int)dtype) {
    case DT_f32: best.each_f32(acc, n, (const float *)x + a_at, (const float *)y + b_at); break;
#define CASE(T, C)                                                                                                     \
    case DT_##T: each_##T(acc, n, (const C *)x + a_at, (const C *)y + b_at); break;
        CASE(f64, double)
        INTEGERS(CASE)
#undef CASE
    case DT_wide:
        (!tci_noise.on                    ? best.each_wide
         : tci_noise.sums == TCI_SUMS_F32 ? best.each_noisy
                                          : each_noisy)(acc, n, (const double *)x + a_at, (const double *)y + b_at);
        break;
    }
}

/* Writes n finished accumulators, `step` elements apart; floats get their `+ (+0)`. */
static void finish(tci_dtype dtype, const void *acc, int64_t n, char *out, int64_t at, int64_t step)
{
    for (int64_t j = 0; j < n; j++) {
        const int64_t to = at + j * step;
        switch ((int)dtype) {
#define CASE(T, C)                                                                                                     \
    case DT_##T: ((C *)(void *)out)[to] = tc_add_##T(((const C *)acc)[j], 0); break;
            CASE(f32, float)
            CASE(f64, double)
            CASE(wide, double)
            INTEGERS(CASE)
#undef CASE
        }
    }
}

/* `in` with dim dims[d] at position d, dense. */
static bool arrange(const tci_scope *scope, const tci_node *node, const tci_tensor *in, const int *dims,
                    tci_tensor *out)
{
    tci_tensor moved = *in;
    for (int d = 0; d < in->rank; d++) {
        moved.shape[d] = in->shape[dims[d]];
        moved.stride[d] = in->stride[dims[d]];
    }
    return tci_tensor_dense(out, &moved, node->loc, scope->diag);
}

/* Marks the listed dims; false where one is out of range or repeated. */
static bool mark(const tci_attr *list, int rank, uint32_t *seen)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->ints[i] < 0 || list->ints[i] >= rank || (*seen >> list->ints[i] & 1) != 0)
            return false;
        *seen |= 1u << list->ints[i];
    }
    return true;
}

static int append(int *dims, int count, const tci_attr *list)
{
    for (size_t i = 0; i < list->count; i++)
        dims[count++] = (int)list->ints[i];
    return count;
}

static int append_unmarked(int *dims, int count, int rank, uint32_t seen)
{
    for (int d = 0; d < rank; d++)
        if ((seen >> d & 1) == 0)
            dims[count++] = d;
    return count;
}

/* where: of each element of a whether it is a factor of terms; NULL: all are. */
static void dot_seq(const tci_tensor *a, const tci_tensor *b, const uint8_t *where, tci_tensor *out, int64_t batch,
                    int64_t m, int64_t n, int64_t k)
{
    _Alignas(64) unsigned char acc[COLUMNS * 8];
    for (int64_t z = 0; z < batch; z++) {
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j += COLUMNS) {
                const int64_t width = n - j < COLUMNS ? n - j : COLUMNS;
                const int64_t row = (z * m + i) * k;
                memset(acc, 0, sizeof acc);
                for (int64_t first = 0, end; first < k; first = end) {
                    end = where == NULL ? k : first + 1;
                    if (where == NULL || where[row + first])
                        accumulate(out->dtype, acc, width, a, row + first, end - first, b, (z * k + first) * n + j, n);
                }
                finish(out->dtype, acc, width, out->data, (z * m + i) * n + j, 1);
            }
        }
    }
}

static void dot_lanes(const tci_tensor *a, const tci_tensor *b, tci_tensor *out, int64_t batch, int64_t m, int64_t n,
                      int64_t k)
{
    const void *x = a->data, *y = b->data;
    void *to = out->data;
    for (int64_t z = 0; z < batch; z++) {
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                const int64_t row = (z * m + i) * k, column = (z * n + j) * k, at = (z * m + i) * n + j;
                if (out->dtype == TCI_F64)
                    ((double *)to)[at] = lanes_f64((const double *)x + row, (const double *)y + column, k);
                else if (out->dtype == TCI_WIDE && tci_noise.on)
                    ((double *)to)[at] = lanes_noisy((const double *)x + row, (const double *)y + column, k);
                else if (out->dtype == TCI_WIDE)
                    ((double *)to)[at] = lanes_wide((const double *)x + row, (const double *)y + column, k);
#if defined(__x86_64__)
                else if (has_fma())
                    ((float *)to)[at] = lanes_f32_fma((const float *)x + row, (const float *)y + column, k);
#endif
                else
                    ((float *)to)[at] = lanes_f32((const float *)x + row, (const float *)y + column, k);
            }
        }
    }
}

/* p: which elements of a are factors of terms; NULL: all are. */
static bool dot(const tci_scope *scope, const tci_node *node, const tci_tensor *a, const tci_tensor *b,
                const tci_tensor *p, tci_tensor *out)
{
    const tci_attr *lb = tci_node_attr(node, "lhs_batch"), *rb = tci_node_attr(node, "rhs_batch");
    const tci_attr *lc = tci_node_attr(node, "lhs_contract"), *rc = tci_node_attr(node, "rhs_contract");
    const char *order = tci_node_attr(node, "order")->text;
    const bool lanes = strcmp(order, "lanes") == 0, is_float = tci_dtype_is_float(a->dtype);
    uint32_t a_seen = 0, b_seen = 0;
    if (a->dtype != b->dtype || a->dtype == TCI_BOOL)
        return tci_node_fail(scope, node, "operands are no numbers of one dtype");
    if ((!lanes && strcmp(order, "seq") != 0 && (is_float || strcmp(order, "free") != 0)) || (lanes && !is_float))
        return tci_node_fail(scope, node, "%s has no order '%s'", tci_dtype_name(a->dtype), order);
    if (p != NULL && (lanes || !tci_is_predicate(p, a)))
        return tci_node_fail(scope, node, "no sum in order seq with a predicate of the first operand's shape");
    if (lb->count != rb->count || lc->count != rc->count || !mark(lb, a->rank, &a_seen) ||
        !mark(lc, a->rank, &a_seen) || !mark(rb, b->rank, &b_seen) || !mark(rc, b->rank, &b_seen))
        return tci_node_fail(scope, node, "batch and contracted dims do not pair");
    int64_t batch = 1, m = 1, n = 1, k = 1, shape[2 * TCI_MAX_RANK];
    int rank = 0, a_dims[TCI_MAX_RANK], b_dims[TCI_MAX_RANK];
    for (size_t i = 0; i < lb->count; i++) {
        shape[rank] = a->shape[lb->ints[i]];
        batch *= shape[rank++];
        if (b->shape[rb->ints[i]] != a->shape[lb->ints[i]])
            return tci_node_fail(scope, node, "batch dims differ");
    }
    for (size_t i = 0; i < lc->count; i++) {
        k *= a->shape[lc->ints[i]];
        if (b->shape[rc->ints[i]] != a->shape[lc->ints[i]])
            return tci_node_fail(scope, node, "contracted dims differ: %lld and %lld", (long long)a->shape[lc->ints[i]],
                                 (long long)b->shape[rc->ints[i]]);
    }
    int a_count = append(a_dims, 0, lb), a_free = a_count;
    a_count = append_unmarked(a_dims, a_count, a->rank, a_seen);
    for (; a_free < a_count; a_free++)
        m *= shape[rank++] = a->shape[a_dims[a_free]];
    append(a_dims, a_count, lc);
    int b_count = append(b_dims, 0, rb);
    if (!lanes)
        b_count = append(b_dims, b_count, rc);
    int b_free = b_count;
    b_count = append_unmarked(b_dims, b_count, b->rank, b_seen);
    for (; b_free < b_count; b_free++)
        n *= shape[rank++] = b->shape[b_dims[b_free]];
    if (lanes)
        append(b_dims, b_count, rc);
    if (rank > TCI_MAX_RANK)
        return tci_node_fail(scope, node, "more than %d dims", (int)TCI_MAX_RANK);
    tci_tensor x = {0}, y = {0}, where = {0};
    const bool ok = arrange(scope, node, a, a_dims, &x) && arrange(scope, node, b, b_dims, &y) &&
                    (p == NULL || arrange(scope, node, p, a_dims, &where)) &&
                    tci_tensor_make(out, a->dtype, rank, shape, node->loc, scope->diag);
    if (ok && tci_tensor_elements(out) > 0) {
        if (lanes)
            dot_lanes(&x, &y, out, batch, m, n, k);
        else
            dot_seq(&x, &y, p == NULL ? NULL : (const uint8_t *)where.data, out, batch, m, n, k);
    }
    tci_tensor_release(&x);
    tci_tensor_release(&y);
    tci_tensor_release(&where);
    return ok;
}

bool tci_op_dot(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    return dot(scope, node, &in[0], &in[1], NULL, out);
}

bool tci_op_dot_where(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    return dot(scope, node, &in[0], &in[1], &in[2], out);
}

bool tci_window_size(int64_t n, int64_t size, int64_t stride, int64_t low, int64_t high, int64_t dilation,
                     int64_t *result)
{
    const int64_t most = (int64_t)1 << 31;
    if (n > (int64_t)1 << 40 || size < 1 || stride < 1 || dilation < 1 || low < 0 || high < 0 || size > most ||
        stride > most || dilation > most || low > most || high > most)
        return false;
    const int64_t room = low + n + high - ((size - 1) * dilation + 1);
    *result = room < 0 ? 0 : room / stride + 1;
    return true;
}

/* A convolution over operands already arranged: x [n, spatial..., c], w [g, spatial..., c/g, o/g]; where a group has one
 * channel and one output, w [spatial..., g]. */
typedef struct convolution {
    int spatial;
    int64_t images, channels, groups, outputs; /* channels and outputs of all groups */
    const int64_t *in, *window;                /* spatial sizes */
    int64_t out[TCI_MAX_RANK];
    const int64_t *stride, *low, *dilation;
} convolution;

static bool is_depthwise(const convolution *c)
{
    return c->groups == c->channels && c->groups == c->outputs;
}

/* One output position of one image and group, `width` outputs from `first` on; of a depthwise one of all groups. */
static void convolve_point(const convolution *c, const tci_tensor *x, const tci_tensor *w, tci_dtype dtype, void *acc,
                           int64_t image, int64_t group, const int64_t *at, int64_t first, int64_t width)
{
    const int64_t depth = c->channels / c->groups, columns = c->outputs / c->groups;
    int64_t tap[TCI_MAX_RANK] = {0}, taps = 1;
    for (int d = 0; d < c->spatial; d++)
        taps *= c->window[d];
    for (int64_t t = 0; t < taps; t++) {
        int64_t position = image;
        bool inside = true;
        for (int d = 0; d < c->spatial; d++) {
            const int64_t p = at[d] * c->stride[d] - c->low[d] + tap[d] * c->dilation[d];
            inside &= p >= 0 && p < c->in[d];
            position = position * c->in[d] + p;
        }
        if (inside && is_depthwise(c))
            accumulate_each(dtype, acc, width, x, position * c->channels + first, w, t * c->outputs + first);
        else if (inside)
            accumulate(dtype, acc, width, x, position * c->channels + group * depth, depth, w,
                       (group * taps + t) * depth * columns + first, columns);
        for (int d = c->spatial - 1; d >= 0 && ++tap[d] == c->window[d]; d--)
            tap[d] = 0;
    }
}

static void convolve(const convolution *c, const tci_tensor *x, const tci_tensor *w, tci_tensor *out)
{
    _Alignas(64) unsigned char acc[COLUMNS * 8];
    const int64_t groups = is_depthwise(c) ? 1 : c->groups, columns = c->outputs / groups;
    int64_t points = 1;
    for (int d = 0; d < c->spatial; d++)
        points *= c->out[d];
    for (int64_t image = 0; image < c->images; image++) {
        for (int64_t group = 0; group < groups; group++) {
            int64_t at[TCI_MAX_RANK] = {0};
            for (int64_t point = 0; point < points; point++) {
                for (int64_t first = 0; first < columns; first += COLUMNS) {
                    const int64_t width = columns - first < COLUMNS ? columns - first : COLUMNS;
                    memset(acc, 0, (size_t)width * 8);
                    convolve_point(c, x, w, out->dtype, acc, image, group, at, first, width);
                    finish(out->dtype, acc, width, out->data,
                           (image * c->outputs + group * columns + first) * points + point, points);
                }
                for (int d = c->spatial - 1; d >= 0 && ++at[d] == c->out[d]; d--)
                    at[d] = 0;
            }
        }
    }
}

bool tci_op_convolution(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_tensor *x = &in[0], *w = &in[1];
    const tci_attr *stride = tci_node_attr(node, "stride"), *dilation = tci_node_attr(node, "dilation");
    const tci_attr *low = tci_node_attr(node, "low"), *high = tci_node_attr(node, "high");
    const int64_t groups = tci_node_attr(node, "groups")->ints[0];
    const int spatial = x->rank - 2;
    if (spatial < 0 || w->rank != x->rank || x->dtype != w->dtype || x->dtype == TCI_BOOL)
        return tci_node_fail(scope, node, "operands are no tensors of numbers of one dtype and rank of 2 or more");
    if (stride->count != (size_t)spatial || dilation->count != (size_t)spatial || low->count != (size_t)spatial ||
        high->count != (size_t)spatial)
        return tci_node_fail(scope, node, "attributes do not fit the rank");
    if (groups < 1 || w->shape[0] % groups != 0 || x->shape[1] % groups != 0 || w->shape[1] != x->shape[1] / groups)
        return tci_node_fail(scope, node, "channels and groups do not fit");
    if (x->rank == TCI_MAX_RANK)
        return tci_node_fail(scope, node, "too many dims");
    int64_t shape[TCI_MAX_RANK] = {x->shape[0], w->shape[0]};
    convolution c = {.spatial = spatial,
                     .images = x->shape[0],
                     .channels = x->shape[1],
                     .groups = groups,
                     .outputs = w->shape[0],
                     .in = x->shape + 2,
                     .window = w->shape + 2,
                     .stride = stride->ints,
                     .low = low->ints,
                     .dilation = dilation->ints};
    for (int d = 0; d < spatial; d++) {
        if (!tci_window_size(x->shape[2 + d], w->shape[2 + d], stride->ints[d], low->ints[d], high->ints[d],
                             dilation->ints[d], &shape[2 + d]))
            return tci_node_fail(scope, node, "the window does not fit spatial dim %d", d);
        c.out[d] = shape[2 + d];
    }
    /* x: channels last; w: [o, c, spatial...] as [g, o/g, c, spatial...] moved to [g, spatial..., c, o/g] */
    int x_dims[TCI_MAX_RANK] = {0}, w_dims[TCI_MAX_RANK] = {0};
    for (int d = 0; d < spatial; d++) {
        x_dims[1 + d] = 2 + d;
        w_dims[1 + d] = 3 + d;
    }
    x_dims[1 + spatial] = 1;
    w_dims[1 + spatial] = 2;
    w_dims[2 + spatial] = 1;
    for (int d = 0; d < 2 + spatial && is_depthwise(&c); d++)
        w_dims[d] = w_dims[d + 1];
    w_dims[2 + spatial] = is_depthwise(&c) ? 0 : 1;
    tci_tensor grouped = {.dtype = w->dtype, .rank = w->rank + 1, .data = w->data, .owner = w->owner};
    grouped.shape[0] = groups;
    grouped.shape[1] = w->shape[0] / groups;
    grouped.stride[0] = w->stride[0] * grouped.shape[1];
    grouped.stride[1] = w->stride[0];
    for (int d = 1; d < w->rank; d++) {
        grouped.shape[d + 1] = w->shape[d];
        grouped.stride[d + 1] = w->stride[d];
    }
    tci_tensor xs = {0}, ws = {0};
    const bool ok = arrange(scope, node, x, x_dims, &xs) && arrange(scope, node, &grouped, w_dims, &ws) &&
                    tci_tensor_make(out, x->dtype, x->rank, shape, node->loc, scope->diag);
    if (ok && tci_tensor_elements(out) > 0)
        convolve(&c, &xs, &ws, out);
    tci_tensor_release(&xs);
    tci_tensor_release(&ws);
    return ok;
}
