/* SPDX-License-Identifier: Apache-2.0
 *
 * Padding by elements of the tensor.
 */
#include "windows.h"

typedef enum border { REFLECT, REPLICATE, CIRCULAR } border;

static tc_tensor pad_axis(tc_graph *g, tc_site at, tc_tensor x, int axis, border kind, int low, int high)
{
    const tc_expr *size = x->type.shape[axis];
    int64_t longest = low > high ? low : high, needed = kind == REFLECT ? longest + 1 : kind == CIRCULAR ? longest : 1;
    if (!tc_at_least(g, size, tc_expr_const(&g->dims, needed))) {
        tc_fail(g, kind == REFLECT ? "less than the axis's size" : "no more than the axis's size",
                "padding of %d and %d along axis %d of %s", low, high, axis, tc_type_text(g, &x->type));
        return tc_poison();
    }
    const tc_expr *last = tc_expr_add_int(size, -1);
    const tc_expr *before = kind == REFLECT     ? tc_expr_const(&g->dims, low)
                            : kind == REPLICATE ? g->dims.zero
                                                : tc_expr_add_int(size, -(int64_t)low);
    const tc_expr *behind = kind == REFLECT ? tc_expr_add_int(last, -1) : kind == REPLICATE ? last : g->dims.zero;
    int step = kind == REFLECT ? -1 : kind == REPLICATE ? 0 : 1, count = 0;
    tc_tensor parts[3];
    if (low)
        parts[count++] = tc_take_every(g, at, x, axis, low, before, step);
    parts[count++] = x;
    if (high)
        parts[count++] = tc_take_every(g, at, x, axis, high, behind, step);
    return tc_concat_at(at, axis, count, parts);
}

static tc_tensor pad(tc_graph *g, const tc_pad_args *args, border kind)
{
    tc_tensor x = args->x;
    if (args->value != 0) {
        tc_fail(g, NULL, ".value is an option of tc_pad");
        return tc_poison();
    }
    for (int i = 0; i < TC_MAX_RANK && !tc_is_poison(x); ++i) {
        int low = args->low[i], high = args->high[i];
        if (low < 0 || high < 0) {
            tc_fail(g, "tc_slice cuts elements off", "negative padding of axis %d: %d and %d", i, low, high);
            return tc_poison();
        }
        if (i >= x->type.rank && (low || high)) {
            tc_fail(g, NULL, "padding of axis %d of %s", i, tc_type_text(g, &x->type));
            return tc_poison();
        }
        if (low || high)
            x = pad_axis(g, args->at, x, i, kind, low, high);
    }
    return x;
}

static tc_tensor padded(const tc_pad_args *args, const char *name, border kind)
{
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "x", 1, &args->x);
    return g ? tc_op_leave(g, pad(g, args, kind)) : tc_poison();
}

tc_tensor tc_pad_reflect_at(const tc_pad_args *args)
{
    return padded(args, "tc_pad_reflect", REFLECT);
}

tc_tensor tc_pad_replicate_at(const tc_pad_args *args)
{
    return padded(args, "tc_pad_replicate", REPLICATE);
}

tc_tensor tc_pad_circular_at(const tc_pad_args *args)
{
    return padded(args, "tc_pad_circular", CIRCULAR);
}

/* -- the middle ---------------------------------------------------------------------------------------------------- */

static tc_tensor center_crop_pad(tc_graph *g, tc_site at, tc_tensor x, int axis, const tc_expr *size)
{
    const tc_expr *have = x->type.shape[axis], *two = tc_expr_const(&g->dims, 2), *zero = g->dims.zero;
    if (!tc_at_least(g, size, zero)) {
        tc_fail(g, NULL, "a size of %s", tc_expr_text(size));
        return tc_poison();
    }
    const tc_expr *less = tc_expr_max(tc_expr_sub(have, size), zero),
                  *more = tc_expr_max(tc_expr_sub(size, have), zero);
    const tc_expr *start = tc_expr_floordiv(less, two), *low = tc_expr_floordiv(more, two),
                  *kept = tc_expr_sub(have, less);
    x = tc_slice_at(at, x, axis, tc_dim_of(start), tc_dim_of(tc_expr_add(start, kept)), 1);
    const tc_dim before = tc_dim_of(low), behind = tc_dim_of(tc_expr_sub(more, low));
    return tc_pad_axis_at(at, x, axis, before, behind, tc_operand_int_(0));
}

tc_tensor tc_center_crop_pad_at(tc_site at, tc_tensor x, int axis, tc_dim size)
{
    tc_graph *g = tc_op_enter_axis(at, "tc_center_crop_pad", "center_crop_pad", x, &axis);
    return g ? tc_op_leave(g, center_crop_pad(g, at, x, axis, tc_dim_expr(g, size))) : tc_poison();
}
