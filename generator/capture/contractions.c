/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products and the others, each a dot with the dims that the call names.
 */
#include "contractions.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

tc_tensor tc_contract(tc_graph *g, tc_tensor a, tc_tensor b, const tc_contraction *c)
{
    if (tc_is_poison(a) || tc_is_poison(b))
        return tc_poison();
    /* numerics.md: lanes where the dims that only b has multiply to a constant below 16 */
    const tc_expr *free_dims = g->dims.one;
    bool bound[TC_MAX_RANK] = {false};
    for (int i = 0; i < c->batch; ++i)
        bound[c->b_batch[i]] = true;
    for (int i = 0; i < c->summed; ++i)
        bound[c->b_summed[i]] = true;
    for (int i = 0; i < b->type.rank; ++i)
        if (!bound[i])
            free_dims = tc_expr_mul(free_dims, b->type.shape[i]);
    int64_t n;
    bool lanes = tc_expr_value(free_dims, &n) && n < 16;
    tc_attr attrs[] = {tc_attr_ints(g, c->batch, c->a_batch), tc_attr_ints(g, c->batch, c->b_batch),
                       tc_attr_ints(g, c->summed, c->a_summed), tc_attr_ints(g, c->summed, c->b_summed),
                       tc_attr_word(lanes ? "lanes" : "seq")};
    return tc_add_node(g, TC_OP_dot, 2, (tc_tensor[]){a, b}, attrs, NULL);
}

/* -- matmul ---------------------------------------------------------------------------------------------------------- */

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

static tc_tensor matmul(tc_graph *g, tc_tensor a, tc_tensor b)
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
        b = with_batch(g, b, rank, batch);
    }
    tc_tensor out = tc_prim_dot(g, a, b, rank, a->type.rank - 1, b->type.rank - 2);
    if (column && !tc_is_poison(out))
        out = without_axis(g, out, out->type.rank - 1);
    return row && !tc_is_poison(out) ? without_axis(g, out, out->type.rank - (column ? 1 : 2)) : out;
}

tc_tensor tc_matmul_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_matmul", "matmul", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, matmul(g, a, b)) : tc_poison();
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

tc_tensor tc_linear_at(const tc_linear_args *args)
{
    tc_tensor x = args->x, w = args->weight;
    tc_graph *g = tc_op_enter(args->at, "tc_linear", "linear", "x weight ?bias", 3, (tc_tensor[]){x, w, args->bias});
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
    if (!bias_fits(g, args->bias, w->type.shape[0]))
        return tc_op_leave(g, tc_poison());
    tc_tensor y = tc_prim_dot(g, x, w, 0, x->type.rank - 1, 1);
    return tc_op_leave(g, args->bias ? tc_add_at(args->at, TENSOR(y), TENSOR(args->bias)) : y);
}

/* -- of given ranks ----------------------------------------------------------------------------------------------------- */

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
    return tc_mul_at(at, TENSOR(tc_unsqueeze_at(at, a, 1)), TENSOR(tc_unsqueeze_at(at, b, 0)));
}

tc_tensor tc_outer_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_outer", "outer", "a b", 2, (tc_tensor[]){a, b});
    return g ? tc_op_leave(g, outer(g, at, a, b)) : tc_poison();
}

/* -- sums of products and another tensor ------------------------------------------------------------------------------- */

/* beta * bias + alpha * (a x b), a factor of 1 left out */
static tc_tensor added(const char *name, const tc_addmm_args *args, int rank)
{
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "bias a b", 3, (tc_tensor[]){args->bias, args->a, args->b});
    if (!g)
        return tc_poison();
    if (!check_ranks(g, args->a, rank, args->b, rank))
        return tc_op_leave(g, tc_poison());
    tc_tensor y = tc_matmul_at(args->at, args->a, args->b), bias = args->bias;
    if (tc_is_poison(y))
        return tc_op_leave(g, y);
    if (args->alpha != 0 && args->alpha != 1)
        y = tc_mul_at(args->at, TENSOR(y), NUMBER(args->alpha));
    if (args->beta != 0 && args->beta != 1)
        bias = tc_mul_at(args->at, TENSOR(bias), NUMBER(args->beta));
    bias = tc_broadcast_to(g, bias, y->type.rank, y->type.shape);
    return tc_op_leave(g, tc_add_at(args->at, TENSOR(bias), TENSOR(y)));
}

tc_tensor tc_addmm_at(const tc_addmm_args *args)
{
    return added("tc_addmm", args, 2);
}

tc_tensor tc_baddbmm_at(const tc_addmm_args *args)
{
    return added("tc_baddbmm", args, 3);
}

/* -- several dims -------------------------------------------------------------------------------------------------------- */

static bool pair_axes(tc_graph *g, int rank, int count, const int *axes, int *out)
{
    bool seen[TC_MAX_RANK] = {false};
    for (int i = 0; i < count; ++i) {
        out[i] = tc_axis(g, axes[i], rank);
        if (out[i] < 0)
            return false;
        if (seen[out[i]]) {
            tc_fail(g, NULL, "axis %d is named twice", axes[i]);
            return false;
        }
        seen[out[i]] = true;
    }
    return true;
}

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
    if (!pair_axes(g, a->type.rank, count, a_axes, c.a_summed) || !pair_axes(g, b->type.rank, count, b_axes, c.b_summed))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, tc_contract(g, a, b, &c));
}

tc_tensor tc_inner_at(tc_site at, tc_tensor a, tc_tensor b)
{
    tc_graph *g = tc_op_enter(at, "tc_inner", "inner", "a b", 2, (tc_tensor[]){a, b});
    if (!g)
        return tc_poison();
    if (!a->type.rank || !b->type.rank)
        return tc_op_leave(g, tc_mul_at(at, TENSOR(a), TENSOR(b)));
    tc_contraction c = {.summed = 1, .a_summed = {a->type.rank - 1}, .b_summed = {b->type.rank - 1}};
    return tc_op_leave(g, tc_contract(g, a, b, &c));
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
    /* [..., o, j], then summed over j with b */
    tc_contraction first = {.summed = 1, .a_summed = {rank - 1}, .b_summed = {1}};
    tc_tensor left = tc_contract(g, a, w, &first);
    tc_contraction second = {.batch = rank - 1, .summed = 1, .a_summed = {rank}, .b_summed = {rank - 1}};
    for (int i = 0; i + 1 < rank; ++i)
        second.a_batch[i] = second.b_batch[i] = i;
    tc_tensor y = tc_contract(g, left, b, &second);
    if (!args->bias || tc_is_poison(y))
        return y;
    return tc_add_at(args->at, TENSOR(y), TENSOR(args->bias));
}

tc_tensor tc_bilinear_at(const tc_bilinear_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_bilinear", "bilinear", "a b weight ?bias", 4,
                              (tc_tensor[]){args->a, args->b, args->weight, args->bias});
    return g ? tc_op_leave(g, bilinear(g, args)) : tc_poison();
}
