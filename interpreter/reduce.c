/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions: reduce, reduce_where, arg_reduce and window_reduce, in the orders of docs/numerics.md.
 */
#include "lanes.h"
#include "ops.h"
#include "scalar_wide.h"

#include <math.h>
#include <string.h>

/* X(T, C, lowest, highest) for every dtype of numbers that kernels see: f16 and bf16 come in f32 (execute.c). */
#define NUMBERS(X)                                                                                                     \
    X(f32, float, -INFINITY, INFINITY)                                                                                 \
    X(f64, double, -(double)INFINITY, (double)INFINITY)                                                                \
    X(wide, double, -(double)INFINITY, (double)INFINITY)                                                               \
    X(i8, int8_t, INT8_MIN, INT8_MAX)                                                                                  \
    X(i16, int16_t, INT16_MIN, INT16_MAX)                                                                              \
    X(i32, int32_t, INT32_MIN, INT32_MAX)                                                                              \
    X(i64, int64_t, INT64_MIN, INT64_MAX)                                                                              \
    X(u8, uint8_t, 0, UINT8_MAX)                                                                                       \
    X(u16, uint16_t, 0, UINT16_MAX)                                                                                    \
    X(u32, uint32_t, 0, UINT32_MAX)                                                                                    \
    X(u64, uint64_t, 0, UINT64_MAX)
/* The operand with the dims of `reduced` (a bit a dim) moved to the end, dense: rows of terms in row-major order. */
static bool make_rows(const tci_scope *scope, const tci_node *node, const tci_tensor *in, uint32_t reduced,
                      tci_tensor *rows, int64_t *terms)
{
    tci_tensor moved = *in;
    int rank = 0;
    *terms = 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int d = 0; d < in->rank; d++) {
            if ((reduced >> d & 1) != (uint32_t)pass)
                continue;
            moved.shape[rank] = in->shape[d];
            moved.stride[rank++] = in->stride[d];
            if (pass == 1)
                *terms *= in->shape[d];
        }
    }
    return tci_tensor_dense(rows, &moved, node->loc, scope->diag);
}

/* Sum of n terms: `lanes` for floats. Integers wrap, so their order does not matter. */
#define SUM_LANES(T, C)                                                                                                \
    static C sum_lanes_##T(const C *x, int64_t n)                                                                      \
    {                                                                                                                  \
        TCI_SUM_LANES(C, n, x[i], tc_add_##T(sum, x[i]), tc_add_##T)                                                   \
    }
SUM_LANES(f32, float)
SUM_LANES(f64, double)
SUM_LANES(wide, double)

#define SUM_WRAP(T, C)                                                                                                 \
    static C sum_lanes_##T(const C *x, int64_t n)                                                                      \
    {                                                                                                                  \
        C total = 0;                                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                                                \
            total = tc_add_##T(total, x[i]);                                                                           \
        return total;                                                                                                  \
    }
SUM_WRAP(i8, int8_t)
SUM_WRAP(i16, int16_t)
SUM_WRAP(i32, int32_t)
SUM_WRAP(i64, int64_t)
SUM_WRAP(u8, uint8_t)
SUM_WRAP(u16, uint16_t)
SUM_WRAP(u32, uint32_t)
SUM_WRAP(u64, uint64_t)

/* Rows to one value each; `lowest` and `highest` are the identities of max and min. */
#define REDUCE_ROWS(T, C, lowest, highest)                                                                             \
    static bool reduce_rows_##T(const char *op, void *to, const void *from, int64_t rows, int64_t n)                   \
    {                                                                                                                  \
        C *out = to;                                                                                                   \
        const C *in = from;                                                                                            \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const C *x = in + r * n;                                                                                   \
            C value;                                                                                                   \
            if (strcmp(op, "sum") == 0) {                                                                              \
                value = sum_lanes_##T(x, n);                                                                           \
            } else if (strcmp(op, "max") == 0) {                                                                       \
                value = n == 0 ? (lowest) : x[0];                                                                      \
                for (int64_t i = 1; i < n; i++)                                                                        \
                    value = tc_maximum_##T(value, x[i]);                                                               \
            } else if (strcmp(op, "min") == 0) {                                                                       \
                value = n == 0 ? (highest) : x[0];                                                                     \
                for (int64_t i = 1; i < n; i++)                                                                        \
                    value = tc_minimum_##T(value, x[i]);                                                               \
            } else {                                                                                                   \
                return false;                                                                                          \
            }                                                                                                          \
            out[r] = value;                                                                                            \
        }                                                                                                              \
        return true;                                                                                                   \
    }                                                                                                                  \
    /* a NaN is the extreme; of equals the first counts */                                                             \
    static void arg_rows_##T(bool max, int64_t *out, const void *from, int64_t rows, int64_t n)                        \
    {                                                                                                                  \
        const C *in = from;                                                                                            \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const C *x = in + r * n;                                                                                   \
            int64_t best = 0;                                                                                          \
            for (int64_t i = 1; i < n && x[best] == x[best]; i++)                                                      \
                if (x[i] != x[i] || (max ? x[i] > x[best] : x[i] < x[best]))                                           \
                    best = i;                                                                                          \
            out[r] = best;                                                                                             \
        }                                                                                                              \
    }
NUMBERS(REDUCE_ROWS)

static bool reduce_rows_bool(const char *op, void *to, const void *from, int64_t rows, int64_t n)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    const bool any = strcmp(op, "any") == 0;
    if (!any && strcmp(op, "all") != 0)
        return false;
    for (int64_t r = 0; r < rows; r++) {
        out[r] = !any;
        for (int64_t i = 0; i < n; i++)
            out[r] = any ? out[r] | in[r * n + i] : out[r] & in[r * n + i];
    }
    return true;
}

bool tci_op_reduce(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_attr *axes = tci_node_attr(node, "axes");
    const char *op = tci_node_attr(node, "op")->text, *order = tci_node_attr(node, "order")->text;
    const bool product = strcmp(op, "prod") == 0;
    const bool ordered = (product || strcmp(op, "sum") == 0) && tci_dtype_is_float(in->dtype);
    if (strcmp(order, ordered ? "lanes" : "free") != 0)
        return tci_node_fail(scope, node, "%s of %s has no order '%s'", op, tci_dtype_name(in->dtype), order);
    uint32_t reduced = 0;
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= in->rank || (i > 0 && axes->ints[i] <= axes->ints[i - 1]))
            return tci_node_fail(scope, node, "axes are not ascending dims of the operand");
        reduced |= 1u << axes->ints[i];
    }
    tci_tensor rows;
    int64_t n;
    if (!make_rows(scope, node, in, reduced, &rows, &n))
        return false;
    bool ok = tci_tensor_make(out, in->dtype, in->rank - (int)axes->count, rows.shape, node->loc, scope->diag);
    if (ok && product) {
        ok = tci_product_rows(&rows, n, out) ||
             tci_node_fail(scope, node, "no product of %s, or no memory", tci_dtype_name(in->dtype));
    } else if (ok) {
        static bool (*const reduce_rows[TCI_DTYPE_COUNT])(const char *, void *, const void *, int64_t, int64_t) = {
#define ENTRY(T, C, lowest, highest) [DT_##T] = reduce_rows_##T,
            NUMBERS(ENTRY)[TCI_BOOL] = reduce_rows_bool,
#undef ENTRY
        };
        ok = reduce_rows[in->dtype] != NULL &&
             reduce_rows[in->dtype](op, out->data, rows.data, tci_tensor_elements(out), n);
        if (!ok)
            tci_node_fail(scope, node, "no reduction '%s' of %s", op, tci_dtype_name(in->dtype));
    }
    tci_tensor_release(&rows);
    return ok;
}

/* Elements that are no terms become the identity of the operation: +0 of a sum, whose last step is + (+0). */
#define KEEP_TERMS(T, C, lowest, highest)                                                                              \
    static void keep_terms_##T(const char *op, void *values, const uint8_t *where, int64_t count)                      \
    {                                                                                                                  \
        C *x = values;                                                                                                 \
        const C none = strcmp(op, "max") == 0    ? (lowest)                                                            \
                       : strcmp(op, "min") == 0  ? (highest)                                                           \
                       : strcmp(op, "prod") == 0 ? (C)1                                                                \
                                                 : (C)0;                                                               \
        for (int64_t i = 0; i < count; i++)                                                                            \
            if (!where[i])                                                                                             \
                x[i] = none;                                                                                           \
    }                                                                                                                  \
    static void add_zero_##T(void *values, int64_t count)                                                              \
    {                                                                                                                  \
        C *x = values;                                                                                                 \
        for (int64_t i = 0; i < count; i++)                                                                            \
            x[i] = tc_add_##T(x[i], (C)0);                                                                             \
    }
NUMBERS(KEEP_TERMS)

static void keep_terms_bool(const char *op, void *values, const uint8_t *where, int64_t count)
{
    uint8_t *x = values;
    for (int64_t i = 0; i < count; i++)
        if (!where[i])
            x[i] = strcmp(op, "all") == 0;
}

bool tci_is_predicate(const tci_tensor *p, const tci_tensor *x)
{
    return p->dtype == TCI_BOOL && tci_tensor_same_shape(p, x);
}

bool tci_op_reduce_where(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    static void (*const keep_terms[TCI_DTYPE_COUNT])(const char *, void *, const uint8_t *, int64_t) = {
#define ENTRY(T, C, lowest, highest) [DT_##T] = keep_terms_##T,
        NUMBERS(ENTRY)[TCI_BOOL] = keep_terms_bool,
#undef ENTRY
    };
    static void (*const add_zero[TCI_DTYPE_COUNT])(void *, int64_t) = {
#define ENTRY(T, C, lowest, highest) [DT_##T] = add_zero_##T,
        NUMBERS(ENTRY)
#undef ENTRY
    };
    const char *op = tci_node_attr(node, "op")->text;
    if (!tci_is_predicate(&in[1], &in[0]))
        return tci_node_fail(scope, node, "the predicate is no bool of the operand's shape");
    tci_tensor where = {0}, kept = {0};
    bool ok = tci_tensor_dense(&where, &in[1], node->loc, scope->diag) &&
              tci_tensor_make(&kept, in[0].dtype, in[0].rank, in[0].shape, node->loc, scope->diag);
    if (ok) {
        tci_tensor_copy(&kept, &in[0]);
        keep_terms[kept.dtype](op, kept.data, (const uint8_t *)where.data, tci_tensor_elements(&kept));
        ok = tci_op_reduce(scope, node, &kept, out);
    }
    if (ok && strcmp(op, "sum") == 0)
        add_zero[out->dtype](out->data, tci_tensor_elements(out));
    tci_tensor_release(&where);
    tci_tensor_release(&kept);
    return ok;
}

bool tci_op_arg_reduce(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    const char *op = tci_node_attr(node, "op")->text;
    const bool max = strcmp(op, "max") == 0;
    if ((!max && strcmp(op, "min") != 0) || in->dtype == TCI_BOOL)
        return tci_node_fail(scope, node, "no '%s' of %s", op, tci_dtype_name(in->dtype));
    if (axis < 0 || axis >= in->rank || in->shape[axis] == 0)
        return tci_node_fail(scope, node, "no such axis, or an empty one: %lld", (long long)axis);
    tci_tensor rows;
    int64_t n;
    if (!make_rows(scope, node, in, 1u << axis, &rows, &n))
        return false;
    const bool ok = tci_tensor_make(out, TCI_I64, in->rank - 1, rows.shape, node->loc, scope->diag);
    if (ok) {
        static void (*const arg_rows[TCI_DTYPE_COUNT])(bool, int64_t *, const void *, int64_t, int64_t) = {
#define ENTRY(T, C, lowest, highest) [DT_##T] = arg_rows_##T,
            NUMBERS(ENTRY)
#undef ENTRY
        };
        arg_rows[in->dtype](max, (int64_t *)(void *)out->data, rows.data, tci_tensor_elements(out), n);
    }
    tci_tensor_release(&rows);
    return ok;
}

/* One window: `seq` for sums (from +0, `+ (+0)` at the end); positions outside of the operand are no terms. */
typedef struct window {
    int rank;
    const int64_t *size, *dilation;
    int64_t start[TCI_MAX_RANK]; /* position of its first element, may lie in the padding */
    const int64_t *shape, *stride;
} window;

#define WINDOW(T, C, lowest, highest)                                                                                  \
    static void window_##T(const window *w, const char *op, void *out, const void *in)                                 \
    {                                                                                                                  \
        const C *x = in;                                                                                               \
        const bool sum = strcmp(op, "sum") == 0, max = strcmp(op, "max") == 0;                                         \
        C value = sum ? (C)0 : max ? (lowest) : (highest);                                                             \
        int64_t at[TCI_MAX_RANK] = {0}, count = 1;                                                                     \
        bool first = true;                                                                                             \
        for (int d = 0; d < w->rank; d++)                                                                              \
            count *= w->size[d];                                                                                       \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            int64_t offset = 0;                                                                                        \
            bool inside = true;                                                                                        \
            for (int d = 0; d < w->rank; d++) {                                                                        \
                const int64_t p = w->start[d] + at[d] * w->dilation[d];                                                \
                inside &= p >= 0 && p < w->shape[d];                                                                   \
                offset += p * w->stride[d];                                                                            \
            }                                                                                                          \
            if (inside) {                                                                                              \
                const C term = x[offset];                                                                              \
                value = sum     ? tc_add_##T(value, term)                                                              \
                        : first ? term                                                                                 \
                        : max   ? tc_maximum_##T(value, term)                                                          \
                                : tc_minimum_##T(value, term);                                                           \
                first = false;                                                                                         \
            }                                                                                                          \
            for (int d = w->rank - 1; d >= 0 && ++at[d] == w->size[d]; d--)                                            \
                at[d] = 0;                                                                                             \
        }                                                                                                              \
        *(C *)out = sum ? tc_add_##T(value, (C)0) : value;                                                             \
    }
NUMBERS(WINDOW)

static void (*const window_value[TCI_DTYPE_COUNT])(const window *, const char *, void *, const void *) = {
#define ENTRY(T, C, lowest, highest) [DT_##T] = window_##T,
    NUMBERS(ENTRY)
#undef ENTRY
};

bool tci_op_window_reduce(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const char *op = tci_node_attr(node, "op")->text;
    const tci_attr *size = tci_node_attr(node, "size"), *stride = tci_node_attr(node, "stride");
    const tci_attr *low = tci_node_attr(node, "low"), *high = tci_node_attr(node, "high");
    const tci_attr *dilation = tci_node_attr(node, "dilation");
    const size_t windowed = size->count;
    int64_t shape[TCI_MAX_RANK];
    if ((strcmp(op, "sum") != 0 && strcmp(op, "max") != 0 && strcmp(op, "min") != 0) || in->dtype == TCI_BOOL)
        return tci_node_fail(scope, node, "no '%s' of %s", op, tci_dtype_name(in->dtype));
    if (windowed > (size_t)in->rank || stride->count != windowed || low->count != windowed || high->count != windowed ||
        dilation->count != windowed)
        return tci_node_fail(scope, node, "attributes of different lengths");
    const int kept = in->rank - (int)windowed;
    memcpy(shape, in->shape, sizeof shape);
    for (size_t d = 0; d < windowed; d++) {
        if (!tci_window_size(shape[kept + (int)d], size->ints[d], stride->ints[d], low->ints[d], high->ints[d],
                             dilation->ints[d], &shape[kept + (int)d]))
            return tci_node_fail(scope, node, "the window does not fit dim %zu", (size_t)kept + d);
    }
    if (!tci_tensor_make(out, in->dtype, in->rank, shape, node->loc, scope->diag))
        return false;
    const size_t bytes = tci_dtype_size(in->dtype);
    window w = {.rank = (int)windowed,
                .size = size->ints,
                .dilation = dilation->ints,
                .shape = in->shape + kept,
                .stride = in->stride + kept};
    int64_t at[TCI_MAX_RANK] = {0};
    const int64_t count = tci_tensor_elements(out);
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = 0;
        for (int d = 0; d < kept; d++)
            offset += at[d] * in->stride[d];
        for (int d = kept; d < in->rank; d++)
            w.start[d - kept] = at[d] * stride->ints[d - kept] - low->ints[d - kept];
        window_value[in->dtype](&w, op, out->data + (size_t)i * bytes, in->data + offset * (int64_t)bytes);
        for (int d = in->rank - 1; d >= 0 && ++at[d] == shape[d]; d--)
            at[d] = 0;
    }
    return true;
}
