/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of windows, as calls give them.
 */
#include "windows.h"

#include <string.h>

#define TENSOR(x) tc_operand_tensor_(x)

const int tc_windows_ones[TC_MAX_WINDOW] = {1, 1, 1};

const char *tc_windows_text(tc_graph *g, int count, const int *values)
{
    const char *out = "{";
    for (int i = 0; i < count; ++i)
        out = tc_arena_format(&g->arena, "%s%s%d", out, i ? ", " : "", values[i]);
    return tc_arena_format(&g->arena, "%s}", out);
}

const int *tc_windows_each(tc_graph *g, int dims, const int *values)
{
    if (!values || dims < 2 || values[1] != TC_EACH_)
        return values;
    int *each = tc_arena_alloc(&g->arena, (size_t)dims * sizeof *each);
    for (int i = 0; i < dims; ++i)
        each[i] = values[0];
    return each;
}

bool tc_windows_positive(tc_graph *g, const char *name, int dims, const int *values, const int *defaults, int *out)
{
    values = tc_windows_each(g, dims, values);
    bool given = false, valid = true;
    for (int i = 0; i < dims; ++i)
        given |= values[i] != 0;
    for (int i = 0; i < dims; ++i) {
        out[i] = given ? values[i] : defaults[i];
        valid &= out[i] >= 1;
    }
    if (!valid)
        tc_fail(g, dims == 1 ? "a positive number" : "a positive number for each of the window's axes: {2, 2}",
                "%s is %s", name, tc_windows_text(g, dims, values));
    return valid;
}

bool tc_windows_not_negative(tc_graph *g, const char *name, int dims, const int *values)
{
    values = tc_windows_each(g, dims, values);
    for (int i = 0; i < dims; ++i) {
        if (values[i] < 0) {
            tc_fail(g, NULL, "%s is %s", name, tc_windows_text(g, dims, values));
            return false;
        }
    }
    return true;
}

static bool read_padding(tc_graph *g, const tc_window_options *options, tc_windows *out)
{
    static const int none[TC_MAX_WINDOW];
    const int *low = options->low ? tc_windows_each(g, out->dims, options->low) : none;
    const int *high = options->high ? tc_windows_each(g, out->dims, options->high) : none;
    const int *padding = tc_windows_each(g, out->dims, options->padding);
    size_t bytes = (size_t)out->dims * sizeof *low;
    bool sided = memcmp(low, none, bytes) || memcmp(high, none, bytes);
    if (sided && memcmp(padding, none, bytes)) {
        tc_fail(g, ".padding is both sides, .low and .high one each", "padding is %s, low %s and high %s",
                tc_windows_text(g, out->dims, padding), tc_windows_text(g, out->dims, low),
                tc_windows_text(g, out->dims, high));
        return false;
    }
    memcpy(out->low, sided ? low : padding, bytes);
    memcpy(out->high, sided ? high : padding, bytes);
    return tc_windows_not_negative(g, sided ? "low" : "padding", out->dims, out->low) &&
           tc_windows_not_negative(g, "high", out->dims, out->high);
}

bool tc_windows_read(tc_graph *g, const tc_window_options *options, bool stride_is_size, tc_windows *out)
{
    const int *defaults = stride_is_size ? out->size : tc_windows_ones;
    memcpy(out->dilation, tc_windows_ones, sizeof out->dilation);
    return tc_windows_positive(g, "stride", out->dims, options->stride, defaults, out->stride) &&
           read_padding(g, options, out) &&
           (!options->dilation ||
            tc_windows_positive(g, "dilation", out->dims, options->dilation, tc_windows_ones, out->dilation));
}

bool tc_windows_padding(tc_graph *g, int64_t elements, int *out)
{
    *out = elements <= INT32_MAX ? (int)elements : 0;
    if (elements > INT32_MAX)
        tc_fail(g, NULL, "%lld elements of padding are more than %d", (long long)elements, INT32_MAX);
    return elements <= INT32_MAX;
}

int64_t tc_windows_extent(const tc_windows *w, int i)
{
    return (int64_t)w->dilation[i] * (w->size[i] - 1) + 1;
}

bool tc_windows_check_same(tc_graph *g, const tc_windows *w)
{
    for (int i = 0; i < w->dims; ++i) {
        if (w->low[i] || w->high[i]) {
            tc_fail(g, ".same finds the padding by itself", "same beside padding: low %s and high %s",
                    tc_windows_text(g, w->dims, w->low), tc_windows_text(g, w->dims, w->high));
            return false;
        }
    }
    return true;
}

bool tc_windows_pad_same(tc_graph *g, const tc_windows *w, int i, const tc_expr *size, tc_same same,
                         const tc_expr **low, const tc_expr **high)
{
    int64_t stride = w->stride[i], extent = tc_windows_extent(w, i), constant;
    const tc_expr *steps = tc_expr_floordiv(tc_expr_add_int(size, stride - 1), tc_expr_const(&g->dims, stride));
    const tc_expr *covered = tc_expr_add_int(tc_expr_mul_int(tc_expr_add_int(steps, -1), stride), extent);
    const tc_expr *total = tc_expr_sub(covered, size);
    if (tc_expr_value(total, &constant) && constant < 0)
        total = g->dims.zero;
    if (!tc_expr_is_const(total) && extent < stride) {
        tc_fail(g, "a constant size, or a window no shorter than the stride",
                "same for a dynamic size %s, windows of %lld every %lld", tc_expr_text(size), (long long)extent,
                (long long)stride);
        return false;
    }
    *low = tc_expr_floordiv(tc_expr_add_int(total, same == TC_SAME_LOWER), tc_expr_const(&g->dims, 2));
    *high = tc_expr_sub(total, *low);
    return true;
}

const tc_expr *tc_windows_count(tc_graph *g, const tc_windows *w, int i, const tc_expr *size)
{
    int64_t padding = (int64_t)w->low[i] + w->high[i], extent = tc_windows_extent(w, i);
    const tc_expr *room = tc_expr_add_int(size, padding - extent);
    if (tc_at_least(g, room, g->dims.zero))
        return tc_expr_add_int(tc_expr_floordiv(room, tc_expr_const(&g->dims, w->stride[i])), 1);
    tc_fail(g, "more padding, or a smaller window", "a window of %lld does not fit a size of %s, padded by %lld",
            (long long)extent, tc_expr_text(size), (long long)padding);
    return NULL;
}

bool tc_windows_check_rank(tc_graph *g, const tc_type *x, int dims)
{
    static const char *const hints[] = {"[n, c, l]", "[n, c, h, w]", "[n, c, d, h, w]"};
    if (x->rank == dims + 2)
        return true;
    tc_fail(g, hints[dims - 1], "needs rank %d, not %s", dims + 2, tc_type_text(g, x));
    return false;
}

tc_tensor tc_add_channel_bias(tc_graph *g, tc_site at, tc_tensor y, tc_tensor bias)
{
    if (!bias || tc_is_poison(y))
        return y;
    if (bias->type.rank != 1 || !tc_same_dim(g, bias->type.shape[0], y->type.shape[1])) {
        tc_fail(g, "one number an output", "the bias is %s for %s outputs", tc_type_text(g, &bias->type),
                tc_expr_text(y->type.shape[1]));
        return tc_poison();
    }
    tc_tensor along = tc_prim_broadcast(g, bias, y->type.rank, y->type.shape, (const int[]){1});
    return tc_add_at(at, TENSOR(y), TENSOR(along));
}

tc_tensor tc_take_every(tc_graph *g, tc_site at, tc_tensor x, int axis, int count, const tc_expr *first, int step)
{
    if (step < 0) { /* from the other end, and turned */
        tc_tensor forward = tc_take_every(g, at, x, axis, count, tc_expr_add_int(first, (int64_t)(count - 1) * step),
                                          -step);
        return count == 1 || tc_is_poison(forward) ? forward : tc_prim_reverse(g, forward, 1, &axis);
    }
    const tc_expr *stop = tc_expr_add_int(first, step ? (int64_t)(count - 1) * step + 1 : 1);
    tc_tensor taken = tc_slice_at(at, x, axis, tc_dim_of(first), tc_dim_of(stop), step ? step : 1);
    if (step || tc_is_poison(taken))
        return taken;
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i < taken->type.rank; ++i)
        shape[i] = i == axis ? tc_expr_const(&g->dims, count) : taken->type.shape[i];
    return tc_broadcast_to(g, taken, taken->type.rank, shape);
}

tc_tensor tc_index_windows(tc_graph *g, tc_site at, int size, int dilation, const tc_expr *count, int stride)
{
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {tc_expr_const(&g->dims, size), count}};
    tc_tensor tap = tc_mul_at(at, TENSOR(tc_prim_iota(g, 0, &plane)), tc_operand_int_(dilation));
    tc_tensor window = tc_mul_at(at, TENSOR(tc_prim_iota(g, 1, &plane)), tc_operand_int_(stride));
    return tc_add_at(at, TENSOR(tap), TENSOR(window));
}
