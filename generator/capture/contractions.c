/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products and the others, each a dot with the dims that the call names.
 */
#include "compose.h"
#include "reductions.h"

/* -- matmul -------------------------------------------------------------------------------------------------------- */

/* x with an axis of size 1 inserted. */
static tc_tensor with_axis(tc_graph *g, tc_tensor x, int axis)
{
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i <= x->type.rank; ++i)
        shape[i] = i == axis ? g->dims.one : x->type.shape[i - (i > axis)];
    return tc_prim_reshape(g, x, x->type.rank + 1, shape);
}

static tc_tensor without_axis(tc_graph *g, tc_tensor x, int axis)
{
    if (tc_is_poison(x))
        return x;
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i + 1 < x->type.rank; ++i)
        shape[i] = x->type.shape[i + (i >= axis)];
    return tc_prim_reshape(g, x, x->type.rank - 1, shape);
}

/* x with its dims before the last two broadcast to `batch`. */
static tc_tensor with_batch(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *batch)
{
    const tc_expr *shape[TC_MAX_RANK];
    for (int i = 0; i < rank; ++i)
        shape[i] = batch[i];
    shape[rank] = x->type.shape[x->type.rank - 2];
    shape[rank + 1] = x->type.shape[x->type.rank - 1];
    return tc_broadcast_to(g, x, rank + 2, shape);
}

/* where: NULL, or of a's shape. */
static tc_tensor matmul(tc_graph *g, tc_tensor a, tc_tensor b, tc_tensor where)
{
    if (!a->type.rank || !b->type.rank) {
        tc_fail(g, "tc_mul multiplies by a number", "an operand has rank 0: %s x %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type));
        return tc_poison();
    }
    bool row = a->type.rank == 1, column = b->type.rank == 1;
    const tc_expr *k = a->type.shape[a->type.rank - 1], *l = b->type.shape[column ? 0 : b->type.rank - 2];
    if (!tc_same_dim(g, k, l)) { /* before axes are inserted, so that the message shows what the user wrote */
        tc_fail(g, "the summed dims must be equal: does one operand need a tc_transpose?",
                "inner dimensions differ: %s x %s", tc_type_text(g, &a->type), tc_type_text(g, &b->type));
        return tc_poison();
    }
    if (row)
        a = with_axis(g, a, 0);
    if (row && where)
        where = with_axis(g, where, 0);
    if (column)
        b = with_axis(g, b, 1);
    /* rows of a times one matrix: every dim of a but the last is free, no batch and no broadcast */
    int rank = 0;
    if (b->type.rank > 2) {
        const tc_expr *batch[TC_MAX_RANK];
        tc_type a_batch = a->type, b_batch = b->type;
        a_batch.rank -= 2;
        b_batch.rank -= 2;
        if (!tc_broadcast_shape(g, &a_batch, &b_batch, &rank, batch))
            return tc_poison();
        a = with_batch(g, a, rank, batch);
        where = where ? with_batch(g, where, rank, batch) : NULL;
        b = with_batch(g, b, rank, batch);
    }
    tc_tensor out = tc_prim_dot_where(g, a, b, where, false, rank, a->type.rank - 1, b->type.rank - 2);
    if (column && !tc_is_poison(out))
        out = without_axis(g, out, out->type.rank - 1);
    return row && !tc_is_poison(out) ? without_axis(g, out, out->type.rank - (column ? 1 : 2)) : out;
}

tc_tensor tc_matmul_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_matmul", "matmul", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, matmul(g, a, b, NULL)) : tc_poison();
}

tc_tensor tc_matmul_where_at(tc_site at, tc_tensor a, tc_tensor b, tc_tensor where)
{
    tc_graph *g = tc_op_enter(at, "tc_matmul_where", "matmul_where", "a b where", 3, (tc_tensor[]){a, b, where});
    if (!g)
        return tc_poison();
    tc_tensor p = tc_predicate_of(g, a, where);
    return tc_op_leave(g, p ? matmul(g, a, b, p) : tc_poison());
}

/* bias is a vector as long as the result's axis. */
static bool bias_fits(tc_graph *g, tc_tensor bias, const tc_expr *outputs)
{
    if (!bias || (bias->type.rank == 1 && tc_same_dim(g, bias->type.shape[0], outputs)))
        return true;
    tc_fail(g, "one number an output", "the bias is %s for %s outputs", tc_type_text(g, &bias->type),
            tc_expr_text(outputs));
    return false;
}

/* What is widened is looked at before: a sum of widened operands of two dtypes would not be refused. */
static bool of_one_dtype(tc_graph *g, int count, const tc_tensor *operands)
{
    for (int i = 1; i < count; ++i)
        if (operands[i] && !tc_check_same_dtype(g, &operands[0]->type, &operands[i]->type))
            return false;
    return true;
}

tc_tensor tc_linear_at(const tc_linear_args *args)
{
    const tc_site at = args->at;
    tc_tensor x = args->x, w = args->weight;
    tc_graph *g = tc_op_enter(at, "tc_linear", "linear", "x weight ?bias", 3, (tc_tensor[]){x, w, args->bias});
    if (!g)
        return tc_poison();
    if (!x->type.rank || w->type.rank != 2) {
        tc_fail(g, "x[..., k], weight[n, k]", "%s and %s are no rows and matrix", tc_type_text(g, &x->type),
                tc_type_text(g, &w->type));
        return tc_op_leave(g, tc_poison());
    }
    if (!tc_same_dim(g, x->type.shape[x->type.rank - 1], w->type.shape[1])) {
        tc_fail(g, "the last dim of x is the last dim of the weight [outputs, inputs]",
                "inner dimensions differ: %s x %s", tc_type_text(g, &x->type), tc_type_text(g, &w->type));
        return tc_op_leave(g, tc_poison());
    }
    if (!bias_fits(g, args->bias, w->type.shape[0]) || !of_one_dtype(g, 3, (const tc_tensor[]){x, w, args->bias}))
        return tc_op_leave(g, tc_poison());
    if (!args->bias)
        return tc_op_leave(g, tc_prim_dot(g, x, w, 0, x->type.rank - 1, 1));
    tc_tensor rows = tc_prim_widen(g, x), y = tc_prim_dot(g, rows, tc_prim_widen(g, w), 0, x->type.rank - 1, 1);
    return tc_op_leave(g, tc_prim_narrow(g, ADD(y, tc_prim_widen(g, args->bias)), x->type.dtype));
}

/* -- of given ranks ------------------------------------------------------------------------------------------------ */

static bool check_ranks(tc_graph *g, tc_tensor a, int a_rank, tc_tensor b, int b_rank)
{
    if (a->type.rank == a_rank && b->type.rank == b_rank)
        return true;
    tc_fail(g, NULL, "needs ranks %d and %d: %s and %s", a_rank, b_rank, tc_type_text(g, &a->type),
            tc_type_text(g, &b->type));
    return false;
}

/* matmul of operands of exact ranks */
static tc_tensor product(tc_site at, const char *name, tc_tensor a, int a_rank, tc_tensor b, int b_rank)
{
    tc_graph *g = tc_op_enter(at, name, name + 3, "a b", 2, (tc_tensor[]){a, b});
    if (!g)
        return tc_poison();
    return tc_op_leave(g, check_ranks(g, a, a_rank, b, b_rank) ? tc_matmul_at(at, a, b) : tc_poison());
}

tc_tensor tc_mm_at(tc_site at, tc_tensor a, tc_tensor b)
{
    return product(at, "tc_mm", a, 2, b, 2);
}

tc_tensor tc_bmm_at(tc_site at, tc_tensor a, tc_tensor b)
{
    return product(at, "tc_bmm", a, 3, b, 3);
}

tc_tensor tc_mv_at(tc_site at, tc_tensor a, tc_tensor b)
{
    return product(at, "tc_mv", a, 2, b, 1);
}

tc_tensor tc_dot_at(tc_site at, tc_tensor a, tc_tensor b)
{
    return product(at, "tc_dot", a, 1, b, 1);
}

static tc_tensor outer(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b)
{
    if (!check_ranks(g, a, 1, b, 1))
        return tc_poison();
    tc_tensor column = tc_unsqueeze_at(at, a, 1);
    return MUL(column, tc_unsqueeze_at(at, b, 0));
}

tc_tensor tc_outer_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_outer", "outer", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, outer(g, at, a, b)) : tc_poison();
}

/* -- sums of products and another tensor --------------------------------------------------------------------------- */

/* beta * bias + alpha * (a x b), a factor of 1 left out */
static tc_tensor sum_with_product(tc_graph *g, const tc_addmm_args *args, int rank)
{
    const tc_site at = args->at;
    tc_tensor a = args->a, b = args->b, bias = args->bias;
    if (!check_ranks(g, a, rank, b, rank) || !of_one_dtype(g, 3, (const tc_tensor[]){bias, a, b}))
        return tc_poison();
    a = tc_prim_widen(g, a);
    tc_tensor y = tc_matmul_at(at, a, tc_prim_widen(g, b));
    if (tc_is_poison(y))
        return y;
    bias = tc_prim_widen(g, bias);
    if (args->alpha != 0 && args->alpha != 1)
        y = MUL(y, args->alpha);
    if (args->beta != 0 && args->beta != 1)
        bias = MUL(bias, args->beta);
    bias = tc_broadcast_to(g, bias, y->type.rank, y->type.shape);
    return tc_prim_narrow(g, ADD(bias, y), args->a->type.dtype);
}

static tc_tensor added(const char *name, const tc_addmm_args *args, int rank)
{
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "bias a b", 3, (tc_tensor[]){args->bias, args->a, args->b});
    return g ? tc_op_leave(g, sum_with_product(g, args, rank)) : tc_poison();
}

tc_tensor tc_addmm_at(const tc_addmm_args *args)
{
    return added("tc_addmm", args, 2);
}

tc_tensor tc_baddbmm_at(const tc_addmm_args *args)
{
    return added("tc_baddbmm", args, 3);
}

/* -- several dims -------------------------------------------------------------------------------------------------- */

tc_tensor tc_tensordot_at(tc_site at, tc_tensor a, tc_tensor b, int count, const int *a_axes, int b_count,
                          const int *b_axes)
{
    tc_graph *g = tc_op_enter(at, "tc_tensordot", "tensordot", "a b", 2, (tc_tensor[]){a, b});
    tc_contraction c = {.summed = count};
    if (!g)
        return tc_poison();
    if (count != b_count || count > TC_MAX_RANK) {
        tc_fail(g, "one axis of b for each of a", "%d axes of a and %d of b", count, b_count);
        return tc_op_leave(g, tc_poison());
    }
    if (!tc_axes_in_order(g, a->type.rank, count, a_axes, c.a_summed) ||
        !tc_axes_in_order(g, b->type.rank, count, b_axes, c.b_summed))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, tc_prim_contract(g, a, b, &c));
}

tc_tensor tc_inner_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_inner", "inner", "a b", 2, (tc_tensor[]){a, b});
    if (!g)
        return tc_poison();
    if (!a->type.rank || !b->type.rank)
        return tc_op_leave(g, MUL(a, b));
    tc_contraction c = {.summed = 1, .a_summed = {a->type.rank - 1}, .b_summed = {b->type.rank - 1}};
    return tc_op_leave(g, tc_prim_contract(g, a, b, &c));
}

/* For each of `count` places how many of the bounds lie at or before it. */
static tc_tensor passed(tc_graph *g, tc_site at, tc_tensor bounds, const tc_expr *count)
{
    const tc_dtype counted = bounds->type.dtype;
    tc_tensor place = tc_prim_iota(g, 0, &(tc_type){.dtype = counted, .rank = 2, .shape = {count, g->dims.one}});
    return tc_prim_reduce(g, tc_prim_cast(g, LE(bounds, place), counted), "sum", 1, (int[]){1});
}

/* Rows that are multiplied together: about those of one group, where both numbers are known. */
static int rows_of_block(const tc_expr *m, const tc_expr *groups)
{
    int64_t rows, count;
    if (!tc_expr_value(m, &rows) || !tc_expr_value(groups, &count) || count < 1)
        return 8;
    int block = 4;
    while (block < 64 && block * count < rows)
        block *= 2;
    return block;
}

/* Each group begins a block of rows of its own, so that a block has one matrix; the rows past the end of a group are
 * computed for nothing. There are no more blocks than rows, nor than full ones and one more of each group. */
static tc_tensor by_blocks(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, tc_tensor ends)
{
    const tc_dtype counted = ends->type.dtype;
    const tc_expr *m = a->type.shape[0], *n = b->type.shape[2], *groups = ends->type.shape[0];
    const int block = rows_of_block(m, groups);
    const tc_expr *full = tc_expr_floordiv(tc_expr_add(m, tc_expr_mul_int(groups, block - 1)),
                                           tc_expr_const(&g->dims, block));
    const tc_expr *blocks = tc_expr_min(m, full), *rows = tc_expr_mul_int(blocks, block);
    tc_tensor last_group = tc_size_value(g, counted, tc_expr_add_int(groups, -1));
    tc_tensor last_row = tc_size_value(g, counted, tc_expr_add_int(m, -1));
    tc_tensor last_place = tc_size_value(g, counted, tc_expr_add_int(rows, -1));
    const tc_dim none = tc_dim_int_(0), one = tc_dim_int_(1), but_one = tc_dim_of(tc_expr_add_int(groups, -1));
    tc_tensor begins = tc_pad_axis_at(at, tc_slice_at(at, ends, 0, none, but_one, 1), 0, one, none, tc_operand_int_(0));
    tc_tensor sizes = SUB(ends, begins), own = DIV(ADD(sizes, block - 1), block);
    tc_tensor block_ends = tc_cumulative_at(at, "tc_cumsum", own, "sum", 0, false), block_begins = SUB(block_ends, own);

    /* the rows and the matrix of each block */
    tc_tensor group = MINIMUM(passed(g, at, block_ends, blocks), last_group);
    tc_tensor number = tc_prim_iota(g, 0, &(tc_type){.dtype = counted, .rank = 1, .shape = {blocks}});
    tc_tensor before = SUB(number, tc_prim_gather(g, block_begins, group, 0));
    tc_tensor group_begins = tc_prim_gather(g, begins, group, 0);
    tc_tensor first = with_axis(g, ADD(group_begins, MUL(before, block)), 1);
    tc_tensor inner = tc_prim_iota(g, 1,
                                   &(tc_type){.dtype = counted,
                                              .rank = 2,
                                              .shape = {blocks, tc_expr_const(&g->dims, block)}});
    tc_tensor taken = MINIMUM(MAXIMUM(ADD(inner, first), 0), last_row);
    tc_tensor left = tc_prim_widen(g, tc_prim_gather(g, a, taken, 0));
    tc_tensor right = tc_prim_widen(g, tc_prim_gather(g, b, group, 0));
    tc_tensor products = tc_prim_reshape(g, tc_matmul_at(at, left, right), 2, (const tc_expr *[]){rows, n});

    /* where each row lies in them */
    tc_tensor of_row = passed(g, at, ends, m), known = MINIMUM(of_row, last_group);
    tc_tensor row = tc_prim_iota(g, 0, &(tc_type){.dtype = counted, .rank = 1, .shape = {m}});
    tc_tensor within = SUB(row, tc_prim_gather(g, begins, known, 0));
    tc_tensor place = ADD(MUL(tc_prim_gather(g, block_begins, known, 0), block), within);
    tc_tensor found = tc_prim_gather(g, products, MINIMUM(MAXIMUM(place, 0), last_place), 0);
    tc_tensor is_row = with_axis(g, LE(of_row, last_group), 1);
    return WHERE(is_row, found, 0);
}

/* Rows in groups, each group times a matrix. */
static tc_tensor grouped_mm(tc_graph *g, tc_site at, tc_tensor a, tc_tensor b, tc_tensor ends)
{
    const tc_dtype dtype = a->type.dtype, counted = ends->type.dtype;
    if (a->type.rank != 2 || b->type.rank != 3 || ends->type.rank != 1 ||
        !tc_same_dim(g, a->type.shape[1], b->type.shape[1]) || !tc_same_dim(g, ends->type.shape[0], b->type.shape[0])) {
        tc_fail(g, "a[m, k], b[e, k, n], ends[e]", "shapes do not fit: %s, %s, %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type), tc_type_text(g, &ends->type));
        return tc_poison();
    }
    if (!tc_dtype_is_float(dtype) || b->type.dtype != dtype || (counted != TC_I32 && counted != TC_I64)) {
        tc_fail(g, "floats of one dtype, and ends that are i32 or i64", "the operands are %s, %s, %s",
                tc_type_text(g, &a->type), tc_type_text(g, &b->type), tc_type_text(g, &ends->type));
        return tc_poison();
    }
    return tc_prim_narrow(g, by_blocks(g, at, a, b, ends), dtype);
}

tc_tensor tc_grouped_mm_at(tc_site at, tc_tensor a, tc_tensor b, tc_tensor ends)
{
    tc_graph *g = tc_op_enter(at, "tc_grouped_mm", "grouped_mm", "a b ends", 3, (tc_tensor[]){a, b, ends});
    return g ? tc_op_leave(g, grouped_mm(g, at, a, b, ends)) : tc_poison();
}

/* y[..., o] = sum over i, j of a[..., i] * weight[o, i, j] * b[..., j] */
static tc_tensor bilinear(tc_graph *g, const tc_bilinear_args *args)
{
    tc_tensor a = args->a, b = args->b, w = args->weight;
    int rank = a->type.rank;
    if (!rank || b->type.rank != rank || w->type.rank != 3) {
        tc_fail(g, "a[..., i], b[..., j], weight[o, i, j]", "ranks do not fit: %s, %s, %s", tc_type_text(g, &a->type),
                tc_type_text(g, &b->type), tc_type_text(g, &w->type));
        return tc_poison();
    }
    if (!of_one_dtype(g, 4, (const tc_tensor[]){a, b, w, args->bias}))
        return tc_poison();
    /* [..., o, j], then summed over j with b */
    const tc_site at = args->at;
    const tc_contraction first = {.summed = 1, .a_summed = {rank - 1}, .b_summed = {1}};
    tc_tensor rows = tc_prim_widen(g, a), left = tc_prim_contract(g, rows, tc_prim_widen(g, w), &first);
    tc_contraction second = {.batch = rank - 1, .summed = 1, .a_summed = {rank}, .b_summed = {rank - 1}};
    for (int i = 0; i + 1 < rank; ++i)
        second.a_batch[i] = second.b_batch[i] = i;
    tc_tensor y = tc_prim_contract(g, left, tc_prim_widen(g, b), &second);
    if (args->bias)
        y = ADD(y, tc_prim_widen(g, args->bias));
    return tc_prim_narrow(g, y, a->type.dtype);
}

tc_tensor tc_bilinear_at(const tc_bilinear_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_bilinear", "bilinear", "a b weight ?bias", 4,
                              (tc_tensor[]){args->a, args->b, args->weight, args->bias});
    return g ? tc_op_leave(g, bilinear(g, args)) : tc_poison();
}
