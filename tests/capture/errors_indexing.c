/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of indices, parts, orders and what is made from nothing.
 */
#include "mistakes.h"

#define I(...) IN(TC_I64, __VA_ARGS__)

#define CASES(X)                                                                                                      \
    X(never_set, "tc_neg: argument 'x' is no tensor that was ever made", AT; tc_neg((tc_tensor)&at))                  \
    X(never_set_inside, "tc_add: argument 'b' is no tensor that was ever made", tc_tensor x = F(2); AT;               \
      tc_add(x, (tc_tensor)((char *)x + 16)))                                                                         \
    X(stack_shape, "tc_stack: operand 2 does not fit: f32[2,3] and f32[2]", AT;                                       \
      tc_stack(1, F(2, 3), F(2, 3), F(2)))                                                                            \
    X(never_set_list, "tc_stack: argument 'x' is no tensor that was ever made", tc_tensor x = F(2); AT;               \
      tc_stack(0, x, (tc_tensor)(intptr_t)3))                                                                         \
    X(mask_index, "tc_take: the index is i32 or i64, not bool[3]\n  hint: how many elements a mask has is data",      \
      tc_tensor p = IN(TC_BOOL, 3); AT; tc_take(F(3), p))                                                             \
    X(index_nothing, "tc_index: 2 indices of f32[3,4]", AT; tc_index(F(3, 4), NULL, NULL))                            \
    X(index_rank, "tc_index: the result has more than 8 dims", tc_tensor i = I(1, 1, 1, 1); AT;                       \
      tc_index(F(1, 1, 1, 1, 1, 1), i))                                                                               \
    X(reduce_word, "tc_scatter_reduce: \"average\" of f32[3]", tc_tensor i = I(2), u = F(2); AT;                      \
      tc_scatter_reduce(F(3), i, u, 0, "average", true))                                                              \
    X(fill_value, "tc_index_fill: the value is f32[1]", tc_tensor i = I(2), v = F(1); AT;                             \
      tc_index_fill(F(3), 0, i, v))                                                                                   \
    X(fill_rank, "tc_index_fill: f32[1,1,1,1,1,1,1,1] at i64[2,2] has more than 8 dims", tc_tensor i = I(2, 2); AT;   \
      tc_index_fill(F(1, 1, 1, 1, 1, 1, 1, 1), 0, i, 0))                                                              \
    X(masked_dtype, "tc_masked_scatter: the mask is bool[3], the source i64[3]",                                      \
      tc_tensor p = IN(TC_BOOL, 3), s = I(3); AT; tc_masked_scatter(F(3), p, s))                                      \
    X(masked_empty, "tc_masked_scatter: the source f32[0] is empty",                                                  \
      tc_tensor p = IN(TC_BOOL, 3), s = F(0); AT; tc_masked_scatter(F(3), p, s))                                      \
    X(nonzero_rank, "tc_nonzero_static: x has rank 0", AT; tc_nonzero_static(IN(TC_F32), 1, 0))                       \
    X(bins, "tc_bincount: -1 bins", tc_tensor i = I(3); AT; tc_bincount(i, -1))                                       \
    X(histogram_dtype, "tc_histc: x is i64[3]\n  hint: tc_bincount counts integers", AT; tc_histc(I(3), 4, 0, 1))     \
    X(histogram_range, "tc_histc: 4 bins between 1 and 1", AT; tc_histc(F(3), 4, 1, 1))                               \
    X(grouped_shapes, "tc_grouped_mm: shapes do not fit: f32[4,3], f32[2,4,5], i64[2]",                               \
      tc_tensor i = I(2); AT; tc_grouped_mm(F(4, 3), F(2, 4, 5), i))                                                  \
    X(grouped_dtypes, "tc_grouped_mm: the operands are f32[4,3], f32[2,3,5], f32[2]", AT;                             \
      tc_grouped_mm(F(4, 3), F(2, 3, 5), F(2)))                                                                       \
    X(clamp_nothing, "tc_clamp: neither low nor high is given", AT; tc_clamp(F(3), NULL, NULL))                       \
    X(slice_scatter, "tc_slice_scatter: f32[2] has no place in axis 0 of f32[4]: 3 elements from 1", AT;              \
      tc_slice_scatter(F(4), F(2), 0, 1, 4, 1))                                                                       \
    X(select_scatter, "tc_select_scatter: f32[4] has no place in f32[4]", AT; tc_select_scatter(F(4), F(4), 0, 1))    \
    X(split_dynamic, "tc_tensor_split: axis 0 of f32[n] is not constant",                                             \
      tc_dim n = tc_dynamic(g, "n", 1, 9); tc_tensor parts[2]; AT; tc_tensor_split(F(n), 0, 2, parts))                \
    X(split_none, "tc_tensor_split: 0 parts", tc_tensor parts[1]; AT; tc_tensor_split(F(4), 0, 0, parts))             \
    X(tile_rank, "tc_tile: 9 dims; 8 is the most", AT; tc_tile(F(1), 1, 1, 1, 1, 1, 1, 1, 1, 1))                      \
    X(rot90_axes, "tc_rot90: both axes are 1", AT; tc_rot90(F(2, 3), 1, 1, -1))                                       \
    X(sequence_lengths, "tc_reverse_sequence: lengths i64[3] for axes 0 and 1 of f32[4,2]",                           \
      tc_tensor i = I(3); AT; tc_reverse_sequence(F(4, 2), i, 0, 1))                                                  \
    X(kron_rank, "tc_kron: f32[1,1,1,1,1] and f32[2]: at most 4 dims", AT; tc_kron(F(1, 1, 1, 1, 1), F(2)))           \
    X(block_rank, "tc_block_diag: operand 1 is no matrix: f32[2]", AT; tc_block_diag(F(2, 2), F(2)))                  \
    X(diagonal_place, "tc_diagonal_scatter: f32[2] is not diagonal 0 of f32[3,3]: f32[3]", AT;                        \
      tc_diagonal_scatter(F(3, 3), F(2), 0))                                                                          \
    X(arange_step, "tc_arange: step is 0", AT; tc_arange_step(g, TC_I64, 0, 2, 0))                                    \
    X(arange_down, "tc_arange: the stop 4 lies behind the start 2", AT; tc_arange_step(g, TC_I64, 2, 4, -1))          \
    X(full_like, "tc_full_like: the value is a C number, not a tensor", AT; tc_full_like(F(3), F(1)))                 \
    X(eye, "tc_eye: dim 1 is negative: -2", AT; tc_eye(g, TC_F32, 2, -2))                                             \
    X(linspace_dtype, "tc_linspace: the dtype is no float's", AT; tc_linspace(g, TC_I64, 0, 1, 3))                    \
    X(linspace_count, "tc_linspace: -1 numbers", AT; tc_linspace(g, TC_F32, 0, 1, -1))                                \
    X(meshgrid_rank, "tc_meshgrid: operand 1 is f32[2,2], not of rank 1", tc_tensor grids[2]; AT;                     \
      tc_meshgrid(grids, F(2), F(2, 2)))                                                                              \
    X(combinations, "tc_combinations: 2 of f32[2000]", AT; tc_combinations(F(2000), 2, false))                        \
    X(triangle, "tc_tril_indices: -1 rows and 2 columns", AT; tc_tril_indices(g, -1, 2, 0))                           \
    X(integers, "tc_random_integers: no integers 3..2", AT; tc_random_integers(g, 0, 0, 3, 3, 2))                     \
    X(permutation, "tc_random_permutation: -1 elements", AT; tc_random_permutation(g, 0, 0, -1))                      \
    X(dropout_dtype, "tc_dropout: needs floats, not i64[3]", AT; tc_dropout(I(3), 0.5, 0, 0))                         \
    X(bernoulli, "tc_bernoulli: the probabilities are floats, not i64[3]", AT; tc_bernoulli(I(3), 0, 0))              \
    X(shares, "tc_multinomial: the shares are f32 of rank 1 or 2, not i64[3]", AT; tc_multinomial(I(3), 1, true, 0, 0)) \
    X(choices, "tc_multinomial: -1 choices", AT; tc_multinomial(F(3), -1, true, 0, 0))                                \
    X(prefix_dtype, "tc_logcumsumexp: needs floats, not i64[3]", AT; tc_logcumsumexp(I(3), 0))                        \
    X(lstm_features, "tc_lstm: layer 0: the input has 5 features, and ih is f32[24,4]", AT;                           \
      tc_lstm(F(3, 2, 5), .weights = &(tc_recurrent_weights){F(24, 4), F(24, 6), NULL, NULL, NULL}))                  \
    X(lstm_never_set, "tc_rnn: layer 0: a weight is no tensor that was ever made", AT;                                \
      tc_rnn(F(3, 2, 5), .weights = &(tc_recurrent_weights){F(6, 5), (tc_tensor)&at, NULL, NULL, NULL}))              \
    X(lstm_lengths, "tc_gru: the lengths are i64[3] for x f32[3,2,5]", tc_tensor i = I(3); AT;                        \
      tc_gru(F(3, 2, 5), .weights = &(tc_recurrent_weights){F(18, 5), F(18, 6), NULL, NULL, NULL}, .lengths = i))

MISTAKES(CASES)
