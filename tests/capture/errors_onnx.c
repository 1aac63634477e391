/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of operations in ONNX's conventions: recurrent networks, attention, optimizers.
 */
#include "mistakes.h"

#define I64(...) IN(TC_I64, __VA_ARGS__)
#define LSTM F(3, 2, 5), F(1, 8, 5), F(1, 8, 2)
#define S IN(TC_F32)
#define STEP IN(TC_I64)

#define CASES(X)                                                                                                      \
    X(lstm_rank, "tc_onnx_lstm: needs floats of rank 3, not f32[2,5]", AT;                                            \
      tc_onnx_lstm(F(2, 5), F(1, 8, 5), F(1, 8, 2)))                                                                  \
    X(lstm_direction, "tc_onnx_lstm: 3 is no direction", AT; tc_onnx_lstm(LSTM, .direction = (tc_direction)3))        \
    X(gru_option, "tc_onnx_gru: c, peepholes and input_forget are an LSTM's, linear_before_reset is a GRU's", AT;     \
      tc_onnx_gru(F(3, 2, 5), F(1, 6, 5), F(1, 6, 2), .input_forget = true))                                          \
    X(rnn_function, "tc_onnx_rnn: 99 is no function of a cell", AT;                                                   \
      tc_onnx_rnn(F(3, 2, 5), F(1, 2, 5), F(1, 2, 2), .activations = {{(tc_cell_function)99}}))                       \
    X(lstm_r, "tc_onnx_lstm: r is f32[8,2]", AT; tc_onnx_lstm(F(3, 2, 5), F(1, 8, 5), F(8, 2)))                       \
    X(lstm_w, "tc_onnx_lstm: w is f32[1,8,4], not f32[1,8,5]", AT;                                                    \
      tc_onnx_lstm(F(3, 2, 5), F(1, 8, 4), F(1, 8, 2)))                                                               \
    X(lstm_h0, "tc_onnx_lstm: h0 is f32[2,2,2], not f32[1,2,2]", AT; tc_onnx_lstm(LSTM, .h0 = F(2, 2, 2)))            \
    X(lstm_lengths, "tc_onnx_lstm: the lengths are f32[2], not i32 or i64", AT; tc_onnx_lstm(LSTM, .lengths = F(2)))  \
    X(window, "tc_scaled_dot_product_attention: .offset and a .window above 0 are options of .causal", AT;            \
      tc_scaled_dot_product_attention(F(2, 3, 4), F(2, 3, 4), F(2, 3, 4), .window = 4))                               \
    X(lengths, "tc_scaled_dot_product_attention: the lengths are i64[3] for q f32[2,3,4]", AT;                        \
      tc_scaled_dot_product_attention(F(2, 3, 4), F(2, 3, 4), F(2, 3, 4), .lengths = I64(3)))                         \
    X(attention_rank, "tc_onnx_attention: q, k and v need one rank, 3 or 4: f32[3,4], f32[3,4], f32[3,4]", AT;        \
      tc_onnx_attention(F(3, 4), F(3, 4), F(3, 4)))                                                                   \
    X(attention_heads, "tc_onnx_attention: 3 heads of q and 2 of k and v", AT;                                        \
      tc_onnx_attention(F(2, 3, 6), F(2, 3, 4), F(2, 3, 4), .q_heads = 3, .kv_heads = 2))                             \
    X(attention_split, "tc_onnx_attention: q has 5 features for 2 heads", AT;                                         \
      tc_onnx_attention(F(2, 3, 5), F(2, 3, 4), F(2, 3, 4), .q_heads = 2, .kv_heads = 2))                             \
    X(attention_past, "tc_onnx_attention: past_key and past_value come together", AT;                                 \
      tc_onnx_attention(F(1, 2, 3, 4), F(1, 2, 3, 4), F(1, 2, 3, 4), .past_key = F(1, 2, 7, 4)))                      \
    X(rotary_heads, "tc_rotary_embedding: no heads to turn: f32[2,3,8] with .heads = 0", AT;                          \
      tc_rotary_embedding(F(2, 3, 8), F(2, 3, 4), F(2, 3, 4)))                                                        \
    X(rotary_dims, "tc_rotary_embedding: 7 of 8 features in pairs", AT;                                               \
      tc_rotary_embedding(F(2, 1, 3, 8), F(2, 3, 4), F(2, 3, 4), .dims = 7))                                          \
    X(rotary_table, "tc_rotary_embedding: cosines are f32[2,3,3] for f32[2,1,3,8]", AT;                               \
      tc_rotary_embedding(F(2, 1, 3, 8), F(2, 3, 3), F(2, 3, 4)))                                                     \
    X(linear_heads, "tc_linear_attention: 3 heads of q and 2 of k and v", AT;                                         \
      tc_linear_attention(F(1, 2, 6), F(1, 2, 4), F(1, 2, 4), .q_heads = 3, .kv_heads = 2))                           \
    X(linear_split, "tc_linear_attention: k is f32[1,2,5] for 2 heads", AT;                                           \
      tc_linear_attention(F(1, 2, 4), F(1, 2, 5), F(1, 2, 4), .q_heads = 2, .kv_heads = 2))                           \
    X(linear_state, "tc_linear_attention: the state is f32[1,2,2,3], not [1,2,2,2]", AT;                              \
      tc_linear_attention(F(1, 2, 4), F(1, 2, 4), F(1, 2, 4), .q_heads = 2, .kv_heads = 2, .state = F(1, 2, 2, 3)))   \
    X(rms_mean, "tc_rms_norm: .mean is of tc_layer_norm: nothing else subtracts one", tc_tensor m; AT;                \
      tc_rms_norm(F(2, 3), .mean = &m))                                                                               \
    X(adam_states, "tc_adam: what is remembered is left out, or another optimizer's", AT;                             \
      tc_adam(F(3), F(3), S, STEP, .squares = F(3)))                                                                  \
    X(adagrad_gradient, "tc_adagrad: gradient is f32[4] for x f32[3]", AT;                                            \
      tc_adagrad(F(3), F(4), S, STEP, .squares = F(3)))                                                               \
    X(momentum_rate, "tc_momentum: rate is f32[2], not one f32", AT;                                                  \
      tc_momentum(F(3), F(3), F(2), STEP, .momentum = F(3)))

MISTAKES(CASES)
