/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors made from nothing.
 */
#include "compose.h"

tc_tensor tc_dim_value_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim dim)
{
    if (!tc_op_enter_graph(g, at, "tc_dim_value", NULL))
        return tc_poison();
    return tc_op_leave(g, tc_check_number(g, dtype) ? tc_size_value(g, dtype, tc_dim_expr(g, dim)) : tc_poison());
}

static tc_tensor dims_tensor(tc_graph *g, int count, const tc_dim *dtype_and_dims)
{
    tc_tensor parts[16];
    if (count < 1 || dtype_and_dims[0].expr || !tc_check_number(g, (tc_dtype)dtype_and_dims[0].value))
        return tc_poison();
    const tc_dtype dtype = (tc_dtype)dtype_and_dims[0].value;
    if (count == 1)
        return tc_prim_iota(g, 0,
                            &(tc_type){.dtype = dtype == TC_I32 ? dtype : TC_I64, .rank = 1, .shape = {g->dims.zero}});
    for (int i = 1; i < count; ++i)
        parts[i - 1] = tc_prim_broadcast(g, tc_size_value(g, dtype, tc_dim_expr(g, dtype_and_dims[i])), 1, &g->dims.one,
                                         NULL);
    return count == 2 ? parts[0] : tc_prim_concat(g, 0, count - 1, parts);
}

tc_tensor tc_dims_tensor_at(tc_site at, tc_graph *g, int count, const tc_dim *dtype_and_dims)
{
    if (!tc_op_enter_graph(g, at, "tc_dims_tensor", "dims_tensor"))
        return tc_poison();
    return tc_op_leave(g, dims_tensor(g, count, dtype_and_dims));
}

static tc_tensor arange(tc_graph *g, tc_site at, tc_dtype dtype, const tc_expr *start, const tc_expr *stop, int step)
{
    if (step == 0) {
        tc_fail(g, NULL, "step is 0");
        return tc_poison();
    }
    const tc_expr *low = step > 0 ? start : stop, *high = step > 0 ? stop : start;
    const int64_t stride = step > 0 ? step : -(int64_t)step;
    if (!tc_at_least(g, high, low)) {
        tc_fail(g, NULL, "the stop %s lies %s the start %s", tc_expr_text(stop), step > 0 ? "before" : "behind",
                tc_expr_text(start));
        return tc_poison();
    }
    const tc_expr *length = tc_expr_add_int(tc_expr_sub(high, low), stride - 1);
    length = tc_expr_floordiv(length, tc_expr_const(&g->dims, stride));
    /* a range of another dtype is counted in integers, so each value is rounded once */
    tc_dtype counted = dtype == TC_I32 ? TC_I32 : TC_I64;
    tc_tensor x = tc_prim_iota(g, 0, &(tc_type){.dtype = counted, .rank = 1, .shape = {length}});
    if (step != 1)
        x = MUL(x, step);
    if (start->count)
        x = ADD(x, tc_size_value(g, counted, start));
    return tc_cast_at(at, x, dtype);
}

tc_tensor tc_arange_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim start, tc_dim stop, int step)
{
    if (!tc_op_enter_graph(g, at, "tc_arange", "arange"))
        return tc_poison();
    if (!tc_check_number(g, dtype))
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

tc_tensor tc_full_like_at(tc_site at, tc_tensor x, tc_operand value)
{
    tc_graph *g = tc_op_enter(at, "tc_full_like", "full_like", "x", 1, &x);
    if (!g)
        return tc_poison();
    if (value.kind == TC_OPERAND_TENSOR) {
        tc_fail(g, "tc_expand_as repeats a tensor", "the value is a C number, not a tensor");
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_broadcast_to(g, tc_constant_of(g, x->type.dtype, value), x->type.rank, x->type.shape));
}

tc_tensor tc_eye_at(tc_site at, tc_graph *g, tc_dtype dtype, tc_dim rows, tc_dim columns, int offset)
{
    if (!tc_op_enter_graph(g, at, "tc_eye", "eye"))
        return tc_poison();
    const tc_type plane = {.dtype = TC_I64, .rank = 2, .shape = {tc_dim_expr(g, rows), tc_dim_expr(g, columns)}};
    for (int i = 0; i < 2; ++i)
        if (!tc_at_least(g, plane.shape[i], g->dims.zero)) {
            tc_fail(g, NULL, "dim %d is negative: %s", i, tc_expr_text(plane.shape[i]));
            return tc_op_leave(g, tc_poison());
        }
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    if (offset)
        row = ADD(row, offset);
    return tc_op_leave(g, tc_cast_at(at, EQ(row, column), dtype));
}

/* -- even steps ---------------------------------------------------------------------------------------------------- */

/* From the nearer end, so that both ends are exact: start + i*step, stop - (count - 1 - i)*step. */
static tc_tensor linspace(tc_graph *g, tc_site at, tc_dtype dtype, double start, double stop, const tc_expr *count)
{
    if (!tc_dtype_is_float(dtype)) {
        tc_fail(g, "tc_arange counts in integers", "the dtype is no float's");
        return tc_poison();
    }
    if (!tc_at_least(g, count, g->dims.zero)) {
        tc_fail(g, NULL, "%s numbers", tc_expr_text(count));
        return tc_poison();
    }
    const tc_dtype wide = dtype == TC_F64 ? TC_F64 : TC_F32;
    tc_tensor place = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {count}});
    tc_tensor last = tc_size_value(g, TC_I64, tc_expr_add_int(count, -1));
    tc_tensor first = tc_constant_of(g, wide, tc_operand_float_(start)),
              end = tc_constant_of(g, wide, tc_operand_float_(stop));
    tc_tensor gaps = tc_cast_at(at, MAXIMUM(last, 1), wide), step = DIV(SUB(end, first), gaps);
    tc_tensor from_end = SUB(last, place), near = LE(place, from_end);
    tc_tensor up = MUL(tc_cast_at(at, place, wide), step), down = MUL(tc_cast_at(at, from_end, wide), step);
    up = ADD(first, up);
    down = SUB(end, down);
    return WHERE(near, up, down);
}

tc_tensor tc_linspace_at(tc_site at, tc_graph *g, tc_dtype dtype, double start, double stop, tc_dim count)
{
    if (!tc_op_enter_graph(g, at, "tc_linspace", "linspace"))
        return tc_poison();
    tc_tensor x = linspace(g, at, dtype, start, stop, tc_dim_expr(g, count));
    return tc_op_leave(g, tc_prim_narrow(g, x, dtype));
}

tc_tensor tc_logspace_at(tc_site at, tc_graph *g, tc_dtype dtype, double start, double stop, tc_dim count, double base)
{
    if (!tc_op_enter_graph(g, at, "tc_logspace", "logspace"))
        return tc_poison();
    tc_tensor x = linspace(g, at, dtype, start, stop, tc_dim_expr(g, count));
    if (tc_is_poison(x))
        return tc_op_leave(g, x);
    tc_tensor power = tc_pow_at(at, tc_operand_tensor_(tc_full_like_at(at, x, tc_operand_float_(base))),
                                tc_operand_tensor_(x));
    return tc_op_leave(g, tc_prim_narrow(g, power, dtype));
}

/* -- grids and choices --------------------------------------------------------------------------------------------- */

void tc_meshgrid_at(tc_site at, bool columns_first, tc_tensor *grids, int count, const tc_tensor *vectors)
{
    tc_graph *g = tc_current_graph();
    const tc_expr *shape[TC_MAX_RANK];
    bool good = count <= TC_MAX_RANK;
    for (int i = 0; i < count; ++i)
        grids[i] = tc_poison();
    for (int i = 0; i < count && good; ++i) { /* one by one: their names are their numbers */
        if (!tc_op_enter(at, "tc_meshgrid", NULL, "x", 1, &vectors[i]))
            return;
        good = vectors[i]->type.rank == 1;
        if (!good)
            tc_fail(g, NULL, "operand %d is %s, not of rank 1", i, tc_type_text(g, &vectors[i]->type));
        else
            shape[i] = vectors[i]->type.shape[0];
        tc_op_leave(g, NULL);
    }
    if (!tc_op_enter_graph(g, at, "tc_meshgrid", "meshgrid"))
        return;
    if (count > TC_MAX_RANK)
        tc_fail(g, NULL, "%d dims; %d is the most", count, TC_MAX_RANK);
    const bool swapped = good && columns_first && count > 1;
    if (swapped) {
        const tc_expr *rows = shape[0];
        shape[0] = shape[1];
        shape[1] = rows;
    }
    for (int i = 0; i < count && good; ++i) {
        const int axis = swapped && i < 2 ? 1 - i : i;
        grids[i] = tc_prim_broadcast(g, vectors[i], count, shape, &axis);
    }
    tc_op_leave(g, NULL);
}

tc_tensor tc_cartesian_prod_at(tc_site at, int count, const tc_tensor *vectors)
{
    tc_graph *g = tc_current_graph();
    tc_tensor columns[TC_MAX_RANK];
    if (!tc_op_enter_graph(g, at, "tc_cartesian_prod", "cartesian_prod"))
        return tc_poison();
    if (count > TC_MAX_RANK) {
        tc_fail(g, NULL, "%d dims; %d is the most", count, TC_MAX_RANK);
        return tc_op_leave(g, tc_poison());
    }
    tc_meshgrid_at(at, false, columns, count, vectors);
    for (int i = 0; i < count; ++i) {
        if (tc_is_poison(columns[i]))
            return tc_op_leave(g, tc_poison());
        columns[i] = tc_flatten_at(at, columns[i], 0);
    }
    return tc_op_leave(g, count == 1 ? columns[0] : tc_stack_at(at, 1, count, columns));
}

/* The indices of the true elements, of which there are `found`, of a mask of constants: i64[found, rank]. */
static tc_tensor places_of(tc_site at, tc_tensor mask, int64_t found)
{
    return tc_nonzero_static_at(at, mask, tc_dim_int_(found), tc_operand_int_(0));
}

tc_tensor tc_combinations_at(tc_site at, tc_tensor x, int count, bool repeated)
{
    enum { MOST = 1 << 20 }; /* elements of the mask */
    tc_graph *g = tc_op_enter(at, "tc_combinations", "combinations", "x", 1, &x);
    int64_t size, elements = 1, found = 1;
    if (!g)
        return tc_poison();
    bool fits = x->type.rank == 1 && tc_expr_value(x->type.shape[0], &size) && count >= 1 && count <= TC_MAX_RANK;
    for (int i = 0; fits && i < count; ++i) {
        elements *= size;
        fits = elements <= MOST;
        /* binomial(size, count), or with repetition binomial(size + count - 1, count): exact at every step */
        found = found * (repeated ? size + i : size - i) / (i + 1);
    }
    if (!fits) {
        tc_fail(g, "a constant size; size to the power of the count is at most a million", "%d of %s", count,
                tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_type all = {.dtype = TC_I64, .rank = count};
    for (int i = 0; i < count; ++i)
        all.shape[i] = x->type.shape[0];
    tc_tensor mask = tc_broadcast_to(g, tc_constant_of(g, TC_BOOL, tc_operand_int_(1)), count, all.shape);
    for (int i = 0; i + 1 < count; ++i) {
        tc_tensor one = tc_prim_iota(g, i, &all), next = tc_prim_iota(g, i + 1, &all);
        tc_tensor ascending = repeated ? LE(one, next) : LT(one, next);
        mask = AND(mask, ascending);
    }
    return tc_op_leave(g, tc_gather_at(at, x, places_of(at, mask, found), 0));
}

tc_tensor tc_triangle_indices_at(tc_site at, tc_graph *g, bool upper, int rows, int columns, int offset)
{
    if (!tc_op_enter_graph(g, at, upper ? "tc_triu_indices" : "tc_tril_indices", "triangle_indices"))
        return tc_poison();
    if (rows < 0 || columns < 0) {
        tc_fail(g, NULL, "%d rows and %d columns", rows, columns);
        return tc_op_leave(g, tc_poison());
    }
    int64_t found = 0; /* column <= row + offset: of each row so many, or the others */
    for (int64_t row = 0; row < rows; ++row) {
        int64_t lower = row + offset + 1, kept = lower < 0 ? 0 : lower > columns ? columns : lower;
        lower = row + offset < 0 ? 0 : row + offset > columns ? columns : row + offset;
        found += upper ? columns - lower : kept;
    }
    const tc_type plane = {.dtype = TC_I64,
                           .rank = 2,
                           .shape = {tc_expr_const(&g->dims, rows), tc_expr_const(&g->dims, columns)}};
    tc_tensor row = tc_prim_iota(g, 0, &plane), column = tc_prim_iota(g, 1, &plane);
    row = ADD(row, offset);
    tc_tensor places = places_of(at, upper ? GE(column, row) : LE(column, row), found);
    return tc_op_leave(g, tc_transpose_at(at, places, 0, 1));
}
