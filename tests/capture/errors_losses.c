/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of losses, of sorting, of random numbers, and of operations that widen operands of 16 bits.
 */
#include "mistakes.h"

#define I(...) IN(TC_I64, __VA_ARGS__)
#define H(...) IN(TC_F16, __VA_ARGS__)
#define B(...) IN(TC_BF16, __VA_ARGS__)

#define CASES(X)                                                                                                      \
    X(target_shape, "a target i64[3] for scores f32[2,4]", AT; tc_cross_entropy(F(2, 4), I(3)))                       \
    X(target_dtype, "a target bool[2] for scores f32[2,4]", AT; tc_cross_entropy(F(2, 4), IN(TC_BOOL, 2)))            \
    X(class_weight, "the weight f32[3] has not one element a class of f32[2,4]", AT;                                  \
      tc_cross_entropy(F(2, 4), I(2), .weight = F(3)))                                                                \
    X(ignore, ".ignore is for class indices, not f32[2,4]", AT; tc_cross_entropy(F(2, 4), F(2, 4), .ignore = true))   \
    X(smoothing, "the label smoothing 2 is outside 0..1", AT; tc_cross_entropy(F(2, 4), I(2), .label_smoothing = 2))  \
    X(batch_mean, "the mean over a batch of terms of rank 0", AT;                                                     \
      tc_mse_loss(IN(TC_F32), IN(TC_F32), .reduction = TC_LOSS_BATCH_MEAN))                                           \
    X(loss_dtypes, "tc_mse_loss: dtypes differ: f16[2] and f32[2]", AT; tc_mse_loss(H(2), F(2)))                      \
    X(loss_weight, "tc_binary_cross_entropy: dtypes differ: f32[2] and f16[2]", AT;                                   \
      tc_binary_cross_entropy(F(2), F(2), .weight = H(2)))                                                            \
    X(class_dtypes, "tc_cross_entropy: dtypes differ: f16[2,4] and f32[4]", AT;                                       \
      tc_cross_entropy(H(2, 4), I(2), .weight = F(4)))                                                                \
    X(margin_target, "tc_multi_margin_loss: a target f32[2]", AT; tc_multi_margin_loss(F(2, 4), F(2)))                \
    X(margin_scores, "tc_multilabel_margin_loss: the scores are f32[2,4,3]", AT;                                      \
      tc_multilabel_margin_loss(F(2, 4, 3), I(2, 4, 3)))                                                              \
    X(margin_power, "tc_multi_margin_loss: p is 1 or 2, not 3", AT; tc_multi_margin_loss(F(2, 4), I(2), .p = 3))      \
    X(soft_margin_scores, "tc_multilabel_soft_margin_loss: scores of rank 0", AT;                                     \
      tc_multilabel_soft_margin_loss(IN(TC_F32), IN(TC_F32)))                                                         \
    X(triplet_dtypes, "tc_triplet_margin_loss: dtypes differ: f32[2] and bf16[2]", AT;                                \
      tc_triplet_margin_loss(F(2), F(2), B(2)))                                                                       \
    X(ctc, "scores f32[9,2,5], targets i64[2,4], lengths i64[2] and i64[3] do not fit", AT;                            \
      tc_ctc_loss(F(9, 2, 5), I(2, 4), I(2), I(3)))                                                                   \
    X(ctc_blank, "tc_ctc_loss: the blank 5 is no class of f32[9,2,5]", AT;                                           \
      tc_ctc_loss(F(9, 2, 5), I(2, 4), I(2), I(2), .blank = 5))                                                       \
    X(linear_dtypes, "tc_linear: dtypes differ: f16[2,3] and bf16[4]", AT; tc_linear(H(2, 3), H(4, 3), B(4)))         \
    X(addmm_dtypes, "tc_addmm: dtypes differ: f32[2] and f16[2,3]", AT; tc_addmm(F(2), H(2, 3), H(3, 2)))             \
    X(einsum_dtypes, "tc_einsum: dtypes differ: f16[2] and bf16[2]", AT; tc_einsum("i,i->", H(2), B(2)))              \
    X(prelu_dtypes, "tc_prelu: dtypes differ: f16[2,3] and bf16[3]", AT; tc_prelu(H(2, 3), B(3)))                     \
    X(cosine_dtypes, "tc_cosine_similarity: dtypes differ: f16[2] and bf16[2]", AT;                                   \
      tc_cosine_similarity(H(2), B(2), 0, 1e-8))                                                                      \
    X(mask_dtype, "attention: dtypes differ: f16[1,2,3] and f32[2,2]", tc_tensor q = H(1, 2, 3); AT;                  \
      tc_scaled_dot_product_attention(q, q, q, .mask = F(2, 2)))                                                      \
    X(group_dynamic, "tc_group_norm: no channels to group: f32[2,n]", tc_dim n = tc_dynamic(g, "n", 1, 4); AT;        \
      tc_group_norm(F(2, n), .groups = 2))                                                                            \
    X(group_ranks, "tc_group_norm: needs a rank below 8, not f32[1,2,1,1,1,1,1,1]", AT;                               \
      tc_group_norm(F(1, 2, 1, 1, 1, 1, 1, 1), .groups = 2))                                                          \
    X(median, "axis 0 of f32[0] is empty and has no median", tc_tensor i; AT; tc_median(F(0), 0, &i))                 \
    X(top, "asks for 5 elements of axis 0 of f32[4]", tc_tensor i; AT; tc_topk(F(4), 5, 0, true, &i))                          \
    X(seed, "the seed is f32[2]; it is one i64", tc_tensor s = F(2); AT; tc_dropout(F(2), 0.5, s, 0))

MISTAKES(CASES)
