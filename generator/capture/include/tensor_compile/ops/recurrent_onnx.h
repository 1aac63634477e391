/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent networks as ONNX has them: its weights, its order of gates, its options. What all operations share is said
 * in ../ops.h; networks in PyTorch's conventions are tc_lstm, tc_gru and tc_rnn.
 */
#ifndef TENSOR_COMPILE_OPS_RECURRENT_ONNX_H
#define TENSOR_COMPILE_OPS_RECURRENT_ONNX_H

#include "../model.h"

typedef enum tc_direction { TC_FORWARD, TC_REVERSE, TC_BIDIRECTIONAL } tc_direction;

/* f(x) of a cell. 0: the cell's own. leaky_relu, thresholded_relu (x above alpha, else 0), elu: alpha; affine alpha x +
 * beta; scaled_tanh alpha tanh(beta x); hard_sigmoid alpha x + beta limited to 0..1. */
typedef enum tc_cell_function {
    TC_CELL_TANH = 1,
    TC_CELL_SIGMOID,
    TC_CELL_RELU,
    TC_CELL_LEAKY_RELU,
    TC_CELL_THRESHOLDED_RELU,
    TC_CELL_AFFINE,
    TC_CELL_SCALED_TANH,
    TC_CELL_HARD_SIGMOID,
    TC_CELL_ELU,
    TC_CELL_SOFTSIGN,
    TC_CELL_SOFTPLUS
} tc_cell_function;

typedef struct tc_cell_activation {
    tc_cell_function function;
    double alpha, beta; /* as they are: 0 where left out */
} tc_cell_activation;

typedef struct tc_onnx_recurrent_args {
    tc_tensor x;                       /* [time, batch, features] */
    tc_tensor w, r;                    /* [directions, gates * hidden, features], [directions, gates * hidden, hidden] */
    tc_tensor bias;                    /* [directions, 2 * gates * hidden]: those beside w, then those beside r; NULL: 0 */
    tc_tensor lengths;                 /* i32[batch] or i64[batch]: steps of each sequence; NULL: all of them */
    tc_tensor h0, c0;                  /* [directions, batch, hidden]; NULL: zeros */
    tc_tensor peepholes;               /* an LSTM's, [directions, 3 * hidden]: beside i, o, f; NULL: none */
    tc_direction direction;
    tc_cell_activation activations[6]; /* f, g (and h) of the first direction, then of the second */
    double clip;                       /* not 0: what f and g are applied to is limited to -clip..clip */
    bool batch_first;                  /* layout = 1 */
    bool input_forget;                 /* an LSTM's: f = 1 - i */
    bool linear_before_reset;          /* a GRU's */
    tc_tensor *h_n, *c_n;              /* become the states behind the last step; NULL where not wanted */
    tc_site at;                        /* set by the macro */
} tc_onnx_recurrent_args;

/* tc_onnx_lstm(x, w, r, bias, .lengths, .h0, .c0, .peepholes, .direction = TC_BIDIRECTIONAL,
 * .activations = {{TC_CELL_SIGMOID}, {TC_CELL_TANH}, {TC_CELL_TANH}}, .clip = 3, .input_forget = true,
 * .batch_first = true, .h_n = &h, .c_n = &c),
 * tc_onnx_gru(x, w, r, bias, .linear_before_reset = true, ...), tc_onnx_rnn(x, w, r, bias, ...): h of all steps and
 * directions. With W, R and b of a gate, b the sum of both biases, p the peepholes and h, c the states before the step:
 *
 *     LSTM  i, o, f, c~ in this order; i = f(x W^T + h R^T + b + p c), f the same, c~ = g(x W^T + h R^T + b);
 *           c' = f * c + i * c~; o = f(x W^T + h R^T + b + p c'); h' = o * h(c')
 *     GRU   z, r, h~ in this order; z, r = f(x W^T + h R^T + b); h~ = g(x W^T + (r * h) R^T + b), or before the reset
 *           g(x W^T + r * (h R^T + Rb) + Wb); h' = (1 - z) * h~ + z * h
 *     RNN   h' = f(x W^T + h R^T + b)
 *
 * f is the sigmoid, g and h tanh where no other is named; of an RNN f is tanh. Behind the length of a sequence its
 * results are 0 and its states stay, and the reverse direction begins at its last step.
 *
 * Dtypes: floats, one for all.
 * Shape: x [time, batch, features] to [time, directions, batch, hidden], states [directions, batch, hidden]; with
 * batch_first x [batch, time, features] to [batch, time, directions, hidden], states [batch, directions, hidden].
 * Numerics: the products with x are one matmul for all steps. 16 bits are computed in f32 throughout, states too, and
 * results are rounded once.
 * Errors: weights or states that do not fit one another or x; options of another cell.
 * ATen: none.
 * ONNX: LSTM, GRU, RNN. */
#define tc_onnx_lstm(...) tc_onnx_lstm_at(&(const tc_onnx_recurrent_args){__VA_ARGS__, .at = TC_HERE})
#define tc_onnx_gru(...) tc_onnx_gru_at(&(const tc_onnx_recurrent_args){__VA_ARGS__, .at = TC_HERE})
#define tc_onnx_rnn(...) tc_onnx_rnn_at(&(const tc_onnx_recurrent_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_onnx_lstm_at(const tc_onnx_recurrent_args *args);
tc_tensor tc_onnx_gru_at(const tc_onnx_recurrent_args *args);
tc_tensor tc_onnx_rnn_at(const tc_onnx_recurrent_args *args);

#endif
