/* SPDX-License-Identifier: Apache-2.0
 *
 * Every message of capture: each body makes one mistake, on the line that AT marks.
 */
#include "mistakes.h"

#define CASES(X)                                                                                                      \
    X(input_twice, "tc_input: a second input \"x\" (the first is at line",                                            \
      tc_input(g, "x", TC_F32, 1); AT; tc_input(g, "x", TC_F32, 1))                                                   \
    X(input_name, "tc_input: input name \"a b\" is no C identifier", AT; tc_input(g, "a b", TC_F32))                  \
    X(input_keyword, "tc_input: input name \"int\" is a keyword of C or C++", AT; tc_input(g, "int", TC_F32))         \
    X(input_macro, "tc_input: input name \"errno\" is a macro of C's headers or of a compiler", AT;                    \
      tc_input(g, "errno", TC_F32))                                                                                   \
    X(input_reserved, "tc_input: input name \"tc_index\" is reserved", AT; tc_input(g, "tc_index", TC_F32))            \
    X(state_empty, "tc_state: argument 'name' is empty", AT; tc_state(g, "", TC_F32, 1))                               \
    X(weight_empty, "tc_weight: argument 'name' is empty", AT; tc_weight(g, ""))                                       \
    X(state_text, "tc_state: argument 'name' is no UTF-8", AT; tc_state(g, "\xff", TC_F32, 1))                         \
    X(weight_text, "tc_weight: argument 'name' is no UTF-8", AT; tc_weight(g, "a\xc3"))                                \
    X(scope_text, "tc_scope_push: argument 'name' is no UTF-8", AT; TC_SCOPE(g, "%s", "\xed\xa0\x80") (void)0)         \
    X(region_text, "tc_region_push: argument 'name' is no UTF-8", AT; TC_REGION(g, "\x80") (void)0)                    \
    X(prefix_text, "tc_call: argument 'prefix' is no UTF-8", AT; tc_call(g, inputs, "\xff", F(1)))                     \
    X(output_text, "tc_output: argument 'name' is no UTF-8", AT; tc_output(g, "\xff", F(1)))                           \
    X(input_dtype, "tc_input: the dtype is missing", AT; tc_input(g, "x", 3, 4))                                      \
    X(input_negative, "tc_input: dim 1 is negative: -4", AT; tc_input(g, "x", TC_F32, 2, -4))                         \
    X(input_null, "tc_input: argument 'name' is NULL", AT; tc_input(g, NULL, TC_F32))                                 \
    X(input_rank, "tc_input: 9 dims; 8 is the most", AT; tc_input(g, "x", TC_F32, 1, 1, 1, 1, 1, 1, 1, 1, 1))         \
    X(output_twice, "tc_output: a second output \"y\" (the first is at line",                                         \
      tc_output(g, "y", F(1)); AT; tc_output(g, "y", F(1)))                                                           \
    X(output_input, "tc_output: \"x\" is an input already", tc_tensor x = tc_input(g, "x", TC_F32, 1); AT;            \
      tc_output(g, "x", x))                                                                                           \
    X(output_null, "tc_output: argument 'x' is NULL", AT; tc_output(g, "y", NULL))                                    \
    X(parameter, "tc_parameter: test is no graph function", AT; tc_parameter(g, "x"))                                 \
    X(parameter_input, "tc_input: a graph function has no inputs", tc_call(g, inputs, "", F(1)))                      \
    X(other_function, "tc_relu: argument 'x' is a tensor of another function, test",                                  \
      outer = F(1); tc_call(g, foreign, "", F(1)))                                                                    \
    X(null, "tc_relu: argument 'x' is NULL", AT; tc_relu(NULL))                                                       \
    X(null_operand, "tc_add: argument 'b' is NULL", AT; tc_add(F(1), NULL))                                           \
    X(extern_name, "tc_extern: function name \"a b\" is no C identifier", AT; tc_extern(g, "a b", TC_RESULT(TC_F32), F(2)))\
    X(extern_taken, "tc_extern: the function \"tck_f\" may not be called so", AT;                                      \
      tc_extern(g, "tck_f", TC_RESULT(TC_F32), F(2)))                                                                \
    X(extern_count, "tc_extern: 9 results of 1 operands; 1 to 8 results of at most 16 operands are possible",         \
      tc_tensor r[9]; const tc_extern_type *t[9]; AT; tc_extern_results(g, "f", 9, r, t, F(2)))                       \
    X(two_numbers, "tc_add: both operands are numbers", AT; tc_add(1, 2))                                             \
    X(dtypes, "tc_add: dtypes differ: f32[2] and i64[2]", AT; tc_add(F(2), IN(TC_I64, 2)))                            \
    X(broadcast, "tc_mul: f32[2,3] and f32[4] do not broadcast: 3 against 4", AT; tc_mul(F(2, 3), F(4)))              \
    X(broadcast_dynamic, "tc_mul: f32[n] and f32[4] do not broadcast: n against 4",                                   \
      tc_dim n = tc_dynamic(g, "n", 1, 9); AT; tc_mul(F(n), F(4)))                                                    \
    X(number, "tc_add: the number 0.5 has no value in i64", AT; tc_add(IN(TC_I64, 2), 0.5))                           \
    X(number_range, "tc_add: the number 4294967296 has no value in i32", AT; tc_add(IN(TC_I32, 2), 4294967296))       \
    X(exp_dtype, "tc_exp: needs floats, not i64[3]", AT; tc_exp(IN(TC_I64, 3)))                                          \
    X(not_dtype, "tc_logical_not: needs bool, not f32[3]", AT; tc_logical_not(F(3)))                                  \
    X(neg_dtype, "tc_neg: needs numbers, not bool[3]", AT; tc_neg(IN(TC_BOOL, 3)))                                    \
    X(where_dtype, "tc_where: needs bool, not f32[3]", AT; tc_where(F(3), F(3), 0))                                   \
    X(predicate_dtype, "tc_sum_where: the predicate is f32[3], not bool", AT; tc_sum_where(F(2, 3), F(3), 1))         \
    X(predicate_shape, "tc_matmul_where: the predicate bool[3] does not broadcast to f32[2,4]", AT;                   \
      tc_matmul_where(F(2, 4), F(4, 2), IN(TC_BOOL, 3)))                                                              \
    X(predicate_rank, "tc_softmax_where: the predicate bool[1,2,3] does not broadcast to f32[2,3]", AT;               \
      tc_softmax_where(F(2, 3), IN(TC_BOOL, 1, 2, 3), 1))                                                             \
    X(predicate_prim, "the predicate's shape differs: bool[3] and f32[2]",                                            \
      tc_tensor p = IN(TC_BOOL, 3), a = F(2); AT; tc_prim_reduce_where(g, a, p, "sum", 1, (const int[]){0}))          \
    X(cast_dtype, "tc_cast: 7 is no dtype", AT; tc_cast(F(3), (tc_dtype)7))                                           \
    X(bitcast_dtype, "tc_bitcast: 7 is no dtype", AT; tc_bitcast(F(3), (tc_dtype)7))                                  \
    X(bitcast_width, "tc_bitcast: f32[3] as i64: an element has 32 bits, not 64", AT; tc_bitcast(F(3), TC_I64))       \
    X(bitcast_bool, "tc_bitcast: u8[3] as bool, which is 0 or 1", AT; tc_bitcast(IN(TC_U8, 3), TC_BOOL))              \
    X(bitcast_pair, "f32[3] as f32: one is a float, the other an integer of its width",                               \
      tc_tensor x = F(3); AT; tc_prim_bitcast(g, x, TC_F32))                                                          \
    X(pow_dtype, "tc_pow: i64[3] to the power of 0.5 needs floats", AT; tc_pow(IN(TC_I64, 3), 0.5))                      \
    X(pair_shapes, "shapes differ: f32[2] and f32[3]",                                                                \
      tc_tensor a = F(2), b = F(3); AT; tc_prim_binary(g, TC_OP_add, a, b))                                           \
    X(select_shapes, "the condition's shape differs: bool[3] and f32[2]",                                             \
      tc_tensor p = IN(TC_BOOL, 3), a = F(2); AT; tc_prim_select(g, p, a, a))                                         \
    X(pow_tensor, "tc_pow: needs floats, not i32[3]", AT; tc_pow(IN(TC_I32, 3), IN(TC_I32, 3)))                          \
    X(loss_target, "tc_nll_loss: a target f32[4] for scores f32[4,3]", AT; tc_nll_loss(F(4, 3), F(4)))                \
    X(loss_shape, "tc_cross_entropy: a target i64[3] for scores f32[4,3]", AT; tc_cross_entropy(F(4, 3), IN(TC_I64, 3)))\
    X(loss_weight, "tc_cross_entropy: the weight f32[4] has not one element a class of f32[4,3]", AT;                 \
      tc_cross_entropy(F(4, 3), IN(TC_I64, 4), .weight = F(4)))                                                       \
    X(loss_ignore, "tc_cross_entropy: .ignore is for class indices, not f32[4,3]", AT;                                \
      tc_cross_entropy(F(4, 3), F(4, 3), .ignore = true))                                                             \
    X(loss_smoothing, "tc_cross_entropy: the label smoothing 1.5 is outside 0..1", AT;                                \
      tc_cross_entropy(F(4, 3), IN(TC_I64, 4), .label_smoothing = 1.5))                                               \
    X(random_seed, "tc_random_uniform: the seed is i32[]; it is one i64", AT;                                         \
      tc_random_uniform(g, IN(TC_I32), 0, 3))                                                                         \
    X(random_offset, "tc_random_bits: the offset is i64[2]; it is one i64", AT;                                       \
      tc_random_bits(g, 0, IN(TC_I64, 2), 3))                                                                         \
    X(dropout, "tc_dropout: the probability 1.5 is outside 0..1", AT; tc_dropout(F(3), 1.5, 0, 0))                    \
    X(bit_float, "tc_bit_and: needs integers, not f32[3]", AT; tc_bit_and(F(3), F(3)))                                \
    X(bit_bool, "tc_bit_not: needs integers, not bool[3]", AT; tc_bit_not(IN(TC_BOOL, 3)))                            \
    X(prelu_slope, "tc_prelu: the slope f32[3] has neither one element nor one a channel of f32[2,4]", AT;            \
      tc_prelu(F(2, 4), F(3)))                                                                                        \
    X(axis, "tc_sum: axis 2 is outside -2..1 of a tensor of rank 2", AT; tc_sum(F(2, 3), 2))                          \
    X(axis_scalar, "tc_softmax: axis 0 of a tensor of rank 0, which has none", AT; tc_softmax(IN(TC_F32), 0))         \
    X(axis_twice, "tc_sum: axis -1 is named twice", AT; tc_sum(F(2, 3), 1, -1))                                       \
    X(empty_max, "tc_amax: axis 1 of f32[2,0] is empty and has no largest or smallest element", AT;                   \
      tc_amax(F(2, 0), 1))                                                                                            \
    X(any_dtype, "tc_any: needs bool, not f32[2]", AT; tc_any(F(2)))                                                  \
    X(mean_dtype, "tc_mean: needs floats, not i32[2]", AT; tc_mean(IN(TC_I32, 2)))                                       \
    X(argmax_dtype, "tc_argmax: needs numbers, not bool[2]", AT; tc_argmax(IN(TC_BOOL, 2), 0))                        \
    X(matmul, "tc_matmul: inner dimensions differ: f32[8,784] x f32[512,10]", AT; tc_matmul(F(8, 784), F(512, 10)))   \
    X(matmul_scalar, "tc_matmul: an operand has rank 0: f32[] x f32[2]", AT; tc_matmul(IN(TC_F32), F(2)))             \
    X(matmul_batch, "tc_matmul: f32[2] and f32[3] do not broadcast", AT; tc_matmul(F(2, 4, 5), F(3, 5, 6)))           \
    X(matmul_dtype, "tc_matmul: needs numbers of one dtype: i64[2,2] x i8[2,2]", AT;                                  \
      tc_matmul(IN(TC_I64, 2, 2), IN(TC_I8, 2, 2)))                                                                   \
    X(dot_batch, "batch dimensions differ: f32[2,4,5] x f32[3,5,6]",                                                  \
      tc_tensor a = F(2, 4, 5), b = F(3, 5, 6); AT; tc_prim_dot(g, a, b, 1, 2, 1))                                    \
    X(dot_rank, "the result of f32[1,1,1,1,1,1] x f32[1,1,1,1,1] has more than 8 dims",                               \
      tc_tensor a = F(1, 1, 1, 1, 1, 1), b = F(1, 1, 1, 1, 1); AT; tc_prim_dot(g, a, b, 0, 5, 0))                     \
    X(linear, "tc_linear: inner dimensions differ: f32[2,3] x f32[5,4]", AT; tc_linear(F(2, 3), F(5, 4)))             \
    X(linear_rank, "tc_linear: f32[2,3] and f32[3] are no rows and matrix", AT; tc_linear(F(2, 3), F(3)))             \
    X(linear_bias, "tc_linear: the bias is f32[4] for 5 outputs", AT; tc_linear(F(2, 3), F(5, 3), F(4)))              \
    X(conv_rank, "tc_conv2d: needs two tensors of rank 4", AT; tc_conv2d(F(3, 8, 8), F(4, 3, 3, 3)))                  \
    X(conv_channels, "tc_conv2d: input channels differ: f32[1,3,8,8] * f32[4,2,3,3] with groups = 1", AT;             \
      tc_conv2d(F(1, 3, 8, 8), F(4, 2, 3, 3)))                                                                        \
    X(conv_groups, "tc_conv2d: 3 input and 4 output channels in 2 groups", AT;                                        \
      tc_conv2d(F(1, 3, 8, 8), F(4, 1, 3, 3), .groups = 2))                                                           \
    X(conv_no_groups, "tc_conv2d: groups is -1", AT; tc_conv2d(F(1, 3, 8, 8), F(4, 1, 3, 3), .groups = -1))           \
    X(conv_dynamic, "tc_conv2d: the numbers of channels must be constants: f32[1,n,8,8] * f32[4,1,3,3]",              \
      tc_dim n = tc_dynamic(g, "n", 1, 9); AT; tc_conv2d(F(1, n, 8, 8), F(4, 1, 3, 3)))                               \
    X(conv_window, "tc_conv2d: a window of 5 does not fit along axis 2 of f32[1,1,4,8], padded by 0", AT;             \
      tc_conv2d(F(1, 1, 4, 8), F(1, 1, 5, 5)))                                                                        \
    X(conv_padding, "tc_conv2d: padding is {-1, 0}", AT; tc_conv2d(F(1, 1, 4, 8), F(1, 1, 1, 1), .padding = {-1}))    \
    X(conv_stride, "tc_conv2d: stride is {-2, 0}", AT; tc_conv2d(F(1, 1, 4, 8), F(1, 1, 1, 1), .stride = {-2}))       \
    X(conv_one_stride, "tc_conv2d: stride is {2, 0}", AT; tc_conv2d(F(1, 1, 4, 8), F(1, 1, 1, 1), .stride = {2}))     \
    X(pool_one_stride, "tc_max_pool2d: stride is {2, 0}", AT;                                                         \
      tc_max_pool2d(F(1, 1, 4, 4), .kernel = {3, 3}, .stride = {2}))                                                  \
    X(conv_bias, "tc_conv2d: the bias is f32[3] for 2 outputs", AT; tc_conv2d(F(1, 1, 4, 8), F(2, 1, 1, 1), F(3)))    \
    X(pool_kernel, "tc_max_pool2d: kernel is {0, 0}", AT; tc_max_pool2d(F(1, 1, 4, 4)))                               \
    X(pool_rank, "tc_max_pool2d: needs rank 4, not f32[4,4]", AT; tc_max_pool2d(F(4, 4), .kernel = {2, 2}))           \
    X(pool_padding, "tc_avg_pool2d: padding {2, 0} is more than half of the kernel {2, 2}", AT;                       \
      tc_avg_pool2d(F(1, 1, 4, 4), .kernel = {2, 2}, .padding = {2, 0}))                                              \
    X(pool_dilation, "tc_avg_pool2d: an average has no dilation", AT;                                                 \
      tc_avg_pool2d(F(1, 1, 4, 4), .kernel = {2, 2}, .dilation = {2, 2}))                                             \
    X(pool_divisor, "tc_avg_pool2d: divisor is negative",                                                             \
      AT; tc_avg_pool2d(F(1, 1, 4, 4), .kernel = {2, 2}, .divisor = -1))                                              \
    X(pool_max_divisor, "tc_max_pool2d: .exclude_padding, .divisor and .norm are options of other poolings", AT;      \
      tc_max_pool2d(F(1, 1, 4, 4), .kernel = {2, 2}, .divisor = 3))                                                   \
    X(norm_axes, "tc_layer_norm: 3 axes of f32[2,4] cannot be normalized", AT; tc_layer_norm(F(2, 4), .axes = 3))     \
    X(norm_weight, "tc_layer_norm: weight is f32[3], but 1 axis of f32[2,4] is normalized", AT;                       \
      tc_layer_norm(F(2, 4), F(3)))                                                                                   \
    X(batch_norm, "tc_batch_norm: variance is f32[4], axis 1 of x f32[2,3]", AT; tc_batch_norm(F(2, 3), F(3), F(4)))  \
    X(batch_norm_rank, "tc_batch_norm: x needs a channel axis: f32[3]", AT; tc_batch_norm(F(3), F(3), F(3)))          \
    X(attention_rank, "needs floats of one dtype: i64[2,2], f32[2,2], f32[2,2]", AT;                                                  \
      tc_scaled_dot_product_attention(IN(TC_I64, 2, 2), F(2, 2), F(2, 2)))                                            \
    X(attention_ranks, "q, k and v need one rank of at least 2: f32[2,2], f32[1,2,2], f32[2,2]",                      \
      AT; tc_scaled_dot_product_attention(F(2, 2), F(1, 2, 2), F(2, 2)))                                              \
    X(attention_rows, "the rows of k and v differ: f32[2,4], f32[3,4], f32[5,4]",                                     \
      AT; tc_scaled_dot_product_attention(F(2, 4), F(3, 4), F(5, 4)))                                                 \
    X(attention_kv, "k and v differ in axis 0: f32[2,2,4], f32[2,3,4], f32[1,3,4]",                                   \
      AT; tc_scaled_dot_product_attention(F(2, 2, 4), F(2, 3, 4), F(1, 3, 4)))                                        \
    X(attention_scale, "no default scale for n features",                                                             \
      tc_dim n = tc_dynamic(g, "n", 1, 9); AT; tc_scaled_dot_product_attention(F(2, n), F(2, n), F(2, n)))            \
    X(attention_groups, "grouped heads need a rank below 8",                                                          \
      AT; tc_scaled_dot_product_attention(F(1, 1, 1, 1, 1, 4, 2, 4), F(1, 1, 1, 1, 1, 2, 2, 4), F(1, 1, 1, 1, 1, 2,   \
      2, 4)))                                                                                                         \
    X(attention_features, "the features of q and k differ: f32[2,3], f32[2,4], f32[2,4]", AT;                         \
      tc_scaled_dot_product_attention(F(2, 3), F(2, 4), F(2, 4)))                                                     \
    X(attention_heads, "q and k differ in axis 0: f32[6,2,4], f32[4,2,4], f32[4,2,4]", AT;                            \
      tc_scaled_dot_product_attention(F(6, 2, 4), F(4, 2, 4), F(4, 2, 4)))                                            \
    X(attention_mask, "the mask bool[1,2,5,5] does not broadcast to f32[2,5,5]", AT;                                  \
      tc_scaled_dot_product_attention(F(2, 5, 4), F(2, 5, 4), F(2, 5, 4), .mask = IN(TC_BOOL, 1, 2, 5, 5)))           \
    X(scatter_index, "tc_scatter_add: the index is i32 or i64, not f32[2]", AT; tc_scatter_add(F(3), F(2), F(2), 0))  \
    X(scatter_values, "tc_scatter: the values are f32[3], the index i64[2]",                                          \
      tc_tensor i = IN(TC_I64, 2); AT; tc_scatter(F(3), i, F(3), 0))                                                  \
    X(scatter_fit, "tc_scatter: the index i64[3,2] does not fit axis 1 of f32[2,2]",                                  \
      tc_tensor i = IN(TC_I64, 3, 2); AT; tc_scatter(F(2, 2), i, F(3, 2), 1))                                         \
    X(scatter_bool, "tc_scatter_max: needs numbers, not bool[3]",                                                     \
      tc_tensor i = IN(TC_I64, 2), b = IN(TC_BOOL, 3); AT; tc_scatter_max(b, i, IN(TC_BOOL, 2), 0))                   \
    X(index_add_index, "tc_index_add: the index is i32 or i64, not f32[2]",                                           \
      tc_tensor i = F(2); AT; tc_index_add(F(3, 4), 0, i, F(2, 4)))                                                   \
    X(index_add_values, "tc_index_add: the values are f32[4,2]; at i64[2] into axis 0 of f32[3,4] they are f32[2,4]", \
      tc_tensor i = IN(TC_I64, 2); AT; tc_index_add(F(3, 4), 0, i, F(4, 2)))                                          \
    X(index_count, "tc_index: 2 indices of f32[3]",                                                                   \
      tc_tensor i = IN(TC_I64, 2); AT; tc_index(F(3), i, i))                                                          \
    X(index_put_rank, "tc_index_put: the values f32[2,3,4] do not broadcast to f32[2,4]",                         \
      tc_tensor i = IN(TC_I64, 2); AT; tc_index_put(F(3, 4), F(2, 3, 4), true, i))                                    \
    X(index_put_values, "tc_index_put: the values f32[3] do not broadcast to f32[2,4]",                               \
      tc_tensor i = IN(TC_I64, 2); AT; tc_index_put(F(3, 4), F(3), true, i))                                          \
    X(one_hot_classes, "tc_one_hot: -1 classes", tc_tensor i = IN(TC_I64, 2); AT; tc_one_hot(i, -1, TC_F32))          \
    X(cumulative_dtype, "tc_cumsum: needs numbers, not bool[3]", AT; tc_cumsum(IN(TC_BOOL, 3), 0))                    \
    X(topk_count, "tc_topk: asks for 4 elements of axis 0 of f32[3], which has 3", AT; tc_topk(F(3), 4, 0, true, NULL))                     \
    X(kthvalue_zero, "tc_kthvalue: k is 0", AT; tc_kthvalue(F(3), 0, 0, NULL))                                        \
    X(median_empty, "tc_median: axis 0 of f32[0] is empty and has no median", AT; tc_median(F(0), 0, NULL))           \
    X(searchsorted_rank, "tc_searchsorted: the sorted f32[2,3] for the values f32[3]", AT;                            \
      tc_searchsorted(F(2, 3), F(3), false))                                                                          \
    X(flip_twice, "tc_flip: axis -1 is named twice", AT; tc_flip(F(2, 3), 1, -1))                                     \
    X(roll_far, "tc_roll: a shift of 4 is more than axis 0 of f32[n]",                                                \
      tc_dim n = tc_dynamic(g, "n", 1, 3); AT; tc_roll(F(n), 4, 0))                                                   \
    X(repeat_times, "tc_repeat: f32[3] cannot be repeated -1 times", AT; tc_repeat(F(3), -1, 0))                      \
    X(unbind_parts, "tc_unbind: axis 0 of f32[3] has not 2 parts",                                                    \
      tc_tensor parts[2]; AT; tc_unbind(F(3), 0, 2, parts))                                                           \
    X(diagonal_rank, "tc_diagonal: needs rank 2 or more, not f32[3]", AT; tc_diagonal(F(3), 0))                       \
    X(diagonal_far, "tc_diagonal: no diagonal 5 of f32[3,4]", AT; tc_diagonal(F(3, 4), 5))                            \
    X(diag_rank, "tc_diag: no diagonal of a matrix is f32[]", AT; tc_diag(IN(TC_F32), 0))                             \
    X(gather_index, "tc_gather: the index is i32 or i64, not f32[2]", AT; tc_gather(F(3), F(2), 0))                   \
    X(gather_rank, "the result of f32[1,1,1,1,1,1,1,1] at i64[2,2] has more than 8 dims",                             \
      AT; tc_gather(F(1, 1, 1, 1, 1, 1, 1, 1), IN(TC_I64, 2, 2), 0))                                                  \
    X(embedding, "tc_embedding: the table has rank 0", AT; tc_embedding(IN(TC_I64, 2), IN(TC_F32)))                   \
    X(reshape, "tc_reshape: f32[2,3] has 6 elements, f32[4] has 4", AT; tc_reshape(F(2, 3), 4))                       \
    X(reshape_two, "tc_reshape: two dims are -1", AT; tc_reshape(F(2, 3), -1, -1))                                    \
    X(reshape_rest, "tc_reshape: 6 elements of f32[2,3] are no multiple of 4", AT; tc_reshape(F(2, 3), -1, 4))        \
    X(reshape_zero, "tc_reshape: -1 has no one answer: the other sizes multiply to 0",                                \
      AT; tc_reshape(F(0, 3), -1, 0))                                                                                 \
    X(unsqueeze, "tc_unsqueeze: f32[1,1,1,1,1,1,1,1] has 8 dims already",                                             \
      AT; tc_unsqueeze(F(1, 1, 1, 1, 1, 1, 1, 1), 0))                                                                 \
    X(permute, "tc_permute: axis 0 is named twice", AT; tc_permute(F(2, 3), 0, 0))                                    \
    X(permute_count, "tc_permute: 1 axes for f32[2,3]", AT; tc_permute(F(2, 3), 0))                                   \
    X(expand, "tc_expand: f32[2,3] does not expand to 4 in dim 1", AT; tc_expand(F(2, 3), 2, 4))                      \
    X(expand_dims, "tc_expand: 1 dims for f32[2,3]", AT; tc_expand(F(2, 3), 3))                                       \
    X(slice, "tc_slice: 1..5 is not inside axis 0 of f32[4]", AT; tc_slice(F(4), 0, 1, 5))                            \
    X(slice_order, "tc_slice: 3..1 is not inside axis 0 of f32[4]", AT; tc_slice(F(4), 0, 3, 1))                      \
    X(slice_step, "tc_slice: step is 0", AT; tc_slice_step(F(4), 0, 1, 2, 0))                                         \
    X(select, "tc_select: index 4 is outside axis 0 of f32[4]", AT; tc_select(F(4), 0, 4))                            \
    X(squeeze, "tc_squeeze: axis 0 of f32[4] has the size 4, not 1", AT; tc_squeeze(F(4), 0))                         \
    X(concat, "tc_concat: operand 1 does not fit along axis 0: f32[2,3] and f32[2,4]", AT;                            \
      tc_concat(0, F(2, 3), F(2, 4)))                                                                                 \
    X(concat_none, "tc_concat: no operands", AT; tc_concat_at(TC_HERE, 0, 0, NULL))                                   \
    X(split, "tc_split: axis 0 of f32[7] is not 3 equal parts", tc_tensor parts[3]; AT; tc_split(F(7), 0, 3, parts))  \
    X(split_sum, "tc_split_sizes: the sizes add up to 6, not to axis 0 of f32[7]", tc_tensor parts[2]; AT;            \
      tc_split_sizes(F(7), 0, parts, 2, 4))                                                                           \
    X(split_negative, "tc_split_sizes: part 0 has the size -1",                                                       \
      tc_tensor parts[2]; AT; tc_split_sizes(F(7), 0, parts, -1, 8))                                                  \
    X(split_none, "tc_split: 0 parts", tc_tensor parts[1]; AT; tc_split(F(7), 0, 0, parts))                           \
    X(pad, "tc_pad: negative padding of axis 0: -1 and 0", AT; tc_pad(F(3), .low = {-1}))                             \
    X(pad_rank, "tc_pad: padding of axis 1 of f32[3]", AT; tc_pad(F(3), .low = {0, 1}))                               \
    X(update, "tc_update_slice: f32[2] at start 3 does not fit along axis 0 of f32[4]", AT;                           \
      tc_update_slice(F(4), F(2), 3))                                                                                 \
    X(update_rank, "tc_update_slice: needs two tensors of one dtype and rank: f32[4,4] and f32[2]",                   \
      AT; tc_update_slice(F(4, 4), F(2), 0, 0))                                                                       \
    X(update_starts, "tc_update_slice: 1 start for f32[4,4]", AT; tc_update_slice(F(4, 4), F(2, 2), 0))               \
    X(arange, "tc_arange: the stop 2 lies before the start 4", AT; tc_arange_step(g, TC_I64, 4, 2, 1))                \
    X(arange_dtype, "tc_arange: the dtype is no number's", AT; tc_arange(g, TC_BOOL, 4))                              \
    X(full_tensor, "tc_full: the value is a C number, not a tensor",                                                  \
      tc_tensor x = F(1); AT; tc_full(g, x, TC_F32, 2))                                                               \
    X(tril, "tc_tril: needs rank 2 or more, not f32[4]", AT; tc_tril(F(4), 0))                                        \
    X(dynamic_range, "tc_dynamic: dim \"n\" has the range 4..2", AT; tc_dynamic(g, "n", 4, 2))                        \
    X(dynamic_divisor, "tc_dynamic: dim \"n\": no multiple of 8 lies in 1..7", AT;                                    \
      tc_dynamic(g, "n", 1, 7, .divisor = 8))                                                                         \
    X(dynamic_special, "tc_dynamic: dim \"n\" cannot be 9, which .specialize names", AT;                              \
      tc_dynamic(g, "n", 1, 7, .specialize = {9}))                                                                    \
    X(dynamic_twice, "tc_dynamic: dim \"n\" was declared otherwise at line",                                          \
      tc_dynamic(g, "n", 1, 7); AT; tc_dynamic(g, "n", 1, 8))                                                         \
    X(dynamic_floordiv, "tc_dynamic: \"floordiv\" is the name of an operation on dims",                               \
      AT; tc_dynamic(g, "floordiv", 1, 8))                                                                            \
    X(dynamic_max, "tc_dynamic: \"max\" is the name of an operation on dims", AT; tc_dynamic(g, "max", 1, 8))           \
    X(mod, "tc_dim_mod: the divisor n is not known to be positive",                                                   \
      tc_dim n = tc_dynamic(g, "n", 0, 7); AT; tc_dim_mod(8, n))                                                      \
    X(dims_tensor, "tc_dims_tensor: the dtype is no number's", AT; tc_dims_tensor(g, TC_BOOL, 4))                     \
    X(floordiv, "tc_dim_floordiv: the divisor n is not known to be positive",                                         \
      tc_dim n = tc_dynamic(g, "n", 0, 7); AT; tc_dim_floordiv(8, n))                                                 \
    X(overflow, "tc_dim_mul: the result leaves 64 bits", tc_dim n = tc_dynamic(g, "n", 0, 7);                         \
      n = tc_dim_mul(n, INT64_C(1) << 40); AT; tc_dim_mul(n, INT64_C(1) << 40))                                       \
    X(require, "tc_require_equal: 2*n and 2*n + 1 are never equal",                                                   \
      tc_dim n = tc_dim_mul(tc_dynamic(g, "n", 0, 7), 2); AT; tc_require_equal(g, n, tc_dim_add(n, 1)))               \
    X(require_less, "tc_require_at_least: 1 is always less than n + 2",                                               \
      tc_dim n = tc_dynamic(g, "n", 0, 7); AT; tc_require_at_least(g, 1, tc_dim_add(n, 2)))                           \
    X(state_dynamic, "tc_state: the size of a state is constant, not f32[n]", tc_dim n = tc_dynamic(g, "n", 0, 7);    \
      AT; tc_state(g, "s", TC_F32, n))                                                                                \
    X(state_large, "tc_state: state \"s\" needs more bytes than 64 bits count: f32[2305843009213693952]", AT;          \
      tc_state(g, "s", TC_F32, INT64_C(1) << 61))                                                                     \
    X(state_wraps, "tc_state: state \"s\" needs more bytes than 64 bits count: i8[4294967296,4294967296,4294967296]", \
      AT; tc_state(g, "s", TC_I8, INT64_C(1) << 32, INT64_C(1) << 32, INT64_C(1) << 32))                              \
    X(states_large, "tc_state: state \"t\" needs more bytes than 64 bits count: u8[4611686018427387904]",              \
      tc_state(g, "s", TC_U8, INT64_C(1) << 62); AT; tc_state(g, "t", TC_U8, INT64_C(1) << 62))                       \
    X(output_state, "output \"s\" has the name of a state", tc_tensor s = tc_state(g, "s", TC_F32, 2); AT;              \
      tc_output(g, "s", s))                                                                                           \
    X(input_state, "input \"s\" has the name of a state", AT; tc_tensor x = tc_input(g, "s", TC_F32, 2);               \
      tc_output(g, "y", tc_add(x, tc_state(g, "s", TC_F32, 2))))                                                      \
    X(state_type, "tc_assign: state \"s\" is f32[2], the value f32[3]", tc_tensor s = tc_state(g, "s", TC_F32, 2);    \
      AT; tc_assign(s, F(3)))                                                                                         \
    X(state_twice, "tc_assign: state \"s\" was assigned at line", tc_tensor s = tc_state(g, "s", TC_F32, 2);          \
      tc_assign(s, F(2)); AT; tc_assign(s, F(2)))                                                                     \
    X(state_other, "tc_assign: argument 'state' is no state", AT; tc_assign(F(2), F(2)))               \
    X(weights_none, "tc_weight: no weights for \"w\"", AT; tc_weight(g, "w"))                                         \
    X(weights_file, "missing.safetensors: cannot be opened", AT; tc_weights(g, "missing.safetensors"))    \
    X(weights_path, "tc_weights: argument 'path' is NULL", AT; tc_weights(g, NULL))                                   \
    X(scope_break, "TC_SCOPE: it is left by break, return or goto", AT; TC_SCOPE(g, "a") break)                        \
    X(scope_return, "TC_SCOPE: it is left by break, return or goto", AT; TC_SCOPE(g, "a") { TC_REGION(g, "r") return; }) \
    X(region_break, "TC_REGION: it is left by break, return or goto", AT;                                             \
      for (int i = 0; i < 2; ++i) { TC_REGION(g, "a") { if (i) goto out; } } out:;)                                   \
    X(scope_open, "\"layer\" is still open at the end of test", AT; tc_scope_push(g, "layer"))                          \
    X(scope_pop, "tc_scope_pop: no scope is open here", AT; tc_scope_pop(g))                                          \
    X(scope_name, "tc_scope_push: the scope's name is empty", AT; tc_scope_push(g, "%s", ""); tc_scope_pop(g))        \
    X(region_name, "tc_region_push: the region needs a name", AT; tc_region_push(g, ""); tc_region_pop(g))            \
    X(recursion, "tc_call: recursive calls itself", AT; tc_call(g, recursive, "", F(1)))                              \
    X(call_operands, "tc_call: one takes 1 operand, not 2", AT; tc_call(g, one, "", F(1), F(1)))                      \
    X(call_order, "\" are declared at the place where both are used", AT; tc_call(g, unordered, "", F(1), F(1)))        \
    X(call_missing, "the call of two has 1 operand, and this asks for one more", AT; tc_call(g, two, "", F(1)))       \
    X(call_prefix, "tc_call: argument 'prefix' is NULL", AT; tc_call(g, one, NULL, F(1)))                             \
    X(call_many, "tc_call: more than 16 operands",                                                                    \
      tc_tensor x = F(1); AT; tc_call(g, one, "", x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x))                 \
    X(call_results, "tc_call: none has 0 results, not 1", AT; tc_call(g, none, "", F(1)))

TC_GRAPH(recursive);
static void tc_body_recursive(tc_graph *g)
{
    tc_tensor x = tc_parameter(g, "x");
    AT, tc_output(g, "y", tc_call(g, recursive, "", x));
}
TC_GRAPH(one) { tc_output(g, "y", tc_relu(tc_parameter(g, "x"))); }
TC_GRAPH(two) { tc_output(g, "y", tc_add(tc_parameter(g, "x"), (AT, tc_parameter(g, "z")))); }
TC_GRAPH(unordered) { AT, tc_output(g, "y", tc_sub(tc_relu(tc_parameter(g, "a")), tc_parameter(g, "b"))); }
TC_GRAPH(inputs) { tc_parameter(g, "x"), AT, tc_input(g, "y", TC_F32); }
static tc_tensor outer;
TC_GRAPH(foreign) { tc_parameter(g, "x"), tc_output(g, "y", (AT, tc_relu(outer))); }
TC_GRAPH(none) { tc_parameter(g, "x"); }

CASES(BODY)

static void no_outputs(tc_graph *g)
{
    tc_input(g, "x", TC_F32, 1);
}

static void open_scope(tc_graph *g)
{
    tc_output(g, "y", F(1));
    tc_scope_push(g, "layer");
}

static void dim_name(tc_graph *g)
{
    tc_dim n = tc_dynamic(g, "n", 1, 4);
    tc_output(g, "y", tc_relu(tc_input(g, "n", TC_F32, n)));
}

/* What a caller outside of a model, or of the type rules, could do. */
static void no_rule(tc_graph *g)
{
    F(1);
    tc_add_node(g, TC_OP_call, 0, NULL, NULL, NULL);
}

static void too_large(tc_graph *g)
{
    tc_dim n = tc_dynamic(g, "n", 1, INT64_C(1) << 40);
    for (int i = 0; i < 2; ++i)
        n = tc_dim_mul(n, INT64_C(1) << 20);
    tc_output(g, "y", tc_relu(tc_input(g, "x", TC_F32, n, n)));
    tc_reshape(tc_input(g, "z", TC_F32, n, n), -1);
}

static void fine(tc_graph *g)
{
    tc_output(g, "y", tc_relu(F(1)));
}

/* Entries that clash, and a call before any entry runs. */
static void entries(void)
{
    char *said;
    size_t size;
    FILE *errors = open_memstream(&said, &size);
    tc_graph *g = tc_graph_create(errors);
    tc_input(g, "x", TC_F32, 1);
    tc_entry first = {"net", fine, {"test.c", 1}, true, NULL, NULL, 0},
             second = {"other", fine, {"test.c", 2}, true, NULL, NULL, 0},
             third = {"net", fine, {"test.c", 3}, false, NULL, NULL, 0};
    tc_capture(g, 3, (tc_entry *const[]){&first, &second, &third});
    fclose(errors);
    static const char *const want[] = {"tc_input: called outside TC_MODEL and TC_FUNCTION",
                                       "test.c:2: error: a second TC_MODEL: other (the first is net)",
                                       "test.c:3: error: a second function net"};
    for (int i = 0; i < 3; ++i)
        if (!tc_ok(strstr(said, want[i]) != NULL, "%s", want[i]))
            tc_note("got: %s", said);
    tc_graph_destroy(g);
    free(said);
}

/* Three mistakes in one run, and what follows from one of them is silent. */
static void several(tc_graph *g)
{
    tc_tensor x = tc_matmul(F(2, 3), F(4, 5));
    x = tc_softmax(tc_relu(x), 9);
    tc_exp(IN(TC_BOOL, 1));
    tc_sum(F(1), 4);
    tc_output(g, "y", x);
}

int main(void)
{
    CASES(EXPECT)
    expect("no outputs", no_outputs, "test has no outputs", false);
    expect("open scope", open_scope, "\"layer\" is still open at the end of test", false);
    expect("no rule", no_rule, "internal error: no type rule for call", false);
    expect("too large", too_large, "a size expression leaves 64 bits", false);
    entries();
    expect("dim name", dim_name, "input \"n\" has the name of a dim", false);
    captured c = capture_body(several);
    int count = 0;
    for (const char *p = c.errors; (p = strstr(p, "error:")); ++p)
        ++count;
    tc_ok(count == 3, "every error of a run is reported, and none twice: %d", count);
    captured_free(&c);
    return tc_done();
}
