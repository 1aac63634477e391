/* SPDX-License-Identifier: Apache-2.0
 *
 * Every message of TC_SCAN, TC_WHILE, TC_IF and of recurrent networks, and what the blocks record.
 */
#include "mistakes.h"

/* No inputs: they are not made within blocks. */
#undef F
#define F(...) tc_full(g, 1, TC_F32, __VA_ARGS__)
#define S tc_full(g, 1, TC_F32)

#define CASES(X)                                                                                                      \
    X(carry_type, "TC_SCAN: h is f32[2] before an iteration and f32[3] behind it", tc_tensor h = F(2); AT;                  \
      TC_SCAN(g, 3, &h) { h = F(3); })                                                                                \
    X(carry_dtype, "TC_WHILE: b is f32[] before an iteration and i64[] behind it", tc_tensor a = F(1), b = S; AT;         \
      TC_WHILE(g, &a, &b) { tc_test(tc_gt(b, 1)); b = tc_cast(b, TC_I64); })                                          \
    X(carry_of_array, "TC_SCAN: hs[1] is f32[2] before an iteration", tc_tensor hs[2] = {F(2), F(2)}; AT;                   \
      TC_SCAN(g, 3, &hs[0], &hs[1]) { hs[1] = F(3); })                                                                \
    X(carry_dynamic, "TC_SCAN: h is f32[n] before an iteration and f32[n+1] behind it",                                   \
      tc_dim n = tc_dynamic(g, "n", 1, 9); tc_tensor h = F(n); AT;                                                    \
      TC_SCAN(g, 3, &h) { h = F(tc_dim_add(n, 1)); })                                                                 \
    X(no_value, "TC_SCAN: h has no value before the block", tc_tensor h = NULL; AT; TC_SCAN(g, 3, &h) { h = F(2); })  \
    X(no_value_behind, "TC_SCAN: h has no value at the end of the block", tc_tensor h = F(2); AT;                     \
      TC_SCAN(g, 3, &h) { h = NULL; })                                                                                \
    X(break_if, "TC_IF: it is left by break, return or goto", tc_tensor p = tc_gt(S, 0), y = p; AT;                   \
      TC_IF(g, p, &y) { break; } TC_ELSE(g) { })                                                                      \
    X(never_set, "TC_SCAN: h has no value before the block", tc_tensor h = (tc_tensor)&at; AT;                        \
      TC_SCAN(g, 3, &h) { h = F(2); })                                                                                \
    X(never_set_behind, "TC_SCAN: h has no value at the end of the block", tc_tensor h = F(2); AT;                    \
      TC_SCAN(g, 3, &h) { h = (tc_tensor)&at; })                                                                      \
    X(twice, "TC_SCAN: h is listed twice", tc_tensor h = F(2); AT; TC_SCAN(g, 3, &h, &h) { h = tc_neg(h); })          \
    X(iterations, "TC_SCAN: the number of iterations is negative: -1", tc_tensor h = F(2); AT; TC_SCAN(g, -1, &h) { })          \
    X(each_size, "tc_each: axis 0 of f32[4,2] is not the number of iterations, 3", tc_tensor x = F(4, 2); TC_SCAN(g, 3) {  \
      AT; tc_each(x); })                                                                                              \
    X(each_scalar, "tc_each: axis 0 of f32[] is not the number of iterations, 3", tc_tensor x = S; TC_SCAN(g, 3) { AT;   \
      tc_each(x); })                                                                                                  \
    X(each_inner, "tc_each: f32[3] is made within the block", TC_SCAN(g, 3) { tc_tensor x = F(3); AT; tc_each(x); })  \
    X(each_outside, "tc_each: goes directly into TC_SCAN { … }", AT; tc_each(F(3)))                                  \
    X(each_if, "tc_each: goes directly into TC_SCAN { … }", tc_tensor p = tc_gt(S, 0), x = F(3), y = p;            \
      TC_SCAN(g, 3) { TC_IF(g, p, &y) { AT; tc_each(x); } TC_ELSE(g) { } })                                           \
    X(collect_null, "tc_collect: argument 'all' is NULL", tc_tensor x = F(3); TC_SCAN(g, 3) { AT;                     \
      tc_collect(x, NULL); })                                                                                         \
    X(collect_outside, "tc_collect: goes directly into TC_SCAN { … }", tc_tensor y; AT; tc_collect(F(3), &y))        \
    X(collect_rank, "tc_collect: f32[1,1,1,1,1,1,1,1] has no room for one more axis",                                 \
      tc_tensor x = F(1, 1, 1, 1, 1, 1, 1, 1), y; TC_SCAN(g, 3) { AT; tc_collect(x, &y); })                           \
    X(no_test, "TC_WHILE: there is no tc_test in it", tc_tensor h = F(2); AT; TC_WHILE(g, &h) { h = tc_neg(h); })     \
    X(two_tests, "tc_test: a second tc_test in one TC_WHILE", tc_tensor p = tc_gt(S, 0); TC_WHILE(g, &p) {          \
      tc_test(p); AT; tc_test(p); })                                                                                  \
    X(test_type, "tc_test: the test is f32[2], not bool[]", tc_tensor h = F(2); TC_WHILE(g, &h) { AT; tc_test(h); })  \
    X(test_outside, "tc_test: goes directly into TC_WHILE { … }", AT; tc_test(tc_gt(S, 0)))                        \
    X(condition_type, "TC_IF: the condition is bool[2], not bool[]", tc_tensor p = tc_gt(F(2), 0), y = p; AT;         \
      TC_IF(g, p, &y) { } TC_ELSE(g) { })                                                                             \
    X(condition_null, "TC_IF: argument 'condition' is NULL", tc_tensor y = F(2); AT;                                  \
      TC_IF(g, NULL, &y) { } TC_ELSE(g) { })                                                                          \
    X(sides, "TC_IF: y is f32[3] behind TC_IF and i64[] behind TC_ELSE", tc_tensor p = tc_gt(S, 0), y = p; AT;      \
      TC_IF(g, p, &y) { y = F(3); } TC_ELSE(g) { y = tc_full(g, 1, TC_I64); })                                        \
    X(no_else, "TC_IF: there is no TC_ELSE behind it", tc_tensor p = tc_gt(S, 0), y = p; AT; TC_IF(g, p, &y) { })   \
    X(no_if, "TC_ELSE: there is no TC_IF right before it", AT; TC_ELSE(g) { })                                        \
    X(output, "tc_output: outputs are no part of a block", TC_SCAN(g, 3) { AT; tc_output(g, "y", F(2)); })            \
    X(input, "tc_input: inputs are no part of a block", TC_SCAN(g, 3) { AT; tc_input(g, "x", TC_F32, 2); })           \
    X(parameter, "tc_parameter: parameters are no part of a block", TC_SCAN(g, 3) { AT; tc_parameter(g, "x"); })      \
    X(assign, "tc_assign: a state is assigned outside of blocks", tc_tensor s = tc_state(g, "s", TC_F32, 2);          \
      TC_SCAN(g, 3) { AT; tc_assign(s, F(2)); })                                                                      \
    X(lstm_rank, "tc_lstm: needs floats of rank 3, not f32[2,5]", AT; tc_lstm(F(2, 5), "w"))                             \
    X(lstm_source, "tc_lstm: give the weights by name, or as tensors in .weights", AT; tc_lstm(F(3, 2, 5)))           \
    X(lstm_layers, "tc_lstm: 33 layers; 1 to 32 are possible", AT; tc_lstm(F(3, 2, 5), "w", .layers = 33))            \
    X(lstm_weights, "tc_lstm: layer 0: weights f32[24,5] and f32[18,6] do not fit one another: 4 gates", AT;       \
      tc_lstm(F(3, 2, 5), .weights = &(tc_recurrent_weights){F(24, 5), F(18, 6), NULL, NULL, NULL}))                  \
    X(lstm_matrix, "tc_lstm: layer 0: the weights ih and hh are matrices of f32", AT;                                 \
      tc_lstm(F(3, 2, 5), .weights = &(tc_recurrent_weights){F(24), F(24, 6), NULL, NULL, NULL}))                     \
    X(lstm_bias, "tc_lstm: layer 0: a bias is not f32[24]", AT;                                                       \
      tc_lstm(F(3, 2, 5), .weights = &(tc_recurrent_weights){F(24, 5), F(24, 6), F(23), NULL, NULL}))                 \
    X(lstm_state, "tc_lstm: c0 is f32[1,2,7], not f32[1,2,6]", AT; tc_lstm(F(3, 2, 5), .c0 = F(1, 2, 7),              \
      .weights = &(tc_recurrent_weights){F(24, 5), F(24, 6), NULL, NULL, NULL}))                                      \
    X(gru_state, "tc_gru: c and projections are an LSTM's", AT; tc_gru(F(3, 2, 5), "w", .c0 = F(1, 2, 6)))            \
    X(cell_rank, "tc_lstm_cell: needs floats of rank 2, not f32[5]", AT;                                                 \
      tc_lstm_cell(F(5), F(2, 6), {F(24, 5), F(24, 6), NULL, NULL, NULL}, .c = F(2, 6)))                              \
    X(cell_state, "tc_gru_cell: h is f32[3,6], not f32[2,6]", AT;                                                     \
      tc_gru_cell(F(2, 5), F(3, 6), {F(18, 5), F(18, 6), NULL, NULL, NULL}))                                          \
    X(cell_c, "tc_lstm_cell: argument 'c' is NULL", AT;                                                               \
      tc_lstm_cell(F(2, 5), F(2, 6), {F(24, 5), F(24, 6), NULL, NULL, NULL}))                                         \
    X(rnn_cell_c, "tc_rnn_cell: c and projections are an LSTM's", AT;                                                 \
      tc_rnn_cell(F(2, 5), F(2, 6), {F(6, 5), F(6, 6), NULL, NULL, NULL}, .c = F(2, 6)))                              \
    X(inner_outside, "tc_neg: argument 'x' is a tensor of another function, scan", tc_tensor y = F(2);                \
      TC_SCAN(g, 3) { y = tc_neg(y); } AT; tc_neg(y))

CASES(BODY)

static void left(tc_graph *g)
{
    tc_tensor h = F(2);
    AT; TC_SCAN(g, 3, &h) {
        return;
    }
}

static void scope(tc_graph *g)
{
    tc_tensor h = F(2);
    TC_SCAN(g, 3, &h) {
        tc_scope_push(g, "layer");
    }
}

/* What follows from a mistake is silent. */
static void one(tc_graph *g)
{
    tc_tensor h = tc_neg(NULL), y, all;
    TC_SCAN(g, 3, &h) {
        h = tc_exp(h);
        tc_collect(h, &all);
    }
    y = tc_add(h, tc_sum(all, 0));
    TC_IF(g, tc_gt(tc_sum(y, 0), 0), &y) {
        y = tc_neg(y);
    }
    TC_ELSE(g) {
    }
    TC_WHILE(g, &y) {
        tc_test(tc_gt(y, 0));
    }
    tc_output(g, "y", y);
}

static tc_tensor layer(tc_graph *g, tc_tensor x)
{
    tc_tensor w = F(2, 2);
    TC_SCAN(g, 3, &x) {
        x = tc_add(tc_matmul(x, w), tc_state(g, "s", TC_F32, 2, 2));
    }
    return x;
}

static void twice(tc_graph *g)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 2);
    tc_output(g, "y", layer(g, layer(g, x)));
}

/* Two dims that a loop makes one are said, and are no error. */
static void two_dims(tc_graph *g)
{
    tc_dim n = tc_dynamic(g, "n", 0, 9), m = tc_dynamic(g, "m", 0, 9);
    tc_tensor x = tc_input(g, "x", TC_F32, n, 2), y = tc_input(g, "y", TC_F32, n, 2), all, both;
    TC_SCAN(g, m) {
        tc_collect(tc_each(x), &all);
        tc_collect(tc_each(y), &both);
    }
    tc_output(g, "all", tc_add(all, both));
}

static void expect_note(void)
{
    captured c = capture_body(two_dims);
    const char *first = strstr(c.errors, "note: tc_each: n and m must be equal from here on: axis 0 of f32[n,2]");
    tc_ok(c.ok && first && !strstr(first + 1, "note:"), "two dims that a loop makes one: one note, no error");
    tc_note("%s", c.errors);
    captured_free(&c);
}

int main(void)
{
    CASES(EXPECT)
    expect("left", left, "TC_SCAN: it is left by break, return or goto", true);
    expect_note();
    expect("scope", scope, "a scope is still open at the end of TC_SCAN", false);
    captured c = capture_body(one);
    int count = 0;
    for (const char *p = c.errors; (p = strstr(p, "error:")); ++p)
        ++count;
    tc_ok(count == 1, "what follows from a mistake is silent: %d", count);
    tc_note("%s", c.errors);
    captured_free(&c);
    c = capture_body(twice);
    tc_ok(c.ok && strstr(c.text, "function scan(") && !strstr(c.text, "function scan_2("),
          "equal blocks are one function, what they read is passed to it");
    captured_free(&c);
    return tc_done();
}
