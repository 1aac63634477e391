/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent networks in ONNX's conventions: one layer, a scan a direction.
 */
#include "compose.h"

typedef enum { LSTM, GRU, RNN } cell_kind;

enum { MOST_FUNCTIONS = 3 };

static const int gate_counts[] = {4, 3, 1}, function_counts[] = {3, 2, 1};

/* One direction: its weights in f32 where they have 16 bits. */
typedef struct cell {
    tc_graph *g;
    tc_site at;
    cell_kind kind;
    const tc_onnx_recurrent_args *args;
    tc_cell_activation functions[MOST_FUNCTIONS];
    const tc_expr *hidden;
    tc_tensor w, r, w_bias, r_bias, p; /* biases and peepholes: NULL where there are none */
} cell;

/* Part i of `size` along the last axis. */
static tc_tensor part(const cell *c, tc_tensor x, int i, int count)
{
    const tc_expr *first = tc_expr_mul_int(c->hidden, i), *stop = tc_expr_mul_int(c->hidden, i + count);
    return tc_slice_at(c->at, x, -1, tc_dim_of(first), tc_dim_of(stop), 1);
}

/* -- functions ----------------------------------------------------------------------------------------------------- */

static tc_tensor apply(const cell *c, int which, tc_tensor x)
{
    const tc_site at = c->at;
    const double alpha = c->functions[which].alpha, beta = c->functions[which].beta;
    if (c->args->clip != 0 && which < 2) /* gates: the state that h is applied to is not clipped */
        x = MINIMUM(MAXIMUM(x, -c->args->clip), c->args->clip);
    switch (c->functions[which].function) {
    case TC_CELL_TANH: return tc_tanh_at(at, x);
    case TC_CELL_SIGMOID: return tc_sigmoid_at(at, x);
    case TC_CELL_RELU: return tc_relu_at(at, x);
    case TC_CELL_LEAKY_RELU: return tc_leaky_relu_at(at, x, alpha);
    case TC_CELL_THRESHOLDED_RELU: return tc_threshold_at(at, x, alpha, 0);
    case TC_CELL_AFFINE: return ADD(MUL(x, alpha), beta);
    case TC_CELL_SCALED_TANH: return MUL(tc_tanh_at(at, MUL(x, beta)), alpha);
    case TC_CELL_HARD_SIGMOID: return MINIMUM(MAXIMUM(ADD(MUL(x, alpha), beta), 0), 1);
    case TC_CELL_ELU: {
        tc_tensor above = MAXIMUM(x, 0);
        return ADD(above, MUL(tc_expm1_at(at, MINIMUM(x, 0)), alpha));
    }
    case TC_CELL_SOFTSIGN: return tc_softsign_at(at, x);
    case TC_CELL_SOFTPLUS: {
        tc_tensor above = MAXIMUM(x, 0);
        return ADD(above, tc_log1p_at(at, tc_exp_at(at, tc_neg_at(at, tc_abs_at(at, x)))));
    }
    }
    return tc_poison();
}

/* -- one step ------------------------------------------------------------------------------------------------------ */

static tc_tensor times(const cell *c, tc_tensor x, tc_tensor weight, tc_tensor bias)
{
    return tc_linear_at(&(const tc_linear_args){x, weight, bias, .at = c->at});
}

static tc_tensor gru_step(const cell *c, tc_tensor x, tc_tensor h)
{
    const tc_site at = c->at;
    const tc_expr *both = tc_expr_mul_int(c->hidden, 2), *all = tc_expr_mul_int(c->hidden, 3);
    tc_tensor inner, made;
    if (c->args->linear_before_reset) {
        inner = times(c, h, c->r, c->r_bias);
    } else {
        tc_tensor gates = tc_slice_at(at, c->r, 0, tc_dim_int_(0), tc_dim_of(both), 1);
        inner = times(c, h, gates, NULL);
    }
    tc_tensor sums = part(c, x, 0, 2), gates = apply(c, 0, ADD(sums, part(c, inner, 0, 2)));
    tc_tensor z = part(c, gates, 0, 1), r = part(c, gates, 1, 1), outer = part(c, x, 2, 1);
    if (c->args->linear_before_reset) {
        made = MUL(r, part(c, inner, 2, 1));
    } else {
        tc_tensor last = tc_slice_at(at, c->r, 0, tc_dim_of(both), tc_dim_of(all), 1);
        made = times(c, MUL(r, h), last, NULL);
    }
    made = apply(c, 1, ADD(outer, made));
    tc_tensor rest = SUB(1, z), added = MUL(rest, made);
    return ADD(added, MUL(z, h));
}

static tc_tensor lstm_step(const cell *c, tc_tensor x, tc_tensor h, tc_tensor *state)
{
    const tc_site at = c->at;
    tc_tensor sums = ADD(x, times(c, h, c->r, NULL)), i = part(c, sums, 0, 1), o = part(c, sums, 1, 1);
    tc_tensor f = part(c, sums, 2, 1), made = apply(c, 1, part(c, sums, 3, 1));
    if (c->p) {
        tc_tensor beside_i = part(c, c->p, 0, 1);
        i = ADD(i, MUL(beside_i, *state));
    }
    i = apply(c, 0, i);
    if (c->args->input_forget) {
        f = SUB(1, i);
    } else {
        if (c->p) {
            tc_tensor beside_f = part(c, c->p, 2, 1);
            f = ADD(f, MUL(beside_f, *state));
        }
        f = apply(c, 0, f);
    }
    tc_tensor kept = MUL(f, *state);
    *state = ADD(kept, MUL(i, made));
    if (c->p) {
        tc_tensor beside_o = part(c, c->p, 1, 1);
        o = ADD(o, MUL(beside_o, *state));
    }
    o = apply(c, 0, o);
    return MUL(o, apply(c, 2, *state));
}

/* The new h from the projected x; *state becomes the new c. */
static tc_tensor step(const cell *c, tc_tensor x, tc_tensor h, tc_tensor *state)
{
    const tc_site at = c->at;
    if (c->kind == LSTM)
        return lstm_step(c, x, h, state);
    return c->kind == GRU ? gru_step(c, x, h) : apply(c, 0, ADD(x, times(c, h, c->r, NULL)));
}

/* -- checks -------------------------------------------------------------------------------------------------------- */

static bool check_shape(tc_graph *g, const char *name, tc_tensor x, tc_dtype dtype, int rank,
                        const tc_expr *const *shape)
{
    if (!x)
        return true;
    bool good = x->type.dtype == dtype && x->type.rank == rank;
    for (int i = 0; good && i < rank; ++i)
        good = tc_same_dim(g, x->type.shape[i], shape[i]);
    if (!good)
        tc_fail(g, NULL, "%s is %s, not %s%s", name, tc_type_text(g, &x->type), tc_dtype_name(dtype),
                tc_shape_text(g, rank, shape));
    return good;
}

static bool check_options(tc_graph *g, cell_kind kind, const tc_onnx_recurrent_args *args)
{
    const tc_type *x = &args->x->type;
    if (!tc_dtype_is_float(x->dtype) || x->rank != 3) {
        tc_fail(g, "[time, batch, features]", "needs floats of rank 3, not %s", tc_type_text(g, x));
        return false;
    }
    if (args->direction < TC_FORWARD || args->direction > TC_BIDIRECTIONAL) {
        tc_fail(g, "TC_FORWARD, TC_REVERSE or TC_BIDIRECTIONAL", "%d is no direction", (int)args->direction);
        return false;
    }
    if ((kind != LSTM && (args->c0 || args->c_n || args->peepholes || args->input_forget)) ||
        (kind != GRU && args->linear_before_reset)) {
        tc_fail(g, NULL, "c, peepholes and input_forget are an LSTM's, linear_before_reset is a GRU's");
        return false;
    }
    for (int i = 0; i < 6; ++i) {
        if (args->activations[i].function < 0 || args->activations[i].function > TC_CELL_SOFTPLUS) {
            tc_fail(g, "TC_CELL_TANH and so on", "%d is no function of a cell", (int)args->activations[i].function);
            return false;
        }
    }
    return true;
}

/* Sizes and dtypes of all tensors. */
static bool check_tensors(tc_graph *g, cell_kind kind, const tc_onnx_recurrent_args *args, const tc_expr **hidden)
{
    const tc_type *x = &args->x->type, *r = &args->r->type;
    const int gates = gate_counts[kind];
    if (r->rank != 3) {
        tc_fail(g, "[directions, gates * hidden, hidden]", "r is %s", tc_type_text(g, r));
        return false;
    }
    const tc_expr *h = *hidden = r->shape[2], *rows = tc_expr_mul_int(h, gates), *both = tc_expr_mul_int(rows, 2);
    const tc_expr *directions = tc_expr_const(&g->dims, args->direction == TC_BIDIRECTIONAL ? 2 : 1);
    const tc_expr *batch = x->shape[!args->batch_first];
    const tc_expr *states[] = {directions, batch, h}, *first[] = {batch, directions, h};
    const tc_expr *const *state = args->batch_first ? first : states;
    if (args->lengths && args->lengths->type.dtype != TC_I32 && args->lengths->type.dtype != TC_I64) {
        tc_fail(g, NULL, "the lengths are %s, not i32 or i64", tc_type_text(g, &args->lengths->type));
        return false;
    }
    return check_shape(g, "r", args->r, x->dtype, 3, (const tc_expr *[]){directions, rows, h}) &&
           check_shape(g, "w", args->w, x->dtype, 3, (const tc_expr *[]){directions, rows, x->shape[2]}) &&
           check_shape(g, "bias", args->bias, x->dtype, 2, (const tc_expr *[]){directions, both}) &&
           check_shape(g, "peepholes", args->peepholes, x->dtype, 2,
                       (const tc_expr *[]){directions, tc_expr_mul_int(h, 3)}) &&
           check_shape(g, "lengths", args->lengths, args->lengths ? args->lengths->type.dtype : TC_I64, 1, &batch) &&
           check_shape(g, "h0", args->h0, x->dtype, 3, state) && check_shape(g, "c0", args->c0, x->dtype, 3, state);
}

/* -- sequences ----------------------------------------------------------------------------------------------------- */

static tc_tensor direction_of(const cell *c, tc_tensor x, int direction)
{
    return x ? tc_prim_widen(c->g, tc_select_at(c->at, x, 0, tc_dim_int_(direction))) : NULL;
}

static cell make_cell(tc_graph *g, cell_kind kind, const tc_onnx_recurrent_args *args, const tc_expr *hidden,
                      int direction)
{
    cell c = {.g = g, .at = args->at, .kind = kind, .args = args, .hidden = hidden};
    for (int i = 0; i < function_counts[kind]; ++i) {
        c.functions[i] = args->activations[direction * function_counts[kind] + i];
        if (!c.functions[i].function)
            c.functions[i].function = i == 0 && kind != RNN ? TC_CELL_SIGMOID : TC_CELL_TANH;
    }
    c.w = direction_of(&c, args->w, direction);
    c.r = direction_of(&c, args->r, direction);
    c.p = direction_of(&c, args->peepholes, direction);
    if (args->bias) {
        const tc_site at = args->at;
        tc_tensor bias = direction_of(&c, args->bias, direction);
        c.w_bias = part(&c, bias, 0, gate_counts[kind]);
        c.r_bias = part(&c, bias, gate_counts[kind], gate_counts[kind]);
        if (!args->linear_before_reset)
            c.w_bias = ADD(c.w_bias, c.r_bias);
    }
    return c;
}

static tc_tensor backwards(const cell *c, tc_tensor x)
{
    tc_tensor lengths = c->args->lengths;
    if (tc_is_poison(x))
        return x;
    return lengths ? tc_reverse_sequence_at(c->at, x, lengths, 0, 1) : tc_prim_reverse(c->g, x, 1, (const int[]){0});
}

/* h of all steps, [time, batch, hidden]; *h and *state: before, then after. x is [time, batch, features]. */
static tc_tensor run(const cell *c, tc_tensor x, bool reverse, tc_tensor *h, tc_tensor *state)
{
    const tc_site at = c->at;
    tc_graph *g = c->g;
    tc_tensor all = tc_poison(), projected = times(c, x, c->w, c->w_bias), within = NULL;
    if (c->args->lengths) {
        const tc_type type = {.dtype = c->args->lengths->type.dtype,
                              .rank = 3,
                              .shape = {x->type.shape[0], x->type.shape[1], g->dims.one}};
        tc_tensor iteration = tc_prim_iota(g, 0, &type);
        within = LT(iteration, tc_unsqueeze_at(at, c->args->lengths, 1));
    }
    if (reverse)
        projected = backwards(c, projected);
    tc_tensor *const both[] = {h, state, NULL}, *const one[] = {h, NULL};
    tc_scan_begin_at(at, g, tc_size_at(at, x, 0), "steps, &h, &c", c->kind == LSTM ? both : one);
    tc_tensor before = *h, state_before = *state, now = step(c, tc_each_at(at, projected), *h, state);
    *h = now;
    if (within) {
        tc_tensor here = tc_each_at(at, within);
        *h = WHERE(here, now, before);
        now = WHERE(here, now, 0);
        if (c->kind == LSTM)
            *state = WHERE(here, *state, state_before);
    }
    tc_collect_at(at, now, &all);
    tc_block_end(g);
    return reverse ? backwards(c, all) : all;
}

/* The state before the first step, [batch, hidden]. */
static tc_tensor start(const cell *c, tc_tensor given, int direction, const tc_expr *batch, tc_dtype dtype)
{
    if (given)
        return tc_prim_widen(c->g, tc_select_at(c->at, given, c->args->batch_first ? 1 : 0, tc_dim_int_(direction)));
    const tc_dim shape[] = {tc_dim_int_(dtype), tc_dim_of(batch), tc_dim_of(c->hidden)};
    return tc_full_at(c->at, c->g, tc_operand_float_(0), 3, shape);
}

static tc_tensor layer(tc_graph *g, cell_kind kind, const tc_onnx_recurrent_args *args)
{
    const tc_site at = args->at;
    const tc_expr *hidden;
    if (!check_options(g, kind, args) || !check_tensors(g, kind, args, &hidden))
        return tc_poison();
    const tc_dtype dtype = args->x->type.dtype;
    tc_tensor x = tc_prim_widen(g, args->x), h[2], state[2] = {NULL, NULL}, y[2];
    if (args->batch_first)
        x = tc_transpose_at(at, x, 0, 1);
    const int count = args->direction == TC_BIDIRECTIONAL ? 2 : 1;
    for (int i = 0; i < count; ++i) {
        const cell c = make_cell(g, kind, args, hidden, i);
        h[i] = start(&c, args->h0, i, x->type.shape[1], x->type.dtype);
        if (kind == LSTM)
            state[i] = start(&c, args->c0, i, x->type.shape[1], x->type.dtype);
        y[i] = run(&c, x, args->direction == TC_REVERSE || i, &h[i], &state[i]);
        if (tc_is_poison(y[i]))
            return tc_poison();
    }
    const int axis = args->batch_first ? 1 : 0;
    if (args->h_n)
        *args->h_n = tc_prim_narrow(g, tc_stack_at(at, axis, count, h), dtype);
    if (args->c_n)
        *args->c_n = tc_prim_narrow(g, tc_stack_at(at, axis, count, state), dtype);
    if (args->batch_first)
        for (int i = 0; i < count; ++i)
            y[i] = tc_transpose_at(at, y[i], 0, 1);
    return tc_prim_narrow(g, tc_stack_at(at, args->batch_first ? 2 : 1, count, y), dtype);
}

static tc_tensor entered(const tc_onnx_recurrent_args *args, cell_kind kind, const char *name, const char *region)
{
    tc_tensor operands[] = {args->x, args->w, args->r, args->bias, args->lengths, args->h0, args->c0, args->peepholes};
    tc_graph *g = tc_op_enter(args->at, name, region, "x w r ?bias ?lengths ?h0 ?c0 ?peepholes", 8, operands);
    if (args->h_n)
        *args->h_n = tc_poison();
    if (args->c_n)
        *args->c_n = tc_poison();
    return g ? tc_op_leave(g, layer(g, kind, args)) : tc_poison();
}

tc_tensor tc_onnx_lstm_at(const tc_onnx_recurrent_args *args)
{
    return entered(args, LSTM, "tc_onnx_lstm", "onnx_lstm");
}

tc_tensor tc_onnx_gru_at(const tc_onnx_recurrent_args *args)
{
    return entered(args, GRU, "tc_onnx_gru", "onnx_gru");
}

tc_tensor tc_onnx_rnn_at(const tc_onnx_recurrent_args *args)
{
    return entered(args, RNN, "tc_onnx_rnn", "onnx_rnn");
}
