/* SPDX-License-Identifier: Apache-2.0
 *
 * Lookups, joining, padding, and tensors made from nothing.
 */
#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)

/* -- lookups ----------------------------------------------------------------------------------------------------------- */

tc_tensor tc_embedding_at(tc_site at, tc_tensor index, tc_tensor table)
{
    tc_graph *g = tc_op_enter(at, "tc_embedding", "embedding", "index table", 2, (tc_tensor[]){index, table});
    if (!g)
        return tc_poison();
    if (table->type.rank < 1) {
        tc_fail(g, NULL, "the table has rank 0");
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_prim_gather(g, table, index, 0));
}

tc_tensor tc_gather_at(tc_site at, tc_tensor x, tc_tensor index, int axis)
{
    tc_graph *g = tc_op_enter(at, "tc_gather", NULL, "x index", 2, (tc_tensor[]){x, index});
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    return tc_op_leave(g, axis < 0 ? tc_poison() : tc_prim_gather(g, x, index, axis));
}

/* -- joining ----------------------------------------------------------------------------------------------------------- */

tc_tensor tc_concat_at(tc_site at, int axis, int count, const tc_tensor *tensors)
{
    tc_graph *g = tc_current_graph();
    if (count < 1) {
        if (tc_op_enter_graph(g, at, "tc_concat", NULL)) {
            tc_fail(g, NULL, "no operands");
            tc_op_leave(g, NULL);
        }
        return tc_poison();
    }
    for (int i = 0; i < count; ++i) { /* one by one: the list is as long as the user likes */
        if (!tc_op_enter(at, "tc_concat", NULL, "x", 1, &tensors[i]))
            return tc_poison();
        tc_op_leave(g, NULL);
    }
    tc_op_enter_graph(g, at, "tc_concat", NULL);
    axis = tc_axis(g, axis, tensors[0]->type.rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, count == 1 ? tensors[0] : tc_prim_concat(g, axis, count, tensors));
}

tc_tensor tc_update_slice_at(tc_site at, tc_tensor x, tc_tensor y, int count, const tc_dim *start)
{
    tc_graph *g = tc_op_enter(at, "tc_update_slice", NULL, "x y", 2, (tc_tensor[]){x, y});
    if (!g)
        return tc_poison();
    if (count != x->type.rank) {
        tc_fail(g, "one start an axis", "%d start%s for %s", count, count == 1 ? "" : "s", tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    const tc_expr *starts[TC_MAX_RANK];
    for (int i = 0; i < count; ++i)
        starts[i] = tc_dim_expr(g, start[i]);
    return tc_op_leave(g, tc_prim_update_slice(g, x, y, starts));
}

/* -- padding ----------------------------------------------------------------------------------------------------------- */

tc_tensor tc_pad_at(const tc_pad_args *args)
{
    tc_tensor x = args->x;
    tc_graph *g = tc_op_enter(args->at, "tc_pad", "pad", "x", 1, &x);
    if (!g)
        return tc_poison();
    const tc_expr *low[TC_MAX_RANK], *high[TC_MAX_RANK];
    for (int i = 0; i < TC_MAX_RANK; ++i) {
        low[i] = tc_expr_const(&g->dims, args->low[i]);
        high[i] = tc_expr_const(&g->dims, args->high[i]);
        if (i >= x->type.rank && (args->low[i] || args->high[i])) {
            tc_fail(g, NULL, "padding of axis %d of %s", i, tc_type_text(g, &x->type));
            return tc_op_leave(g, tc_poison());
        }
    }
    tc_tensor value = tc_constant_of(g, x->type.dtype, tc_operand_float_(args->value));
    return tc_op_leave(g, tc_is_poison(value) ? value : tc_prim_pad(g, x, value, low, high));
}

tc_tensor tc_pad_axis_at(tc_site at, tc_tensor x, int axis, tc_dim low, tc_dim high, tc_operand value)
{
    tc_graph *g = tc_op_enter(at, "tc_pad_axis", "pad", "x", 1, &x);
    if (!g)
        return tc_poison();
    axis = tc_axis(g, axis, x->type.rank);
    if (axis < 0)
        return tc_op_leave(g, tc_poison());
    const tc_expr *lows[TC_MAX_RANK], *highs[TC_MAX_RANK];
    for (int i = 0; i < x->type.rank; ++i) {
        lows[i] = i == axis ? tc_dim_expr(g, low) : g->dims.zero;
        highs[i] = i == axis ? tc_dim_expr(g, high) : g->dims.zero;
    }
    if (value.kind == TC_OPERAND_TENSOR) {
        tc_fail(g, NULL, "the value is a C number, not a tensor");
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor constant = tc_constant_of(g, x->type.dtype, value);
    return tc_op_leave(g, tc_is_poison(constant) ? constant : tc_prim_pad(g, x, constant, lows, highs));
}

/* -- from nothing ------------------------------------------------------------------------------------------------------ */

/* A rank-0 number of the dtype: the value of a size. */
static tc_tensor size_value(tc_graph *g, tc_dtype dtype, const tc_expr *value)
{
    int64_t constant;
    if (tc_expr_value(value, &constant))
        return tc_constant_of(g, dtype, tc_operand_int_(constant));
    tc_tensor out = tc_prim_dim_value(g, dtype == TC_I32 ? TC_I32 : TC_I64, value);
    return dtype == TC_I32 || dtype == TC_I64 ? out : tc_prim_cast(g, out, dtype);
}

static bool check_number(tc_graph *g, tc_dtype dtype)
{
    if (tc_dtype_valid(dtype) && dtype != TC_BOOL)
        return true;
    tc_fail(g, tc_dtype_list(g), "the dtype is no number's");
    return false;
}

tc_tensor tc_dim_value_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim dim)
{
    if (!tc_op_enter_graph(g, at, "tc_dim_value", NULL))
        return tc_poison();
    return tc_op_leave(g, check_number(g, dtype) ? size_value(g, dtype, tc_dim_expr(g, dim)) : tc_poison());
}

static tc_tensor arange(tc_graph *g, tc_site at, tc_dtype dtype, const tc_expr *start, const tc_expr *stop, int step)
{
    if (step < 1) {
        tc_fail(g, NULL, "step is %d", step);
        return tc_poison();
    }
    if (!tc_at_least(g, stop, start)) {
        tc_fail(g, NULL, "the stop %s lies before the start %s", tc_expr_text(stop), tc_expr_text(start));
        return tc_poison();
    }
    const tc_expr *length = tc_expr_add_int(tc_expr_sub(stop, start), step - 1);
    length = tc_expr_floordiv(length, tc_expr_const(&g->dims, step));
    /* a range of another dtype is counted in integers, so each value is rounded once */
    tc_dtype counted = dtype == TC_I32 ? TC_I32 : TC_I64;
    tc_tensor x = tc_prim_iota(g, 0, &(tc_type){.dtype = counted, .rank = 1, .shape = {length}});
    if (step != 1)
        x = tc_mul_at(at, TENSOR(x), tc_operand_int_(step));
    if (start->count)
        x = tc_add_at(at, TENSOR(x), TENSOR(size_value(g, counted, start)));
    return tc_cast_at(at, x, dtype);
}

tc_tensor tc_arange_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim start, tc_dim stop, int step)
{
    if (!tc_op_enter_graph(g, at, "tc_arange", "arange"))
        return tc_poison();
    if (!check_number(g, dtype))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, arange(g, at, dtype, tc_dim_expr(g, start), tc_dim_expr(g, stop), step));
}

tc_tensor tc_full_at(tc_site at, tc_graph *g, tc_operand value, int count, const tc_dim *dtype_and_shape)
{
    tc_type type;
    if (!tc_op_enter_graph(g, at, "tc_full", "full"))
        return tc_poison();
    if (!tc_read_type(g, count, dtype_and_shape, &type))
        return tc_op_leave(g, tc_poison());
    if (value.kind == TC_OPERAND_TENSOR) {
        tc_fail(g, "tc_expand repeats a tensor", "the value is a C number, not a tensor");
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_broadcast_to(g, tc_constant_of(g, type.dtype, value), type.rank, type.shape));
}

/* x where column - row <= diagonal (upper: >=), else 0. */
static tc_tensor triangle(tc_graph *g, tc_site at, tc_tensor x, int diagonal, bool upper)
{
    int rank = x->type.rank;
    if (rank < 2) {
        tc_fail(g, NULL, "needs rank 2 or more, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {x->type.shape[rank - 2], x->type.shape[rank - 1]}};
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    if (diagonal)
        row = tc_add_at(at, TENSOR(row), tc_operand_int_(diagonal));
    tc_tensor keep = upper ? tc_ge_at(at, TENSOR(column), TENSOR(row)) : tc_le_at(at, TENSOR(column), TENSOR(row));
    return tc_where_at(at, keep, TENSOR(x), tc_operand_int_(0));
}

tc_tensor tc_tril_at(tc_site at, tc_tensor x, int diagonal)
{
    tc_graph *g = tc_op_enter(at, "tc_tril", "tril", "x", 1, &x);
    return g ? tc_op_leave(g, triangle(g, at, x, diagonal, false)) : tc_poison();
}

tc_tensor tc_triu_at(tc_site at, tc_tensor x, int diagonal)
{
    tc_graph *g = tc_op_enter(at, "tc_triu", "triu", "x", 1, &x);
    return g ? tc_op_leave(g, triangle(g, at, x, diagonal, true)) : tc_poison();
}
