/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent networks, over sequences and one step at a time. What all operations share is said in ../ops.h.
 *
 * Weights are laid out as PyTorch's, with the gates one below the other (LSTM: i, f, g, o; GRU: r, z, n; RNN: one). Of
 * layer k, whose features are x's or directions * h, those of the layer below:
 *
 *     .weights[...]  by name                    shape
 *     .ih            NAME.weight_ih_l{k}        [gates * hidden, features]
 *     .hh            NAME.weight_hh_l{k}        [gates * hidden, h]
 *     .ih_bias       NAME.bias_ih_l{k}          [gates * hidden]
 *     .hh_bias       NAME.bias_hh_l{k}          [gates * hidden]
 *     .hr            NAME.weight_hr_l{k}        [h, hidden], of an LSTM with projections alone
 *
 * h is hidden, or the projection's size. The names of the reverse direction end in _reverse. Sequences may be of
 * dynamic length, 0 too.
 */
#ifndef TENSOR_COMPILE_OPS_RECURRENT_H
#define TENSOR_COMPILE_OPS_RECURRENT_H

#include "../model.h"

/* Of one layer and direction. Biases may be NULL; hr NULL where nothing is projected. */
typedef struct tc_recurrent_weights {
    tc_tensor ih, hh, ih_bias, hh_bias, hr;
} tc_recurrent_weights;

typedef struct tc_recurrent_args {
    tc_tensor x;                         /* [time, batch, features] */
    const char *name;                    /* weights NAME.weight_ih_l0, NAME.bias_hh_l1_reverse, ... as PyTorch's */
    const tc_recurrent_weights *weights; /* or, where name is NULL: of each layer, its reverse direction behind it */
    int layers;                          /* 0 means 1 */
    bool bidirectional, no_bias;
    bool projected;                      /* an LSTM with weights hr */
    bool batch_first;                    /* x and the result are [batch, time, ...] */
    bool relu;                           /* tc_rnn: instead of tanh */
    tc_tensor lengths;                   /* i32[batch] or i64[batch]: steps of each sequence; NULL: all of them */
    tc_tensor h0, c0;                    /* [layers * directions, batch, h], of c hidden; NULL: zeros */
    tc_tensor *h_n, *c_n;                /* become the last states, of the same shape; NULL where not wanted */
    tc_site at;                          /* set by the macro */
} tc_recurrent_args;

/* tc_lstm(x, "lstm", .layers = 2, .bidirectional = true, .no_bias = true, .projected = true, .batch_first = true,
 * .lengths = lengths, .h0 = h, .c0 = c, .h_n = &h, .c_n = &c),
 * tc_gru(x, "gru", ...), tc_rnn(x, "rnn", .relu = true, ...): the last layer's h of all steps, both directions side by
 * side; the weights by their name, or NULL and .weights = an array of tc_recurrent_weights, of each layer one, or two
 * where it is bidirectional. Every option may be left out; c and projections are an LSTM's. With s the sigmoid, b the
 * sum of both biases and h, c the states before the step:
 *
 *     LSTM  i, f, g, o = (x ih^T + b) + h hh^T;  c' = s(f) * c + s(i) * tanh(g);  h' = s(o) * tanh(c')  [h' hr^T]
 *     GRU   r, z = s((x ih^T + ih_bias) + (h hh^T + hh_bias))
 *           n = tanh((x ih^T + ih_bias) + r * (h hh^T + hh_bias));  h' = (1 - z) * n + z * h
 *     RNN   h' = tanh((x ih^T + b) + h hh^T)
 *
 * The products with x are one matmul for all steps. The next layer reads h of both directions side by side; nothing is
 * dropped out. .h_n and .c_n become the states behind the last step, layer by layer, in each the forward direction
 * first: what .h0 and .c0 take. With .lengths (what PyTorch packs), behind the length of a sequence its results are 0
 * and its states stay, and the reverse direction begins at its last step.
 *
 * Dtypes: floats, one for all.
 * Shape: x [time, batch, features] to [time, batch, directions * h]; with batch_first [batch, time, ...] both. h_n
 * [layers * directions, batch, h], c_n [layers * directions, batch, hidden].
 * Numerics: f16 and bf16 are rounded behind each product and each step, and computed in f32 between.
 * Errors: weights or states that do not fit one another or x. In both directions, a length above the number of steps is
 * a status.
 * ATen: lstm, gru, rnn_tanh, rnn_relu.
 * ONNX: LSTM, GRU (linear_before_reset = 1), RNN; their gates stand in another order. */
#define tc_lstm(...) tc_lstm_at(&(const tc_recurrent_args){__VA_ARGS__, .at = TC_HERE})
#define tc_gru(...) tc_gru_at(&(const tc_recurrent_args){__VA_ARGS__, .at = TC_HERE})
#define tc_rnn(...) tc_rnn_at(&(const tc_recurrent_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_lstm_at(const tc_recurrent_args *args);
tc_tensor tc_gru_at(const tc_recurrent_args *args);
tc_tensor tc_rnn_at(const tc_recurrent_args *args);

typedef struct tc_cell_args {
    tc_tensor x, h;               /* [batch, features], [batch, hidden] */
    tc_recurrent_weights weights;
    tc_tensor c;                  /* tc_lstm_cell: [batch, hidden] */
    tc_tensor *c_next;            /* tc_lstm_cell: becomes c' */
    bool relu;                    /* tc_rnn_cell: instead of tanh */
    tc_site at;                   /* set by the macro */
} tc_cell_args;

/* tc_lstm_cell(x, h, {ih, hh, ih_bias, hh_bias}, .c = c, .c_next = &c), tc_gru_cell(x, h, {...}),
 * tc_rnn_cell(x, h, {...}): one step; the new h.
 *
 * Dtypes: floats, one for all.
 * Shape: [batch, hidden]; of an LSTM with hr [batch, projection].
 * ATen: lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell. */
#define tc_lstm_cell(...) tc_lstm_cell_at(&(const tc_cell_args){__VA_ARGS__, .at = TC_HERE})
#define tc_gru_cell(...) tc_gru_cell_at(&(const tc_cell_args){__VA_ARGS__, .at = TC_HERE})
#define tc_rnn_cell(...) tc_rnn_cell_at(&(const tc_cell_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_lstm_cell_at(const tc_cell_args *args);
tc_tensor tc_gru_cell_at(const tc_cell_args *args);
tc_tensor tc_rnn_cell_at(const tc_cell_args *args);

#endif
