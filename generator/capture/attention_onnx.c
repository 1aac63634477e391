/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention in ONNX's conventions: heads side by side, caches; and rotary embeddings.
 */
#include "compose.h"

/* x[b, l, heads * d] as [b, heads, l, d]. */
static tc_tensor split_heads(tc_graph *g, tc_site at, const char *name, tc_tensor x, int heads)
{
    const tc_type *t = &x->type;
    const tc_expr *count = tc_expr_const(&g->dims, heads), *features = tc_expr_exact_div(t->shape[2], count);
    if (!features) {
        tc_fail(g, NULL, "%s has %s features for %d heads", name, tc_expr_text(t->shape[2]), heads);
        return tc_poison();
    }
    tc_tensor y = tc_prim_reshape(g, x, 4, (const tc_expr *[]){t->shape[0], t->shape[1], count, features});
    return tc_transpose_at(at, y, 1, 2);
}

/* [b, heads, l, d] as [b, l, heads * d]. */
static tc_tensor join_heads(tc_graph *g, tc_site at, tc_tensor x)
{
    if (tc_is_poison(x))
        return x;
    const tc_type *t = &x->type;
    const tc_expr *shape[] = {t->shape[0], t->shape[2], tc_expr_mul(t->shape[1], t->shape[3])};
    return tc_prim_reshape(g, tc_transpose_at(at, x, 1, 2), 3, shape);
}

/* The mask with as many columns as there are: those that it lacks are hidden. */
static tc_tensor widened(tc_graph *g, tc_site at, tc_tensor mask, const tc_expr *columns)
{
    const int rank = mask->type.rank;
    if (!rank || tc_expr_is(mask->type.shape[rank - 1], 1) || tc_known_same(g, mask->type.shape[rank - 1], columns))
        return mask;
    const tc_expr *lacking = tc_expr_sub(columns, mask->type.shape[rank - 1]);
    if (!tc_expr_nonnegative(lacking))
        return mask;
    const tc_operand hidden = mask->type.dtype == TC_BOOL ? tc_operand_int_(0) : tc_operand_float_(-1.0 / 0.0);
    return tc_pad_axis_at(at, mask, rank - 1, tc_dim_int_(0), tc_dim_of(lacking), hidden);
}

static bool check_heads(tc_graph *g, const tc_onnx_attention_args *a)
{
    const int rank = a->q->type.rank;
    if ((rank != 3 && rank != 4) || a->k->type.rank != rank || a->v->type.rank != rank) {
        tc_fail(g, "[b, heads, l, d], or [b, l, heads * d]", "q, k and v need one rank, 3 or 4: %s, %s, %s",
                tc_type_text(g, &a->q->type), tc_type_text(g, &a->k->type), tc_type_text(g, &a->v->type));
        return false;
    }
    if (rank == 3 && (a->q_heads < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads)) {
        tc_fail(g, "heads side by side need .q_heads and .kv_heads, the first a multiple of the second",
                "%d heads of q and %d of k and v", a->q_heads, a->kv_heads);
        return false;
    }
    if (!a->past_key != !a->past_value) {
        tc_fail(g, NULL, "past_key and past_value come together");
        return false;
    }
    return true;
}

static tc_tensor attention(tc_graph *g, const tc_onnx_attention_args *a)
{
    const tc_site at = a->at;
    const bool joined = a->q->type.rank == 3;
    if (!check_heads(g, a))
        return tc_poison();
    tc_tensor q = joined ? split_heads(g, at, "q", a->q, a->q_heads) : a->q;
    tc_tensor k = joined ? split_heads(g, at, "k", a->k, a->kv_heads) : a->k;
    tc_tensor v = joined ? split_heads(g, at, "v", a->v, a->kv_heads) : a->v;
    tc_dim offset = {0};
    if (a->past_key) {
        k = tc_concat_at(at, 2, 2, (const tc_tensor[]){a->past_key, k});
        v = tc_concat_at(at, 2, 2, (const tc_tensor[]){a->past_value, v});
        if (a->causal)
            offset = tc_size_at(at, a->past_key, 2);
    }
    if (tc_is_poison(q) || tc_is_poison(k) || tc_is_poison(v))
        return tc_poison();
    if (a->present_key)
        *a->present_key = k;
    if (a->present_value)
        *a->present_value = v;
    tc_tensor mask = a->mask ? widened(g, at, a->mask, k->type.shape[2]) : NULL;
    tc_tensor y = tc_scaled_dot_product_attention_at(&(const tc_attention_args){.q = q,
                                                                                .k = k,
                                                                                .v = v,
                                                                                .mask = mask,
                                                                                .causal = a->causal,
                                                                                .scale = a->scale,
                                                                                .softcap = a->softcap,
                                                                                .offset = offset,
                                                                                .window = a->window,
                                                                                .lengths = a->lengths,
                                                                                .scores = a->scores,
                                                                                .scores_at = a->scores_at,
                                                                                .at = at});
    return joined ? join_heads(g, at, y) : y;
}

tc_tensor tc_onnx_attention_at(const tc_onnx_attention_args *a)
{
    tc_graph *g = tc_op_enter(a->at, "tc_onnx_attention", "onnx_attention",
                              "q k v ?mask ?past_key ?past_value ?lengths", 7,
                              (tc_tensor[]){a->q, a->k, a->v, a->mask, a->past_key, a->past_value, a->lengths});
    tc_tensor *const others[] = {a->present_key, a->present_value, a->scores};
    for (int i = 0; i < 3; ++i)
        if (others[i])
            *others[i] = tc_poison();
    return g ? tc_op_leave(g, attention(g, a)) : tc_poison();
}

/* -- rotary embeddings --------------------------------------------------------------------------------------------- */

/* cosines or sines as [b, 1, l, pairs], widened. */
static tc_tensor angles(tc_graph *g, const tc_rotary_embedding_args *args, const char *name, tc_tensor table,
                        const tc_type *x, int64_t pairs)
{
    const tc_site at = args->at;
    if (!tc_check_same_dtype(g, x, &table->type))
        return tc_poison();
    if (args->positions && table->type.rank == 2)
        table = tc_gather_at(at, table, args->positions, 0);
    if (tc_is_poison(table))
        return table;
    const tc_type *t = &table->type;
    if (t->rank != 3 || !tc_same_dim(g, t->shape[0], x->shape[0]) || !tc_same_dim(g, t->shape[1], x->shape[2]) ||
        !tc_expr_is(t->shape[2], pairs)) {
        tc_fail(g, "[b, l, dims / 2], or with .positions[b, l] a table [places, dims / 2]", "%s are %s for %s", name,
                tc_type_text(g, t), tc_type_text(g, x));
        return tc_poison();
    }
    return tc_unsqueeze_at(at, tc_prim_widen(g, table), 1);
}

/* Pair members of x[b, h, l, dims]: number 0 or 1 of each. */
static tc_tensor members(tc_site at, tc_tensor x, bool interleaved, int number, int64_t dims)
{
    if (interleaved)
        return tc_slice_at(at, x, 3, tc_dim_int_(number), tc_dim_int_(dims), 2);
    return tc_slice_at(at, x, 3, tc_dim_int_(number * dims / 2), tc_dim_int_((number + 1) * dims / 2), 1);
}

static tc_tensor rotate(tc_graph *g, const tc_rotary_embedding_args *args, tc_tensor given)
{
    const tc_site at = args->at;
    int64_t features = 0;
    const int64_t dims = tc_expr_value(given->type.shape[3], &features) && !args->dims ? features : args->dims;
    if (features < 1 || dims < 2 || dims % 2 || dims > features) {
        tc_fail(g, ".dims = an even number of them", "%lld of %s features in pairs", (long long)dims,
                tc_expr_text(given->type.shape[3]));
        return tc_poison();
    }
    tc_tensor cosines = angles(g, args, "cosines", args->cosines, &given->type, dims / 2);
    tc_tensor sines = angles(g, args, "sines", args->sines, &given->type, dims / 2);
    tc_tensor x = tc_prim_widen(g, given), turned = tc_slice_at(at, x, 3, tc_dim_int_(0), tc_dim_int_(dims), 1);
    tc_tensor first = members(at, turned, args->interleaved, 0, dims),
              second = members(at, turned, args->interleaved, 1, dims);
    tc_tensor a = MUL(cosines, first), b = MUL(sines, second), c = MUL(sines, first), d = MUL(cosines, second), both[2];
    both[0] = SUB(a, b);
    both[1] = ADD(c, d);
    if (args->interleaved) {
        tc_tensor pairs = tc_stack_at(at, 4, 2, both);
        turned = tc_is_poison(pairs) ? pairs : tc_prim_reshape(g, pairs, 4, turned->type.shape);
    } else {
        turned = tc_concat_at(at, 3, 2, both);
    }
    if (dims < features) {
        tc_tensor rest = tc_slice_at(at, x, 3, tc_dim_int_(dims), tc_dim_int_(features), 1);
        turned = tc_concat_at(at, 3, 2, (const tc_tensor[]){turned, rest});
    }
    return tc_prim_narrow(g, turned, given->type.dtype);
}

static tc_tensor rotary_embedding(tc_graph *g, const tc_rotary_embedding_args *args)
{
    const tc_type *x = &args->x->type;
    if (!tc_check_float(g, x))
        return tc_poison();
    if (x->rank != 4 && (x->rank != 3 || args->heads < 1)) {
        tc_fail(g, "[b, heads, l, d], or [b, l, heads * d] with .heads", "no heads to turn: %s with .heads = %d",
                tc_type_text(g, x), args->heads);
        return tc_poison();
    }
    if (x->rank == 4)
        return rotate(g, args, args->x);
    tc_tensor split = split_heads(g, args->at, "x", args->x, args->heads);
    return tc_is_poison(split) ? split : join_heads(g, args->at, rotate(g, args, split));
}

tc_tensor tc_rotary_embedding_at(const tc_rotary_embedding_args *args)
{
    tc_graph *g = tc_op_enter(args->at, "tc_rotary_embedding", "rotary_embedding", "x cosines sines ?positions", 4,
                              (tc_tensor[]){args->x, args->cosines, args->sines, args->positions});
    return g ? tc_op_leave(g, rotary_embedding(g, args)) : tc_poison();
}
