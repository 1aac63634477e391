/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of windows, as calls give them.
 */
#include "windows.h"

#include <math.h>
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

bool tc_windows_positive(tc_graph *g, const char *name, int dims, const int *values, const int *defaults, int *out)
{
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
    const int *low = options->low ? options->low : none, *high = options->high ? options->high : none;
    size_t bytes = (size_t)out->dims * sizeof *low;
    bool sided = memcmp(low, none, bytes) || memcmp(high, none, bytes);
    if (sided && memcmp(options->padding, none, bytes)) {
        tc_fail(g, ".padding is both sides, .low and .high one each", "padding is %s, low %s and high %s",
                tc_windows_text(g, out->dims, options->padding), tc_windows_text(g, out->dims, low),
                tc_windows_text(g, out->dims, high));
        return false;
    }
    memcpy(out->low, sided ? low : options->padding, bytes);
    memcpy(out->high, sided ? high : options->padding, bytes);
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

int tc_windows_extent(const tc_windows *w, int i)
{
    return w->dilation[i] * (w->size[i] - 1) + 1;
}

tc_operand tc_windows_smallest(tc_dtype dtype)
{
    const tc_dtype_info *about = tc_dtype_about(dtype);
    if (about->kind == TC_KIND_FLOAT)
        return tc_operand_float_(-INFINITY);
    return tc_operand_int_(about->kind == TC_KIND_SIGNED ? INT64_MIN >> (63 - about->digits) : 0);
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
        tc_tensor forward = tc_take_every(g, at, x, axis, count, tc_expr_add_int(first, (int64_t)(count - 1) * step), -step);
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
