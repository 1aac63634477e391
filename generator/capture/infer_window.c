/* SPDX-License-Identifier: Apache-2.0
 *
 * The type rules of reductions, windows and contractions.
 */
#include <string.h>

#include "internal.h"

static bool check_not_empty(tc_graph *g, const tc_type *x, int axis)
{
    if (tc_at_least(g, x->shape[axis], g->dims.one))
        return true;
    tc_fail(g, NULL, "axis %d of %s is empty and has no largest or smallest element", axis, tc_type_text(g, x));
    return false;
}

bool tc_infer_reduce(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out)
{
    const char *op = attrs[0].text;
    bool logical = !strcmp(op, "any") || !strcmp(op, "all"), extreme = !strcmp(op, "max") || !strcmp(op, "min");
    if (logical != (x->dtype == TC_BOOL)) {
        tc_fail(g, logical ? "compare first: tc_ne(x, 0)" : "convert with tc_cast", "needs %s, not %s",
                logical ? "bool" : "numbers", tc_type_text(g, x));
        return false;
    }
    out->dtype = x->dtype;
    out->rank = 0;
    for (int i = 0, next = 0; i < x->rank; ++i) {
        if (next < attrs[1].count && attrs[1].ints[next] == i) {
            ++next;
            if (extreme && !check_not_empty(g, x, i))
                return false;
        } else {
            out->shape[out->rank++] = x->shape[i];
        }
    }
    return true;
}

bool tc_infer_arg_reduce(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out)
{
    int axis = (int)attrs[1].integer;
    if (x->dtype == TC_BOOL) {
        tc_fail(g, "convert with tc_cast", "needs numbers, not %s", tc_type_text(g, x));
        return false;
    }
    if (!check_not_empty(g, x, axis))
        return false;
    out->dtype = TC_I64;
    out->rank = 0;
    for (int i = 0; i < x->rank; ++i)
        if (i != axis)
            out->shape[out->rank++] = x->shape[i];
    return true;
}

/* The number of positions of a window: floor((size + low + high - extent) / stride) + 1, its extent being
 * dilation*(window - 1) + 1. NULL (reported) where the window does not fit once. */
static const tc_expr *positions(tc_graph *g, const tc_type *x, int axis, int64_t padding, const tc_expr *extent,
                                int64_t stride)
{
    const tc_expr *room = tc_expr_add_int(x->shape[axis], padding);
    if (!tc_at_least(g, room, extent)) {
        tc_fail(g, "more padding, or a smaller window",
                "a window of %s does not fit along axis %d of %s, padded by %lld", tc_expr_text(extent), axis,
                tc_type_text(g, x), (long long)padding);
        return NULL;
    }
    const tc_expr *steps = tc_expr_floordiv(tc_expr_sub(room, extent), tc_expr_const(&g->dims, stride));
    return tc_expr_add_int(steps, 1);
}

bool tc_infer_window_reduce(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out)
{
    const tc_attr *size = &attrs[1], *stride = &attrs[2], *low = &attrs[3], *high = &attrs[4], *dilation = &attrs[5];
    if (x->dtype == TC_BOOL) {
        tc_fail(g, "convert with tc_cast", "needs numbers, not %s", tc_type_text(g, x));
        return false;
    }
    *out = *x;
    for (int i = 0; i < size->count; ++i) {
        int axis = x->rank - size->count + i;
        const tc_expr *extent = tc_expr_const(&g->dims, dilation->ints[i] * (size->ints[i] - 1) + 1);
        out->shape[axis] = positions(g, x, axis, low->ints[i] + high->ints[i], extent, stride->ints[i]);
        if (!out->shape[axis])
            return false;
    }
    return true;
}

static bool listed(const tc_attr *ints, int axis)
{
    for (int i = 0; i < ints->count; ++i)
        if (ints->ints[i] == axis)
            return true;
    return false;
}

/* Products are of one dtype, of numbers. */
static bool one_number(tc_graph *g, const tc_type *a, const tc_type *b, const char *types)
{
    if (a->dtype == b->dtype && a->dtype != TC_BOOL)
        return true;
    tc_fail(g, "convert with tc_cast", "needs numbers of one dtype: %s", types);
    return false;
}

bool tc_infer_dot(tc_graph *g, const tc_type *a, const tc_type *b, const tc_attr *attrs, tc_type *out)
{
    const tc_attr *a_batch = &attrs[0], *b_batch = &attrs[1], *a_sum = &attrs[2], *b_sum = &attrs[3];
    if (!one_number(g, a, b, tc_arena_format(&g->arena, "%s x %s", tc_type_text(g, a), tc_type_text(g, b))))
        return false;
    for (int i = 0; i < a_sum->count; ++i) {
        if (!tc_same_dim(g, a->shape[a_sum->ints[i]], b->shape[b_sum->ints[i]])) {
            tc_fail(g, "the summed dims must be equal: does one operand need a tc_transpose?",
                    "inner dimensions differ: %s x %s", tc_type_text(g, a), tc_type_text(g, b));
            return false;
        }
    }
    out->dtype = a->dtype;
    out->rank = 0;
    if (a->rank + b->rank - b_batch->count - 2 * a_sum->count > TC_MAX_RANK) {
        tc_fail(g, NULL, "the result of %s x %s has more than %d dims", tc_type_text(g, a), tc_type_text(g, b),
                TC_MAX_RANK);
        return false;
    }
    for (int i = 0; i < a_batch->count; ++i) {
        if (!tc_same_dim(g, a->shape[a_batch->ints[i]], b->shape[b_batch->ints[i]])) {
            tc_fail(g, NULL, "batch dimensions differ: %s x %s", tc_type_text(g, a), tc_type_text(g, b));
            return false;
        }
        out->shape[out->rank++] = a->shape[a_batch->ints[i]];
    }
    for (int i = 0; i < a->rank; ++i)
        if (!listed(a_batch, i) && !listed(a_sum, i))
            out->shape[out->rank++] = a->shape[i];
    for (int i = 0; i < b->rank; ++i)
        if (!listed(b_batch, i) && !listed(b_sum, i))
            out->shape[out->rank++] = b->shape[i];
    return true;
}

bool tc_infer_convolution(tc_graph *g, const tc_type *x, const tc_type *w, const tc_attr *attrs, tc_type *out)
{
    const tc_attr *stride = &attrs[0], *low = &attrs[1], *high = &attrs[2], *dilation = &attrs[3];
    int64_t groups = attrs[4].integer, outputs, channels;
    int spatial = stride->count;
    const char *types = tc_arena_format(&g->arena, "%s * %s", tc_type_text(g, x), tc_type_text(g, w));
    if (!one_number(g, x, w, types))
        return false;
    if (x->rank != spatial + 2 || w->rank != spatial + 2) {
        tc_fail(g, "input [n, c, h, w], weight [o, c/groups, kh, kw]", "needs two tensors of rank %d: %s", spatial + 2,
                types);
        return false;
    }
    if (!tc_expr_value(w->shape[0], &outputs) || !tc_expr_value(x->shape[1], &channels)) {
        tc_fail(g, NULL, "the numbers of channels must be constants: %s", types);
        return false;
    }
    if (outputs % groups || channels % groups) {
        tc_fail(g, "both must be multiples of groups", "%lld input and %lld output channels in %lld groups",
                (long long)channels, (long long)outputs, (long long)groups);
        return false;
    }
    if (!tc_expr_is(w->shape[1], channels / groups)) {
        tc_fail(g,
                tc_arena_format(&g->arena, "the weight's dim 1 is channels / groups: %lld here",
                                (long long)(channels / groups)),
                "input channels differ: %s with groups = %lld", types, (long long)groups);
        return false;
    }
    *out = *x;
    out->shape[1] = w->shape[0];
    for (int i = 0; i < spatial; ++i) {
        const tc_expr *window = tc_expr_mul_int(tc_expr_add_int(w->shape[i + 2], -1), dilation->ints[i]);
        out->shape[i + 2] = positions(g, x, i + 2, low->ints[i] + high->ints[i], tc_expr_add_int(window, 1),
                                      stride->ints[i]);
        if (!out->shape[i + 2])
            return false;
    }
    return true;
}
