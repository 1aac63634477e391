/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses. What all operations share is said in ../ops.h. All of them compute 16-bit floats in f32, the terms' mean too,
 * and round their result alone.
 *
 * .reduction says what becomes of the terms: their mean (where left out), their sum, their sum over the size of axis 0,
 * or none, which gives a tensor of them.
 */
#ifndef TENSOR_COMPILE_OPS_LOSSES_H
#define TENSOR_COMPILE_OPS_LOSSES_H

#include "../model.h"

typedef enum tc_loss_reduction { TC_LOSS_MEAN, TC_LOSS_SUM, TC_LOSS_NONE, TC_LOSS_BATCH_MEAN } tc_loss_reduction;

/* Options of losses of two tensors; each loss names those that it reads. */
typedef struct tc_loss_args {
    tc_tensor x, target;
    tc_loss_reduction reduction;
    tc_tensor weight, positive_weight;
    double delta, beta, margin, eps;
    bool log_target, rates, full;
    tc_site at;
} tc_loss_args;

/* tc_mse_loss(x, target, .reduction), tc_l1_loss(x, target, .reduction)
 * (x - target)^2, and abs(x - target).
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: mse_loss, l1_loss. */
#define tc_mse_loss(...) tc_mse_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_l1_loss(...) tc_l1_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_mse_loss_at(const tc_loss_args *args);
tc_tensor tc_l1_loss_at(const tc_loss_args *args);

/* tc_huber_loss(x, target, .delta = 1, .reduction), tc_smooth_l1_loss(x, target, .beta = 1, .reduction)
 * With z = abs(x - target): z^2 / 2 below delta, from there on delta * (z - delta/2); and z^2 / 2 / beta below beta,
 * from there on z - beta/2. delta and beta left out or 0 are 1.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: huber_loss, smooth_l1_loss. */
#define tc_huber_loss(...) tc_huber_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_smooth_l1_loss(...) tc_smooth_l1_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_huber_loss_at(const tc_loss_args *args);
tc_tensor tc_smooth_l1_loss_at(const tc_loss_args *args);

/* tc_binary_cross_entropy_with_logits(x, target, .weight = w, .positive_weight = p, .reduction)
 * Of the probabilities sigmoid(x): (1 - target) * x + (1 + (p - 1) * target) * (log1p(exp(-abs(x))) + maximum(-x, 0)),
 * times w. w and p broadcast; left out they are 1.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: binary_cross_entropy_with_logits. */
#define tc_binary_cross_entropy_with_logits(...)                                                                      \
    tc_binary_cross_entropy_with_logits_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_binary_cross_entropy_with_logits_at(const tc_loss_args *args);

/* tc_binary_cross_entropy(x, target, .weight = w, .reduction)
 * Of the probabilities x: -(target * log(x) + (1 - target) * log1p(-x)) * w, no logarithm below -100. w broadcasts;
 * left out it is 1.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: binary_cross_entropy. */
#define tc_binary_cross_entropy(...) tc_binary_cross_entropy_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_binary_cross_entropy_at(const tc_loss_args *args);

/* tc_kl_div(x, target, .log_target = true, .reduction)
 * x holds logarithms: target * (log(target) - x), 0 for a target of 0; with .log_target, whose target holds logarithms
 * too, exp(target) * (target - x). The mean is over all elements; PyTorch's batchmean is TC_LOSS_BATCH_MEAN.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: kl_div. */
#define tc_kl_div(...) tc_kl_div_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_kl_div_at(const tc_loss_args *args);

/* tc_poisson_nll_loss(x, target, .rates = true, .full = true, .eps = 1e-8, .reduction)
 * x holds logarithms of rates: exp(x) - target * x; with .rates the rates themselves: x - target * log(x + eps). .full
 * adds, where the target is above 1, Stirling's target * log(target) - target + log(2 pi target) / 2. eps left out or 0
 * is 1e-8.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: poisson_nll_loss (.rates is log_input=False). */
#define tc_poisson_nll_loss(...) tc_poisson_nll_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_poisson_nll_loss_at(const tc_loss_args *args);

/* tc_soft_margin_loss(x, target, .reduction), tc_hinge_embedding_loss(x, target, .margin = 1, .reduction)
 * The target is 1 or -1. log(1 + exp(-target * x)), computed without overflow; and x where the target is 1,
 * maximum(margin - x, 0) where it is -1. margin left out or 0 is 1.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: soft_margin_loss, hinge_embedding_loss. */
#define tc_soft_margin_loss(...) tc_soft_margin_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_hinge_embedding_loss(...) tc_hinge_embedding_loss_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_soft_margin_loss_at(const tc_loss_args *args);
tc_tensor tc_hinge_embedding_loss_at(const tc_loss_args *args);

/* tc_gaussian_nll_loss(x, target, variance, .full = true, .eps = 1e-6, .reduction)
 * (log(v) + (x - target)^2 / v) / 2 of v = maximum(variance, eps); .full adds log(2 pi) / 2. The variance broadcasts.
 * eps left out or 0 is 1e-6.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: gaussian_nll_loss (its variance of x's shape without the last axis gets size 1 there: tc_unsqueeze). */
#define tc_gaussian_nll_loss(...) tc_gaussian_nll_loss_at(&(const tc_gaussian_loss_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_gaussian_loss_args {
    tc_tensor x, target, variance;
    tc_loss_reduction reduction;
    bool full;
    double eps;
    tc_site at;
} tc_gaussian_loss_args;
tc_tensor tc_gaussian_nll_loss_at(const tc_gaussian_loss_args *args);

/* tc_margin_ranking_loss(a, b, target, .margin, .reduction), tc_cosine_embedding_loss(a, b, target, .margin,
 * .reduction)
 *
 * The target is 1 or -1. maximum(-target * (a - b) + margin, 0). And of vectors along the last axis: 1 - c where the
 * target is 1, maximum(c - margin, 0) where it is -1, c = sum(a*b) / sqrt((sum(a*a) + 1e-12) * (sum(b*b) + 1e-12)).
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one, of vectors without the last axis.
 * ATen: margin_ranking_loss, cosine_embedding_loss. */
#define tc_margin_ranking_loss(...) tc_margin_ranking_loss_at(&(const tc_pair_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_cosine_embedding_loss(...)                                                                                 \
    tc_cosine_embedding_loss_at(&(const tc_pair_loss_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_pair_loss_args {
    tc_tensor a, b, target;
    tc_loss_reduction reduction;
    double margin;
    tc_site at;
} tc_pair_loss_args;
tc_tensor tc_margin_ranking_loss_at(const tc_pair_loss_args *args);
tc_tensor tc_cosine_embedding_loss_at(const tc_pair_loss_args *args);

/* tc_triplet_margin_loss(anchor, positive, negative, .margin = 1, .p = 2, .eps = 1e-6, .swap = true, .reduction)
 *
 * maximum(d(anchor, positive) - d(anchor, negative) + margin, 0), d that of tc_pairwise_distance with p and eps. .swap:
 * the smaller of d(anchor, negative) and d(positive, negative). margin left out or 0 is 1. Of another distance: compose
 * it.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one without the last axis.
 * ATen: triplet_margin_loss, triplet_margin_with_distance_loss. */
#define tc_triplet_margin_loss(...) tc_triplet_margin_loss_at(&(const tc_triplet_loss_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_triplet_loss_args {
    tc_tensor anchor, positive, negative;
    tc_loss_reduction reduction;
    double margin, p, eps;
    bool swap;
    tc_site at;
} tc_triplet_loss_args;
tc_tensor tc_triplet_margin_loss_at(const tc_triplet_loss_args *args);

/* tc_cross_entropy(x, target, .weight = w, .reduction, .ignore = true, .ignore_index = i, .label_smoothing = e)
 * tc_nll_loss(x, target, .weight = w, .reduction, .ignore = true, .ignore_index = i)
 *
 * x[c] or x[n, c, d...]: one score a class; nll_loss takes logarithms of probabilities (log_softmax), cross_entropy
 * makes them. The target holds class indices (x's shape without the classes): a term is -x[class] * w[class], where
 * w[c] left out is 1, and the mean divides by the sum of w[class], so that it is one of classes. With .ignore a target
 * equal to .ignore_index is no term (PyTorch's default -100 has to be named). A target that is no class gives NaN.
 *
 * cross_entropy also takes probabilities (a float target of x's shape): -sum(p * x * w) over the classes, and the mean
 * divides by their number. label_smoothing e replaces p, 1 at the class, by (1 - e) * p + e / c.
 * Dtypes: floats for x and w; i32 or i64 for indices.
 * Shape: rank 0; without reduction that of the indices.
 * Errors: a target whose shape is neither; options of indices with probabilities.
 * ATen: cross_entropy_loss, nll_loss.
 * ONNX: SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss. */
#define tc_cross_entropy(...) tc_cross_entropy_at(&(const tc_class_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_nll_loss(...) tc_nll_loss_at(&(const tc_class_loss_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_class_loss_args {
    tc_tensor x, target, weight;
    tc_loss_reduction reduction;
    bool ignore;
    int64_t ignore_index;
    double label_smoothing;
    tc_site at;
} tc_class_loss_args;
tc_tensor tc_cross_entropy_at(const tc_class_loss_args *args);
tc_tensor tc_nll_loss_at(const tc_class_loss_args *args);

/* tc_multi_margin_loss(x, target, .p = 1, .margin = 1, .weight = w, .reduction)
 * tc_multilabel_margin_loss(x, target, .reduction)
 * tc_multilabel_soft_margin_loss(x, target, .weight = w, .reduction)
 *
 * x[c] or x[n, c]: one score a class. multi_margin: the sum over the classes i other than the target's y of
 * maximum(x[i] - x[y] + margin, 0)^p, times w[y], divided by c; p is 1 or 2, p and margin left out or 0 are 1; a target
 * that is no class gives NaN. multilabel_margin: the target lists classes j, of x's shape, and ends where it is
 * negative; the sum of maximum(1 - (x[j] - x[i]), 0) over the listed j and the i that are not, divided by c; a listed j
 * that is no class gives NaN. multilabel_soft_margin: the target has a float for each class; the mean over the last
 * axis of -(target * logsigmoid(x) + (1 - target) * logsigmoid(-x)) * w.
 * Dtypes: floats; i32 or i64 for the first two's targets.
 * Shape: rank 0; without reduction x's without the classes.
 * ATen: multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss. */
#define tc_multi_margin_loss(...) tc_multi_margin_loss_at(&(const tc_margin_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_multilabel_margin_loss(...)                                                                                \
    tc_multilabel_margin_loss_at(&(const tc_margin_loss_args){__VA_ARGS__, .at = TC_HERE})
#define tc_multilabel_soft_margin_loss(...)                                                                           \
    tc_multilabel_soft_margin_loss_at(&(const tc_margin_loss_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_margin_loss_args {
    tc_tensor x, target;
    tc_loss_reduction reduction;
    tc_tensor weight;
    double p, margin;
    tc_site at;
} tc_margin_loss_args;
tc_tensor tc_multi_margin_loss_at(const tc_margin_loss_args *args);
tc_tensor tc_multilabel_margin_loss_at(const tc_margin_loss_args *args);
tc_tensor tc_multilabel_soft_margin_loss_at(const tc_margin_loss_args *args);

/* tc_ctc_loss(x, target, lengths, target_lengths, .blank = 0, .zero_infinity = true, .reduction)
 *
 * -log of the probability that the steps of x[t, n, c], logarithms of probabilities, spell the labels target[n, s] with
 * blanks between them left out: a scan over the t steps. Sequence i has lengths[i] steps and target_lengths[i] labels;
 * what is behind them is not read. The mean is over the sequences, each term divided by its number of labels (at least
 * 1). A target that does not fit into its steps is infinite, or 0 with .zero_infinity; one with a label that is no
 * class gives NaN.
 * Dtypes: floats for x; i32 or i64 for the others.
 * Shape: rank 0; without reduction [n].
 * Numerics: each step adds three exponentials relative to the largest.
 * Errors: shapes that do not fit; targets in one row (pad them to [n, s]); a blank that is no class.
 * ATen: ctc_loss. */
#define tc_ctc_loss(...) tc_ctc_loss_at(&(const tc_ctc_loss_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_ctc_loss_args {
    tc_tensor x, target, lengths, target_lengths;
    tc_loss_reduction reduction;
    int blank;
    bool zero_infinity;
    tc_site at;
} tc_ctc_loss_args;
tc_tensor tc_ctc_loss_at(const tc_ctc_loss_args *args);

#endif
