/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent networks in ONNX's conventions, 5 features to 6 of the state, against ONNX Runtime.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim t = tc_dynamic(g, "t", 1, 9), b = tc_dynamic(g, "b", 1, 17)
#define IN(name, ...) tc_input(g, name, TC_F32, __VA_ARGS__)
#define WEIGHTS(directions, gates)                                                                                    \
    IN("x", t, b, 5), IN("w", directions, gates * 6, 5), IN("r", directions, gates * 6, 6),                           \
        IN("bias", directions, 2 * gates * 6)

TC_MODEL(recurrent_onnx)
{
}

/* Of a sequence's own length, limited by the steps that there are. */
static tc_tensor lengths(tc_graph *g, tc_dim t, tc_dim b)
{
    return tc_clamp(tc_input(g, "lengths", TC_I32, b), 0, tc_dim_value(g, TC_I32, t));
}

TC_FUNCTION(op_lstm)
{
    SIZES;
    tc_tensor h, c;
    tc_output(g, "y", tc_onnx_lstm(WEIGHTS(1, 4), .h_n = &h, .c_n = &c));
    tc_output(g, "h_n", h);
    tc_output(g, "c_n", c);
}

TC_FUNCTION(op_lstm_everything)
{
    SIZES;
    tc_tensor h, c;
    tc_output(g, "y", tc_onnx_lstm(WEIGHTS(2, 4), .lengths = lengths(g, t, b), .h0 = IN("h0", 2, b, 6),
                                   .c0 = IN("c0", 2, b, 6), .peepholes = IN("peepholes", 2, 18),
                                   .direction = TC_BIDIRECTIONAL, .clip = 0.7, .h_n = &h, .c_n = &c,
                                   .activations = {{TC_CELL_HARD_SIGMOID, 0.2, 0.5}, {TC_CELL_SCALED_TANH, 1.5, 0.6},
                                                   {TC_CELL_SOFTSIGN}, {TC_CELL_SIGMOID}, {TC_CELL_LEAKY_RELU, 0.1},
                                                   {TC_CELL_ELU, 0.9}}));
    tc_output(g, "h_n", h);
    tc_output(g, "c_n", c);
}

TC_FUNCTION(op_lstm_coupled)
{
    SIZES;
    tc_output(g, "y", tc_onnx_lstm(WEIGHTS(1, 4), .direction = TC_REVERSE, .input_forget = true));
}

/* layout = 1: batch first. */
TC_FUNCTION(op_lstm_batch_first)
{
    SIZES;
    tc_tensor h, c;
    tc_output(g, "y", tc_onnx_lstm(IN("x", b, t, 5), IN("w", 2, 24, 5), IN("r", 2, 24, 6), .direction = TC_BIDIRECTIONAL,
                                   .batch_first = true, .h0 = IN("h0", b, 2, 6), .h_n = &h, .c_n = &c));
    tc_output(g, "h_n", h);
    tc_output(g, "c_n", c);
}

TC_FUNCTION(op_gru)
{
    SIZES;
    tc_tensor h;
    tc_output(g, "y", tc_onnx_gru(WEIGHTS(2, 3), .lengths = lengths(g, t, b), .h0 = IN("h0", 2, b, 6),
                                  .direction = TC_BIDIRECTIONAL, .h_n = &h));
    tc_output(g, "h_n", h);
}

TC_FUNCTION(op_gru_linear)
{
    SIZES;
    tc_tensor h;
    tc_output(g, "y", tc_onnx_gru(WEIGHTS(1, 3), .direction = TC_REVERSE, .linear_before_reset = true, .clip = 0.5, .h_n = &h,
                                  .activations = {{TC_CELL_SIGMOID}, {TC_CELL_SOFTPLUS}}));
    tc_output(g, "h_n", h);
}

TC_FUNCTION(op_rnn)
{
    SIZES;
    tc_tensor h;
    tc_output(g, "y", tc_onnx_rnn(WEIGHTS(2, 1), .lengths = lengths(g, t, b), .direction = TC_BIDIRECTIONAL, .h_n = &h,
                                  .activations = {{TC_CELL_RELU}, {TC_CELL_AFFINE, 0.4, 0.1}}));
    tc_output(g, "h_n", h);
}

TC_FUNCTION(op_rnn_plain)
{
    SIZES;
    tc_tensor x = IN("x", t, b, 5), w = IN("w", 1, 6, 5), r = IN("r", 1, 6, 6);
    tc_output(g, "y", tc_onnx_rnn(x, w, r));
    tc_output(g, "thresholded", tc_onnx_rnn(x, w, r, .activations = {{TC_CELL_THRESHOLDED_RELU, 0.3}}));
}
