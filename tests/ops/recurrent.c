/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent networks: sequences of dynamic length (0 too) and single steps, in PyTorch's conventions.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim t = tc_dynamic(g, "t", 0, 64), b = tc_dynamic(g, "b", 1, 32)

TC_MODEL(recurrent)
{
    tc_weights(g, "recurrent.weights");
}

/* Two layers, both directions, batch first, states given and asked for. */
TC_FUNCTION(op_lstm)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, b, t, 5), h = tc_input(g, "h", TC_F32, 4, b, 6);
    tc_tensor c = tc_input(g, "c", TC_F32, 4, b, 6), h_n, c_n;
    tc_output(g, "y", tc_lstm(x, "lstm", .layers = 2, .bidirectional = true, .batch_first = true, .h0 = h, .c0 = c,
                              .h_n = &h_n, .c_n = &c_n));
    tc_output(g, "h_n", h_n);
    tc_output(g, "c_n", c_n);
}

/* One layer of many channels, from zeros. */
TC_FUNCTION(op_lstm_wide)
{
    SIZES;
    tc_output(g, "y", tc_lstm(tc_input(g, "x", TC_F32, t, b, 9), "wide"));
}

TC_FUNCTION(op_lstm_projected)
{
    SIZES;
    tc_tensor h_n, c_n;
    tc_output(g, "y", tc_lstm(tc_input(g, "x", TC_F32, t, b, 5), "projected", .projected = true, .no_bias = true,
                              .h_n = &h_n, .c_n = &c_n));
    tc_output(g, "h_n", h_n);
    tc_output(g, "c_n", c_n);
}

TC_FUNCTION(op_gru)
{
    SIZES;
    tc_tensor h = tc_input(g, "h", TC_F32, 2, b, 6), h_n;
    tc_output(g, "y", tc_gru(tc_input(g, "x", TC_F32, t, b, 5), "gru", .bidirectional = true, .h0 = h, .h_n = &h_n));
    tc_output(g, "h_n", h_n);
}

/* Sequences of their own lengths. */
TC_FUNCTION(op_lengths)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, t, b, 5), given = tc_input(g, "lengths", TC_I64, b), h_n, c_n;
    tc_tensor lengths = tc_clamp(given, 0, tc_dim_value(g, TC_I64, t));
    tc_output(g, "y", tc_lstm(x, "lstm", .bidirectional = true, .lengths = lengths, .h_n = &h_n, .c_n = &c_n));
    tc_output(g, "h_n", h_n);
    tc_output(g, "c_n", c_n);
    tc_output(g, "gated", tc_gru(tc_transpose(x, 0, 1), "gru", .batch_first = true, .lengths = lengths));
}

TC_FUNCTION(op_rnn)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, t, b, 5), h_n;
    tc_output(g, "y", tc_rnn(x, "rnn", .layers = 2, .h_n = &h_n));
    tc_output(g, "h_n", h_n);
    tc_output(g, "rectified", tc_rnn(x, "rnn", .layers = 2, .relu = true));
}

/* Weights as tensors, here inputs of the model. */
TC_FUNCTION(op_lstm_given)
{
    SIZES;
    tc_recurrent_weights w = {tc_input(g, "ih", TC_F32, 24, 5), tc_input(g, "hh", TC_F32, 24, 6),
                              tc_input(g, "ih_bias", TC_F32, 24), tc_input(g, "hh_bias", TC_F32, 24), NULL};
    tc_output(g, "y", tc_lstm(tc_input(g, "x", TC_F32, t, b, 5), .weights = &w));
}

/* In double precision. */
TC_FUNCTION(op_gru_double)
{
    SIZES;
    tc_recurrent_weights w = {tc_cast(tc_weight(g, "gru.weight_ih_l0"), TC_F64),
                              tc_cast(tc_weight(g, "gru.weight_hh_l0"), TC_F64),
                              tc_cast(tc_weight(g, "gru.bias_ih_l0"), TC_F64), NULL, NULL};
    tc_output(g, "y", tc_cast(tc_gru(tc_input(g, "x", TC_F64, t, b, 5), .weights = &w), TC_F32));
}

/* Streaming: one step a call, the states kept by the model. */
TC_FUNCTION(op_cells)
{
    tc_dim b = tc_dynamic(g, "b", 1, 32);
    tc_tensor x = tc_input(g, "x", TC_F32, b, 5), h = tc_input(g, "h", TC_F32, b, 6);
    tc_tensor c = tc_input(g, "c", TC_F32, b, 6), after;
    tc_output(g, "lstm", tc_lstm_cell(x, h, {tc_weight(g, "lstm.weight_ih_l0"), tc_weight(g, "lstm.weight_hh_l0"),
                                             tc_weight(g, "lstm.bias_ih_l0"), tc_weight(g, "lstm.bias_hh_l0"), NULL},
                                      .c = c, .c_next = &after));
    tc_output(g, "lstm_c", after);
    tc_output(g, "gru", tc_gru_cell(x, h, {tc_weight(g, "gru.weight_ih_l0"), tc_weight(g, "gru.weight_hh_l0"),
                                           tc_weight(g, "gru.bias_ih_l0"), tc_weight(g, "gru.bias_hh_l0"), NULL}));
    tc_output(g, "rnn", tc_rnn_cell(x, h, {tc_weight(g, "rnn.weight_ih_l0"), tc_weight(g, "rnn.weight_hh_l0"),
                                           tc_weight(g, "rnn.bias_ih_l0"), NULL, NULL}, .relu = true));
}
