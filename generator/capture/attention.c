/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention.
 */
#include <math.h>

#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

typedef struct attention {
    tc_graph *g;
    tc_site at;
    tc_tensor q, k, v; /* of one rank; grouped: q [.., h', h/h', l, d] with its groups as a dim of its own */
    int batch;         /* dims that are batch dims of both products */
    int64_t groups;    /* heads of q that share one of k: 1, or q has one dim more than k */
} attention;

static bool attention_shapes(attention *a)
{
    tc_graph *g = a->g;
    const tc_type *q = &a->q->type, *k = &a->k->type, *v = &a->v->type;
    const char *types = tc_arena_format(&g->arena, "%s, %s, %s", tc_type_text(g, q), tc_type_text(g, k),
                                        tc_type_text(g, v));
    int rank = q->rank;
    if (!tc_dtype_is_float(q->dtype) || k->dtype != q->dtype || v->dtype != q->dtype) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats of one dtype: %s", types);
        return false;
    }
    if (rank < 2 || k->rank != rank || v->rank != rank) {
        tc_fail(g, "[..., heads, rows, features] each", "q, k and v need one rank of at least 2: %s", types);
        return false;
    }
    if (!tc_same_dim(g, q->shape[rank - 1], k->shape[rank - 1])) {
        tc_fail(g, NULL, "the features of q and k differ: %s", types);
        return false;
    }
    if (!tc_same_dim(g, k->shape[rank - 2], v->shape[rank - 2])) {
        tc_fail(g, NULL, "the rows of k and v differ: %s", types);
        return false;
    }
    for (int i = 0; i < rank - 2; ++i) {
        int64_t heads, shared;
        bool is_heads = i == rank - 3;
        if (!tc_same_dim(g, k->shape[i], v->shape[i])) {
            tc_fail(g, NULL, "k and v differ in axis %d: %s", i, types);
            return false;
        }
        if (is_heads && tc_expr_value(q->shape[i], &heads) && tc_expr_value(k->shape[i], &shared) && shared > 0 &&
            heads % shared == 0) {
            a->groups = heads / shared;
        } else if (!tc_same_dim(g, q->shape[i], k->shape[i])) {
            tc_fail(g, is_heads ? "the heads of q are a multiple of those of k" : NULL,
                    "q and k differ in axis %d: %s", i, types);
            return false;
        }
    }
    return true;
}

/* q with its heads split into those of k and the group; and back. */
static tc_tensor split_heads(const attention *a, tc_tensor q)
{
    const tc_type *t = &q->type;
    const tc_expr *shape[TC_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < t->rank; ++i) {
        shape[rank++] = i == t->rank - 3 ? a->k->type.shape[i] : t->shape[i];
        if (i == t->rank - 3)
            shape[rank++] = tc_expr_const(&a->g->dims, a->groups);
    }
    return tc_prim_reshape(a->g, q, rank, shape);
}

static tc_tensor join_heads(const attention *a, tc_tensor x, const tc_type *like)
{
    if (tc_is_poison(x))
        return x;
    tc_type t = x->type;
    const tc_expr *shape[TC_MAX_RANK];
    int rank = like->rank;
    for (int i = 0; i < rank; ++i)
        shape[i] = i < rank - 2 ? like->shape[i] : t.shape[i + 1];
    return tc_prim_reshape(a->g, x, rank, shape);
}

/* The bool tensor [l, s] that is true where column <= row. */
static tc_tensor causal_mask(tc_graph *g, tc_site at, const tc_expr *rows, const tc_expr *columns)
{
    tc_type plane = {.dtype = TC_I32, .rank = 2, .shape = {rows, columns}};
    return tc_le_at(at, TENSOR(tc_prim_iota(g, 1, &plane)), TENSOR(tc_prim_iota(g, 0, &plane)));
}

static tc_tensor masked(tc_graph *g, tc_site at, tc_tensor scores, tc_tensor mask)
{
    if (tc_is_poison(scores) || tc_is_poison(mask))
        return tc_poison();
    int rank;
    const tc_expr *shape[TC_MAX_RANK];
    if (!tc_broadcast_shape(g, &scores->type, &mask->type, &rank, shape))
        return tc_poison();
    bool grows = rank != scores->type.rank;
    for (int i = 0; !grows && i < rank; ++i)
        grows = shape[i] != scores->type.shape[i] && !tc_known_same(g, shape[i], scores->type.shape[i]);
    if (grows) {
        tc_fail(g, "[..., heads, rows of q, rows of k], sizes of 1 repeat", "the mask %s does not broadcast to %s",
                tc_type_text(g, &mask->type), tc_type_text(g, &scores->type));
        return tc_poison();
    }
    if (mask->type.dtype == TC_BOOL)
        return tc_where_at(at, mask, TENSOR(scores), NUMBER(-INFINITY));
    return tc_add_at(at, TENSOR(scores), TENSOR(mask));
}

static tc_tensor attend(tc_graph *g, const tc_attention_args *args)
{
    attention a = {.g = g, .at = args->at, .q = args->q, .k = args->k, .v = args->v, .groups = 1};
    if (!attention_shapes(&a))
        return tc_poison();
    const tc_type *q = &args->q->type;
    int rank = q->rank;
    int64_t features;
    double scale = args->scale;
    if (scale == 0) {
        if (!tc_expr_value(q->shape[rank - 1], &features) || features < 1) {
            tc_fail(g, "name it: .scale = ...", "no default scale for %s features", tc_expr_text(q->shape[rank - 1]));
            return tc_poison();
        }
        scale = 1 / sqrt((double)features);
    }
    /* a group's heads are free dims of the product beside the rows, so k and v are never repeated */
    bool grouped = a.groups > 1;
    if (grouped && rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "grouped heads need a rank below %d", TC_MAX_RANK);
        return tc_poison();
    }
    tc_tensor rows = grouped ? split_heads(&a, args->q) : args->q;
    tc_tensor scores = tc_prim_dot(g, rows, args->k, rank - 2, rank - 1 + grouped, rank - 1);
    if (grouped)
        scores = join_heads(&a, scores, q);
    scores = tc_mul_at(args->at, TENSOR(scores), NUMBER(scale));
    if (args->causal)
        scores = masked(g, args->at, scores,
                        causal_mask(g, args->at, q->shape[rank - 2], args->k->type.shape[rank - 2]));
    if (args->mask)
        scores = masked(g, args->at, scores, args->mask);
    tc_tensor p = tc_softmax_at(args->at, scores, -1);
    if (grouped && !tc_is_poison(p))
        p = split_heads(&a, p);
    tc_tensor out = tc_prim_dot(g, p, args->v, rank - 2, rank - 1 + grouped, rank - 2);
    return grouped ? join_heads(&a, out, q) : out;
}

tc_tensor tc_scaled_dot_product_attention_at(const tc_attention_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_scaled_dot_product_attention", "scaled_dot_product_attention",
                              "q k v ?mask", 4, (tc_tensor[]){args->q, args->k, args->v, args->mask});
    return g ? tc_op_leave(g, attend(g, args)) : tc_poison();
}
