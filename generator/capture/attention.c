/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention.
 */
#include <math.h>

#include "compose.h"
#include "reductions.h"

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
            tc_fail(g, is_heads ? "the heads of q are a multiple of those of k" : NULL, "q and k differ in axis %d: %s",
                    i, types);
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

/* The bool tensor [l, s] that is true where column <= row + offset, and column > row + offset - window. */
static tc_tensor causal_mask(tc_graph *g, const tc_attention_args *args, const tc_expr *rows, const tc_expr *columns)
{
    const tc_site at = args->at;
    const tc_expr *offset = tc_dim_expr(g, args->offset);
    tc_type plane = {.dtype = TC_I32, .rank = 2, .shape = {rows, columns}};
    tc_tensor column = tc_prim_iota(g, 1, &plane), row = tc_prim_iota(g, 0, &plane);
    if (!tc_expr_is(offset, 0))
        row = ADD(row, tc_size_value(g, TC_I32, offset));
    tc_tensor seen = LE(column, row);
    return args->window ? AND(seen, GT(column, SUB(row, args->window))) : seen;
}

/* bool [b, 1..., s], of the scores' rank: which columns each batch has. */
static tc_tensor length_mask(tc_graph *g, tc_site at, tc_tensor lengths, const tc_type *scores)
{
    tc_type row = {.dtype = lengths->type.dtype, .rank = scores->rank};
    const tc_expr *column[TC_MAX_RANK];
    for (int i = 0; i < scores->rank; ++i) {
        row.shape[i] = i + 1 == scores->rank ? scores->shape[i] : g->dims.one;
        column[i] = i ? g->dims.one : scores->shape[0];
    }
    tc_tensor place = tc_prim_iota(g, scores->rank - 1, &row);
    return LT(place, tc_prim_reshape(g, lengths, scores->rank, column));
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
        return WHERE(mask, scores, (double)-INFINITY);
    return ADD(scores, tc_prim_widen(g, mask));
}

/* What is put out of softmax, or added to its operand. terms: the predicate of what is left, or NULL. */
static tc_tensor with_masks(tc_graph *g, const tc_attention_args *args, tc_tensor scores, tc_tensor *terms)
{
    const tc_site at = args->at;
    const tc_type *q = &args->q->type, *k = &args->k->type;
    tc_tensor masks[3];
    int count = 0;
    if (tc_is_poison(scores))
        return scores;
    if (args->causal)
        masks[count++] = causal_mask(g, args, q->shape[q->rank - 2], k->shape[k->rank - 2]);
    if (args->lengths)
        masks[count++] = length_mask(g, at, args->lengths, &scores->type);
    if (args->mask)
        masks[count++] = args->mask;
    *terms = NULL;
    for (int i = 0; i < count; ++i) {
        scores = masked(g, at, scores, masks[i]);
        if (!tc_is_poison(scores) && masks[i]->type.dtype == TC_BOOL)
            *terms = *terms ? AND(*terms, masks[i]) : masks[i];
    }
    return scores;
}

static bool read_scale(tc_graph *g, const tc_attention_args *args, double *scale)
{
    const tc_expr *features = args->q->type.shape[args->q->type.rank - 1];
    int64_t value;
    *scale = args->scale;
    if (args->scale != 0)
        return true;
    if (tc_expr_value(features, &value) && value > 0) {
        *scale = 1 / sqrt((double)value);
        return true;
    }
    tc_fail(g, "name it: .scale = ...", "no default scale for %s features", tc_expr_text(features));
    return false;
}

static bool check_options(tc_graph *g, const tc_attention_args *args)
{
    const tc_type *q = &args->q->type, *n = args->lengths ? &args->lengths->type : NULL;
    if (args->window < 0 || (!args->causal && (args->window || !tc_expr_is(tc_dim_expr(g, args->offset), 0)))) {
        tc_fail(g, ".window = a number of columns", ".offset and a .window above 0 are options of .causal");
        return false;
    }
    if (n && ((n->dtype != TC_I32 && n->dtype != TC_I64) || n->rank != 1 || q->rank < 3 ||
              !tc_same_dim(g, n->shape[0], q->shape[0]))) {
        tc_fail(g, "i32 or i64, one a batch, axis 0 of q", "the lengths are %s for q %s", tc_type_text(g, n),
                tc_type_text(g, q));
        return false;
    }
    return true;
}

/* The scores where they are asked for, in the dtype of q. */
static void give_scores(tc_graph *g, const tc_attention_args *args, tc_attention_scores step, tc_tensor scores)
{
    if (args->scores && args->scores_at == step)
        *args->scores = tc_prim_narrow(g, scores, args->q->type.dtype);
}

/* 16-bit floats are in f32 from the first product to the last: the result alone is rounded. */
static tc_tensor attend(tc_graph *g, const tc_attention_args *args)
{
    const tc_site at = args->at;
    attention a = {.g = g, .at = at, .q = args->q, .k = args->k, .v = args->v, .groups = 1};
    double scale;
    if (!attention_shapes(&a) || !read_scale(g, args, &scale) || !check_options(g, args))
        return tc_poison();
    const tc_type *q = &args->q->type;
    const int rank = q->rank;
    /* a group's heads are free dims of the product beside the rows, so k and v are never repeated */
    const bool grouped = a.groups > 1;
    if (grouped && rank == TC_MAX_RANK) {
        tc_fail(g, NULL, "grouped heads need a rank below %d", TC_MAX_RANK);
        return tc_poison();
    }
    if (args->mask && args->mask->type.dtype != TC_BOOL && !tc_check_same_dtype(g, q, &args->mask->type))
        return tc_poison();
    tc_tensor rows = tc_prim_widen(g, args->q), columns = tc_prim_widen(g, args->k);
    rows = grouped ? split_heads(&a, rows) : rows;
    tc_tensor scores = tc_prim_dot(g, rows, columns, rank - 2, rank - 1 + grouped, rank - 1);
    if (grouped)
        scores = join_heads(&a, scores, q);
    scores = MUL(scores, scale);
    give_scores(g, args, TC_SCORES_SCALED, scores);
    if (args->softcap != 0)
        scores = MUL(tc_tanh_at(at, DIV(scores, args->softcap)), args->softcap);
    give_scores(g, args, TC_SCORES_CAPPED, scores);
    tc_tensor terms = NULL;
    scores = with_masks(g, args, scores, &terms);
    give_scores(g, args, TC_SCORES_MASKED, scores);
    const bool whole = !args->causal && !args->lengths && !args->mask;
    tc_tensor p = whole ? tc_softmax_at(at, TC_SOFTMAX, scores, 1, (const int[]){-1}) : tc_softmax_or_zeros(at, scores);
    give_scores(g, args, TC_SCORES_SOFTMAX, p);
    if (tc_is_poison(p) || (terms && tc_is_poison(terms)))
        return tc_poison();
    if (terms)
        terms = tc_predicate_of(g, p, terms);
    if (grouped) {
        p = split_heads(&a, p);
        terms = terms ? split_heads(&a, terms) : NULL;
    }
    tc_tensor values = tc_prim_widen(g, args->v);
    tc_tensor out = tc_prim_dot_where(g, p, values, terms, true, rank - 2, rank - 1 + grouped, rank - 2);
    return tc_prim_narrow(g, grouped ? join_heads(&a, out, q) : out, q->dtype);
}

tc_tensor tc_scaled_dot_product_attention_at(const tc_attention_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_scaled_dot_product_attention", "scaled_dot_product_attention",
                              "q k v ?mask ?lengths", 5,
                              (tc_tensor[]){args->q, args->k, args->v, args->mask, args->lengths});
    if (args->scores)
        *args->scores = tc_poison();
    return g ? tc_op_leave(g, attend(g, args)) : tc_poison();
}
