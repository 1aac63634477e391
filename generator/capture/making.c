/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors made from nothing.
 */
#include "compose.h"

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
        x = MUL(x, step);
    if (start->count)
        x = ADD(x, size_value(g, counted, start));
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
