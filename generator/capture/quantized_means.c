/* SPDX-License-Identifier: Apache-2.0
 *
 * Means of quantized tensors: of windows and along axes.
 */
#include "compose.h"
#include "quantization.h"
#include "quantized_scales.h"
#include "windows.h"

/* -- average pooling ----------------------------------------------------------------------------------------------- */

static tc_tensor window_sums(tc_graph *g, tc_tensor x, const tc_windows *w)
{
    return tc_prim_window_reduce(g, x, "sum", w->dims, w->size, w->stride, w->low, w->high, w->dilation);
}

static tc_tensor average_pool(tc_graph *g, const tc_quantized_pool_args *a)
{
    const tc_site at = a->at;
    const tc_dtype dtype = a->x->type.dtype;
    tc_windows w = {.dims = 2};
    if (dtype != TC_I8 && dtype != TC_U8 && dtype != TC_I16) {
        tc_fail(g, "i8, u8 or i16", "no integers that are computed with here: %s", tc_type_text(g, &a->x->type));
        return tc_poison();
    }
    if (!tc_windows_check_rank(g, &a->x->type, 2) ||
        !tc_windows_positive(g, "kernel", 2, tc_windows_each(g, 2, a->kernel), tc_windows_ones, w.size))
        return tc_poison();
    const tc_window_options options = {a->stride, a->padding, a->low, a->high, NULL};
    if (!tc_windows_read(g, &options, true, &w))
        return tc_poison();
    tc_tensor sums = window_sums(g, tc_prim_cast(g, a->x, TC_I32), &w), counts;
    tc_tensor one = tc_constant_of(g, TC_I32, TC_OPERAND(1));
    if (tc_is_poison(sums))
        return sums;
    if (w.low[0] || w.low[1] || w.high[0] || w.high[1])
        counts = window_sums(g, tc_prim_broadcast(g, one, 2, a->x->type.shape + 2, NULL), &w);
    else
        counts = tc_constant_of(g, TC_I32, TC_OPERAND(w.size[0] * w.size[1]));
    counts = tc_broadcast_to(g, counts, 4, sums->type.shape);
    tc_tensor half = DIV(counts, 2), positive = GT(sums, 0), more = ADD(sums, half), less = SUB(sums, half);
    return tc_prim_cast(g, DIV(WHERE(positive, more, less), counts), dtype);
}

tc_tensor tc_quantized_avg_pool2d_at(const tc_quantized_pool_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_avg_pool2d", "quantized_avg_pool2d", "x", 1, &args->x);
    return g ? tc_op_leave(g, tc_means_as(g, average_pool(g, args), args->x)) : tc_poison();
}

/* -- mean ---------------------------------------------------------------------------------------------------------- */

static tc_tensor quantized_mean(tc_graph *g, const tc_quantized_mean_args *args)
{
    const tc_site at = args->at;
    const tc_type *type = &args->x.x->type;
    int64_t count = 1, size;
    int shift, places = 0;
    if (!tc_affine_read(g, ".x", &args->x, true) || !tc_affine_check_result(g, type->dtype, args->scale, args->zero))
        return tc_poison();
    if (args->axis_count < 1 || args->axis_count > type->rank) {
        tc_fail(g, NULL, ".axis_count is %d for a tensor of rank %d", args->axis_count, type->rank);
        return tc_poison();
    }
    for (int i = 0; i < args->axis_count; ++i) {
        const int axis = tc_axis(g, args->axes[i], type->rank);
        if (axis < 0)
            return tc_poison();
        if (!tc_expr_value(type->shape[axis], &size) || size < 1 || (count *= size) > INT32_MAX) {
            tc_fail(g, NULL, "axis %d must have a constant size, not 0: %s", axis, tc_type_text(g, type));
            return tc_poison();
        }
    }
    tc_tensor sums = tc_sum_at(at, tc_affine_centered(g, at, &args->x), args->keepdims, args->axis_count, args->axes);
    if (args->floats) {
        const double scale = (double)args->x.scale / ((double)args->scale * (double)count);
        return tc_affine_by_number(g, at, sums, scale, args->zero, type->dtype);
    }
    const int64_t multiplier = tc_quantized_multiplier((double)args->x.scale / (double)args->scale, &shift);
    while (places < 31 + shift && (count >> places) > 1)
        ++places;
    tc_tensor mean = tc_affine_multiplied(g, at, sums, (int32_t)((multiplier << places) / count), shift - places);
    return tc_affine_finished(at, mean, args->zero, type->dtype);
}

tc_tensor tc_quantized_mean_at(const tc_quantized_mean_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_quantized_mean", "quantized_mean", "x", 1, &args->x.x);
    return g ? tc_op_leave(g, tc_written_as(g, quantized_mean(g, args), args->scale, args->zero)) : tc_poison();
}
