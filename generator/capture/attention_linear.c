/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear attention: a matrix of state a head, a scan over the steps.
 */
#include <math.h>

#include "compose.h"

/* x[b, t, groups * d] as [t, b, groups, d], widened: what a scan walks. */
static tc_tensor steps_of(tc_graph *g, tc_site at, const char *name, tc_tensor x, int groups)
{
    const tc_type *t = &x->type;
    const tc_expr *count = tc_expr_const(&g->dims, groups),
                  *features = t->rank == 3 ? tc_expr_exact_div(t->shape[2], count) : NULL;
    if (!features) {
        tc_fail(g, "[b, t, heads * features]", "%s is %s for %d heads", name, tc_type_text(g, t), groups);
        return tc_poison();
    }
    tc_tensor y = tc_prim_reshape(g, x, 4, (const tc_expr *[]){t->shape[0], t->shape[1], count, features});
    return tc_prim_widen(g, tc_transpose_at(at, y, 0, 1));
}

/* One step: S[b, h, dk, dv] before, q[b, h', dk], k[b, h, dk] and so on; the new S, and the result [b, h' * dv]. */
static tc_tensor linear_step(const tc_linear_attention_args *a, tc_tensor *s, tc_tensor q, tc_tensor k, tc_tensor v,
                             tc_tensor decay, tc_tensor beta, double scale)
{
    const tc_site at = a->at;
    tc_graph *g = tc_current_graph();
    tc_tensor row = tc_unsqueeze_at(at, k, 2), column = tc_unsqueeze_at(at, k, 3), added = tc_unsqueeze_at(at, v, 2);
    if (decay)
        *s = MUL(*s, tc_exp_at(at, tc_unsqueeze_at(at, decay, 3)));
    if (beta) {
        added = SUB(added, tc_matmul_at(at, row, *s));
        added = MUL(added, tc_unsqueeze_at(at, beta, 3));
    }
    *s = ADD(*s, MUL(column, added));
    if (tc_is_poison(*s))
        return *s;
    const tc_type *t = &(*s)->type;
    const tc_expr *groups = tc_expr_const(&g->dims, a->q_heads / a->kv_heads);
    tc_tensor rows = tc_prim_reshape(g, q, 4, (const tc_expr *[]){t->shape[0], t->shape[1], groups, t->shape[2]});
    tc_tensor y = MUL(tc_matmul_at(at, rows, *s), scale);
    if (tc_is_poison(y))
        return y;
    const tc_expr *joined = tc_expr_mul_int(t->shape[3], a->q_heads);
    return tc_prim_reshape(g, y, 2, (const tc_expr *[]){t->shape[0], joined});
}

static tc_tensor linear_attention(tc_graph *g, const tc_linear_attention_args *a)
{
    const tc_site at = a->at;
    const tc_dtype dtype = a->q->type.dtype;
    if (!tc_check_float(g, &a->q->type))
        return tc_poison();
    const tc_tensor all[] = {a->k, a->v, a->state, a->decay, a->beta};
    for (int i = 0; i < 5; ++i)
        if (all[i] && !tc_check_same_dtype(g, &a->q->type, &all[i]->type))
            return tc_poison();
    if (a->q_heads < 1 || a->kv_heads < 1 || a->q_heads % a->kv_heads) {
        tc_fail(g, ".q_heads is a multiple of .kv_heads", "%d heads of q and %d of k and v", a->q_heads, a->kv_heads);
        return tc_poison();
    }
    tc_tensor q = steps_of(g, at, "q", a->q, a->q_heads), k = steps_of(g, at, "k", a->k, a->kv_heads);
    tc_tensor v = steps_of(g, at, "v", a->v, a->kv_heads);
    tc_tensor decay = a->decay ? steps_of(g, at, "decay", a->decay, a->kv_heads) : NULL;
    const bool one_beta = a->beta && a->beta->type.rank == 3 && tc_expr_is(a->beta->type.shape[2], 1);
    tc_tensor beta = a->beta ? steps_of(g, at, "beta", a->beta, one_beta ? 1 : a->kv_heads) : NULL;
    if (tc_is_poison(q) || tc_is_poison(k) || tc_is_poison(v) || (decay && tc_is_poison(decay)) ||
        (beta && tc_is_poison(beta)))
        return tc_poison();
    const tc_type *t = &k->type;
    const tc_expr *shape[] = {t->shape[1], t->shape[2], t->shape[3], v->type.shape[3]};
    double scale = a->scale;
    int64_t features;
    if (scale == 0 && (!tc_expr_value(t->shape[3], &features) || features < 1)) {
        tc_fail(g, "name it: .scale = ...", "no default scale for %s features", tc_expr_text(t->shape[3]));
        return tc_poison();
    }
    scale = scale != 0 ? scale : 1 / sqrt((double)features);
    bool fits = !a->state || a->state->type.rank == 4;
    for (int i = 0; a->state && fits && i < 4; ++i)
        fits = tc_same_dim(g, a->state->type.shape[i], shape[i]);
    if (!fits) {
        tc_fail(g, "[b, heads, features of k, features of v]", "the state is %s, not %s",
                tc_type_text(g, &a->state->type), tc_shape_text(g, 4, shape));
        return tc_poison();
    }
    tc_tensor state = a->state ? tc_prim_widen(g, a->state) : NULL, y = tc_poison();
    if (!state) {
        tc_tensor zero = tc_constant_of(g, q->type.dtype, tc_operand_int_(0));
        state = tc_broadcast_to(g, zero, 4, shape);
    }
    tc_scan_begin_at(at, g, tc_size_at(at, q, 0), "steps, &state", (tc_tensor *const[]){&state, NULL});
    tc_tensor q_now = tc_each_at(at, q), k_now = tc_each_at(at, k), v_now = tc_each_at(at, v);
    tc_tensor decay_now = decay ? tc_each_at(at, decay) : NULL, beta_now = beta ? tc_each_at(at, beta) : NULL;
    tc_collect_at(at, linear_step(a, &state, q_now, k_now, v_now, decay_now, beta_now, scale), &y);
    tc_block_end(g);
    if (a->present_state)
        *a->present_state = tc_prim_narrow(g, state, dtype);
    return tc_is_poison(y) ? y : tc_prim_narrow(g, tc_transpose_at(at, y, 0, 1), dtype);
}

tc_tensor tc_linear_attention_at(const tc_linear_attention_args *a)
{
    tc_graph *g = tc_op_enter(a->at, "tc_linear_attention", "linear_attention", "q k v ?state ?decay ?beta", 6,
                              (tc_tensor[]){a->q, a->k, a->v, a->state, a->decay, a->beta});
    if (a->present_state)
        *a->present_state = tc_poison();
    return g ? tc_op_leave(g, linear_attention(g, a)) : tc_poison();
}
