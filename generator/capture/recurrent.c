/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent networks: cells, and scans of them.
 */
#include "compose.h"

typedef enum { LSTM, GRU, RNN } cell_kind;

static const int gate_counts[] = {4, 3, 1};

/* One layer and direction, checked. */
typedef struct cell {
    cell_kind kind;
    bool relu;
    tc_dtype dtype;
    tc_recurrent_weights w;
    const tc_expr *hidden, *state; /* sizes of c and of h: they differ where h is projected */
} cell;

/* Gate i of what all gates are computed in. */
static tc_tensor gate(tc_site at, const cell *c, tc_tensor gates, int i)
{
    const tc_expr *first = tc_expr_mul_int(c->hidden, i);
    return tc_slice_at(at, gates, -1, tc_dim_of(first), tc_dim_of(tc_expr_add(first, c->hidden)), 1);
}

/* Gate i of both operands, added. */
static tc_tensor both_gates(tc_site at, const cell *c, tc_tensor x, tc_tensor inner, int i)
{
    tc_tensor outer = gate(at, c, x, i);
    return ADD(outer, gate(at, c, inner, i));
}

static tc_tensor linear(tc_site at, tc_tensor x, tc_tensor weight, tc_tensor bias)
{
    return tc_linear_at(&(const tc_linear_args){x, weight, bias, .at = at});
}

/* What depends on x alone, of any number of steps. */
static tc_tensor project(tc_site at, const cell *c, tc_tensor x)
{
    tc_tensor bias = c->w.ih_bias;
    if (c->kind != GRU && c->w.hh_bias)
        bias = bias ? ADD(bias, c->w.hh_bias) : c->w.hh_bias;
    return linear(at, x, c->w.ih, bias);
}

/* One step from the projected x: the new h; *state becomes the new c. Between its products a step computes f16 and bf16
 * in f32. */
static tc_tensor step(tc_site at, const cell *c, tc_tensor x, tc_tensor h, tc_tensor *state)
{
    tc_graph *g = tc_current_graph();
    tc_tensor inner = tc_prim_widen(g, linear(at, h, c->w.hh, c->kind == GRU ? c->w.hh_bias : NULL));
    x = tc_prim_widen(g, x);
    if (c->kind == RNN) {
        tc_tensor sum = ADD(inner, x);
        return tc_prim_narrow(g, c->relu ? tc_relu_at(at, sum) : tc_tanh_at(at, sum), c->dtype);
    }
    if (c->kind == GRU) {
        tc_tensor r = tc_sigmoid_at(at, both_gates(at, c, x, inner, 0));
        tc_tensor z = tc_sigmoid_at(at, both_gates(at, c, x, inner, 1));
        tc_tensor outer_n = gate(at, c, x, 2), inner_n = gate(at, c, inner, 2);
        tc_tensor n = tc_tanh_at(at, ADD(outer_n, MUL(r, inner_n)));
        tc_tensor made = MUL(SUB(1, z), n), kept = MUL(z, tc_prim_widen(g, h));
        return tc_prim_narrow(g, ADD(made, kept), c->dtype);
    }
    tc_tensor gates = ADD(inner, x);
    tc_tensor i = tc_sigmoid_at(at, gate(at, c, gates, 0)), f = tc_sigmoid_at(at, gate(at, c, gates, 1));
    tc_tensor made = tc_tanh_at(at, gate(at, c, gates, 2)), o = tc_sigmoid_at(at, gate(at, c, gates, 3));
    tc_tensor kept = MUL(f, tc_prim_widen(g, *state)), added = MUL(i, made), next = ADD(kept, added);
    *state = tc_prim_narrow(g, next, c->dtype);
    h = tc_prim_narrow(g, MUL(o, tc_tanh_at(at, next)), c->dtype);
    return c->w.hr ? linear(at, h, c->w.hr, NULL) : h;
}

/* -- checks ------------------------------------------------------------------------------------------------------- */

static bool is_matrix(const cell *c, tc_tensor x)
{
    return x && x->type.dtype == c->dtype && x->type.rank == 2;
}

static bool fits_rows(tc_graph *g, const cell *c, tc_tensor bias, const tc_expr *rows)
{
    return !bias ||
           (bias->type.dtype == c->dtype && bias->type.rank == 1 && tc_known_same(g, bias->type.shape[0], rows));
}

/* Fills c from its weights; features: of the layer's input. Reports what does not fit; silent where a weight is the
 * result of a failed call. */
static bool check_weights(tc_graph *g, cell *c, const tc_expr *features, int layer)
{
    const tc_recurrent_weights *w = &c->w;
    tc_tensor all[] = {w->ih, w->hh, w->ih_bias, w->hh_bias, w->hr};
    for (int i = 0; i < 5; ++i) {
        if (all[i] && !tc_made(g, all[i])) {
            tc_fail(g, "NULL for none", "layer %d: a weight is no tensor that was ever made", layer);
            return false;
        }
        if (all[i] && tc_is_poison(all[i]))
            return false;
    }
    int gates = gate_counts[c->kind];
    if (!is_matrix(c, w->ih) || !is_matrix(c, w->hh)) {
        tc_fail(g, NULL, "layer %d: the weights ih and hh are matrices of %s", layer, tc_dtype_name(c->dtype));
        return false;
    }
    const tc_expr *rows = w->ih->type.shape[0];
    c->hidden = tc_expr_floordiv(rows, tc_expr_const(&g->dims, gates));
    c->state = w->hh->type.shape[1];
    if (!tc_known_same(g, w->ih->type.shape[1], features)) {
        tc_fail(g, "ih is [gates * hidden, features]", "layer %d: the input has %s features, and ih is %s", layer,
                tc_expr_text(features), tc_type_text(g, &w->ih->type));
        return false;
    }
    bool good = tc_known_same(g, tc_expr_mul_int(c->hidden, gates), rows) &&
                tc_known_same(g, w->hh->type.shape[0], rows);
    if (w->hr)
        good = good && is_matrix(c, w->hr) && tc_known_same(g, w->hr->type.shape[1], c->hidden) &&
               tc_known_same(g, w->hr->type.shape[0], c->state);
    else
        good = good && tc_known_same(g, c->state, c->hidden);
    if (!good) {
        tc_fail(g, "ih is [gates * hidden, features], hh [gates * hidden, hidden]",
                "layer %d: weights %s and %s do not fit one another: %d gates", layer, tc_type_text(g, &w->ih->type),
                tc_type_text(g, &w->hh->type), gates);
        return false;
    }
    if (!fits_rows(g, c, w->ih_bias, rows) || !fits_rows(g, c, w->hh_bias, rows)) {
        tc_fail(g, NULL, "layer %d: a bias is not %s[%s]", layer, tc_dtype_name(c->dtype), tc_expr_text(rows));
        return false;
    }
    return true;
}

static bool check_state(tc_graph *g, const cell *c, const char *name, tc_tensor x, int rank,
                        const tc_expr *const *shape)
{
    if (!x)
        return true;
    bool good = x->type.dtype == c->dtype && x->type.rank == rank;
    for (int i = 0; good && i < rank; ++i)
        good = tc_same_dim(g, x->type.shape[i], shape[i]);
    if (!good)
        tc_fail(g, NULL, "%s is %s, not %s%s", name, tc_type_text(g, &x->type), tc_dtype_name(c->dtype),
                tc_shape_text(g, rank, shape));
    return good;
}

/* -- sequences ---------------------------------------------------------------------------------------------------- */

static tc_tensor named_weight(tc_graph *g, const tc_recurrent_args *args, const char *what, int layer, bool reverse)
{
    const char *name = tc_arena_format(&g->arena, "%s.%s_l%d%s", args->name, what, layer, reverse ? "_reverse" : "");
    return tc_weight_at(args->at, g, name, 0, NULL);
}

static tc_recurrent_weights weights_of(tc_graph *g, const tc_recurrent_args *args, int layer, bool reverse)
{
    if (!args->name)
        return args->weights[layer * (args->bidirectional ? 2 : 1) + reverse];
    tc_recurrent_weights w = {.ih = named_weight(g, args, "weight_ih", layer, reverse),
                              .hh = named_weight(g, args, "weight_hh", layer, reverse)};
    if (!args->no_bias) {
        w.ih_bias = named_weight(g, args, "bias_ih", layer, reverse);
        w.hh_bias = named_weight(g, args, "bias_hh", layer, reverse);
    }
    if (args->projected)
        w.hr = named_weight(g, args, "weight_hr", layer, reverse);
    return w;
}

/* What the states start from: part `index` of `given`, or zeros. */
static tc_tensor start(tc_site at, tc_graph *g, const cell *c, tc_tensor given, int index, const tc_expr *batch,
                       const tc_expr *size)
{
    if (given)
        return tc_select_at(at, given, 0, tc_dim_int_(index));
    tc_dim shape[] = {tc_dim_int_(c->dtype), tc_dim_of(batch), tc_dim_of(size)};
    return tc_full_at(at, g, tc_operand_float_(0), 3, shape);
}

/* Steps of [time, batch, ...] in the order of a direction: each sequence from its own last step. */
static tc_tensor backwards(tc_site at, tc_graph *g, tc_tensor x, tc_tensor lengths)
{
    if (tc_is_poison(x))
        return x;
    return lengths ? tc_reverse_sequence_at(at, x, lengths, 0, 1) : tc_prim_reverse(g, x, 1, (const int[]){0});
}

/* bool[time, batch, 1]: whether a sequence has that step. */
static tc_tensor steps_within(tc_site at, tc_graph *g, tc_tensor lengths, const tc_expr *steps, const tc_expr *batch)
{
    const tc_type type = {.dtype = lengths->type.dtype, .rank = 3, .shape = {steps, batch, g->dims.one}};
    tc_tensor iteration = tc_prim_iota(g, 0, &type);
    return LT(iteration, tc_unsqueeze_at(at, lengths, 1));
}

/* One layer in one direction over [time, batch, features]: h of all steps. *h and *c: the states before, then after.
 * Beyond a sequence's length its states stay, and its h of that step is 0. */
static tc_tensor run(tc_site at, tc_graph *g, const cell *c, tc_tensor x, tc_tensor lengths, bool reverse, tc_tensor *h,
                     tc_tensor *state)
{
    tc_tensor all = tc_poison(), projected = project(at, c, x), within = NULL;
    if (lengths)
        within = steps_within(at, g, lengths, x->type.shape[0], x->type.shape[1]);
    if (reverse)
        projected = backwards(at, g, projected, lengths);
    tc_dim iterations = tc_size_at(at, x, 0);
    tc_tensor *const both[] = {h, state, NULL}, *const one[] = {h, NULL};
    tc_scan_begin_at(at, g, iterations, "steps, &h, &c", c->kind == LSTM ? both : one);
    tc_tensor before = *h, state_before = *state, now = step(at, c, tc_each_at(at, projected), *h, state);
    *h = now;
    if (lengths) {
        tc_tensor here = tc_each_at(at, within);
        *h = WHERE(here, now, before);
        now = WHERE(here, now, 0);
        if (c->kind == LSTM)
            *state = WHERE(here, *state, state_before);
    }
    tc_collect_at(at, now, &all);
    tc_block_end(g);
    return reverse ? backwards(at, g, all, lengths) : all;
}

static tc_tensor stacked(tc_site at, int count, const tc_tensor *parts)
{
    tc_tensor rows[64];
    for (int i = 0; i < count; ++i)
        rows[i] = tc_unsqueeze_at(at, parts[i], 0);
    return count == 1 ? rows[0] : tc_concat_at(at, 0, count, rows);
}

/* x is [time, batch, features] here. */
static tc_tensor layers(tc_graph *g, const tc_recurrent_args *args, cell_kind kind, tc_tensor x)
{
    tc_site at = args->at;
    int count = args->layers ? args->layers : 1, directions = args->bidirectional ? 2 : 1;
    tc_tensor h_n[64], c_n[64];
    const tc_expr *batch = x->type.shape[1];
    for (int layer = 0; layer < count; ++layer) {
        tc_tensor outputs[2];
        for (int d = 0; d < directions; ++d) {
            int index = layer * directions + d;
            cell c = {.kind = kind, .relu = args->relu, .dtype = x->type.dtype, .w = weights_of(g, args, layer, d)};
            if (!check_weights(g, &c, x->type.shape[2], layer))
                return tc_poison();
            const tc_expr *parts = tc_expr_const(&g->dims, count * directions);
            if (!index && !(check_state(g, &c, "h0", args->h0, 3, (const tc_expr *[]){parts, batch, c.state}) &&
                            check_state(g, &c, "c0", args->c0, 3, (const tc_expr *[]){parts, batch, c.hidden})))
                return tc_poison();
            h_n[index] = start(at, g, &c, args->h0, index, batch, c.state);
            c_n[index] = kind == LSTM ? start(at, g, &c, args->c0, index, batch, c.hidden) : NULL;
            outputs[d] = run(at, g, &c, x, args->lengths, d, &h_n[index], &c_n[index]);
            if (tc_is_poison(outputs[d]))
                return tc_poison();
        }
        x = directions == 1 ? outputs[0] : tc_concat_at(at, 2, 2, outputs);
    }
    if (args->h_n)
        *args->h_n = stacked(at, count * directions, h_n);
    if (args->c_n && kind == LSTM)
        *args->c_n = stacked(at, count * directions, c_n);
    return x;
}

static bool check_lengths(tc_graph *g, const tc_recurrent_args *args)
{
    const tc_type *x = &args->x->type;
    if (!args->lengths)
        return true;
    const tc_type *lengths = &args->lengths->type;
    if ((lengths->dtype == TC_I32 || lengths->dtype == TC_I64) && lengths->rank == 1 &&
        tc_same_dim(g, lengths->shape[0], x->shape[!args->batch_first]))
        return true;
    tc_fail(g, "i32 or i64, one a sequence of the batch", "the lengths are %s for x %s", tc_type_text(g, lengths),
            tc_type_text(g, x));
    return false;
}

static tc_tensor sequence(const tc_recurrent_args *args, cell_kind kind, const char *name, const char *region)
{
    tc_site at = args->at;
    tc_tensor operands[] = {args->x, args->h0, args->c0, args->lengths}, out = tc_poison();
    tc_graph *g = tc_op_enter(at, name, region, "x ?h0 ?c0 ?lengths", 4, operands);
    if (g) {
        tc_tensor x = args->x;
        if (!tc_dtype_is_float(x->type.dtype) || x->type.rank != 3)
            tc_fail(g, "[time, batch, features]", "needs floats of rank 3, not %s", tc_type_text(g, &x->type));
        else if (!args->name == !args->weights)
            tc_fail(g, NULL, "give the weights by name, or as tensors in .weights");
        else if (args->layers < 0 || args->layers > 32)
            tc_fail(g, NULL, "%d layers; 1 to 32 are possible", args->layers);
        else if (kind != LSTM && (args->c0 || args->c_n || args->projected))
            tc_fail(g, NULL, "c and projections are an LSTM's");
        else if (!check_lengths(g, args))
            ; /* reported */
        else if (args->batch_first) {
            out = layers(g, args, kind, tc_transpose_at(at, x, 0, 1));
            out = tc_is_poison(out) ? out : tc_transpose_at(at, out, 0, 1);
        } else {
            out = layers(g, args, kind, x);
        }
        tc_op_leave(g, NULL);
    }
    if (tc_is_poison(out)) {
        if (args->h_n)
            *args->h_n = out;
        if (args->c_n)
            *args->c_n = out;
    }
    return out;
}

tc_tensor tc_lstm_at(const tc_recurrent_args *args)
{
    return sequence(args, LSTM, "tc_lstm", "lstm");
}

tc_tensor tc_gru_at(const tc_recurrent_args *args)
{
    return sequence(args, GRU, "tc_gru", "gru");
}

tc_tensor tc_rnn_at(const tc_recurrent_args *args)
{
    return sequence(args, RNN, "tc_rnn", "rnn");
}

/* -- single steps ------------------------------------------------------------------------------------------------- */

static tc_tensor one_step(const tc_cell_args *args, cell_kind kind, const char *name, const char *region)
{
    tc_site at = args->at;
    const tc_recurrent_weights *w = &args->weights;
    tc_tensor operands[] = {args->x, args->h, args->c, w->ih, w->hh, w->ih_bias, w->hh_bias, w->hr}, out = tc_poison();
    tc_graph *g = tc_op_enter(at, name, region,
                              kind == LSTM ? "x h c ih hh ?ih_bias ?hh_bias ?hr" : "x h ?c ih hh ?ih_bias ?hh_bias ?hr",
                              8, operands);
    tc_tensor state = args->c;
    if (g) {
        tc_tensor x = args->x;
        cell c = {.kind = kind, .relu = args->relu, .dtype = x->type.dtype, .w = *w};
        if (!tc_dtype_is_float(x->type.dtype) || x->type.rank != 2)
            tc_fail(g, "[batch, features]", "needs floats of rank 2, not %s", tc_type_text(g, &x->type));
        else if (kind != LSTM && (args->c || args->c_next || w->hr))
            tc_fail(g, NULL, "c and projections are an LSTM's");
        else if (check_weights(g, &c, x->type.shape[1], 0) &&
                 check_state(g, &c, "h", args->h, 2, (const tc_expr *[]){x->type.shape[0], c.state}) &&
                 check_state(g, &c, "c", state, 2, (const tc_expr *[]){x->type.shape[0], c.hidden}))
            out = step(at, &c, project(at, &c, x), args->h, &state);
        tc_op_leave(g, NULL);
    }
    if (args->c_next)
        *args->c_next = tc_is_poison(out) ? out : state;
    return out;
}

tc_tensor tc_lstm_cell_at(const tc_cell_args *args)
{
    return one_step(args, LSTM, "tc_lstm_cell", "lstm_cell");
}

tc_tensor tc_gru_cell_at(const tc_cell_args *args)
{
    return one_step(args, GRU, "tc_gru_cell", "gru_cell");
}

tc_tensor tc_rnn_cell_at(const tc_cell_args *args)
{
    return one_step(args, RNN, "tc_rnn_cell", "rnn_cell");
}
