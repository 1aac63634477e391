/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses. What all operations share is said in ../ops.h.
 *
 * .reduction says what becomes of the terms: their mean (where left out), their sum, or none, which gives a tensor of them.
 */
#ifndef TENSOR_COMPILE_OPS_LOSSES_H
#define TENSOR_COMPILE_OPS_LOSSES_H

#include "../model.h"

typedef enum tc_loss_reduction { TC_LOSS_MEAN, TC_LOSS_SUM, TC_LOSS_NONE } tc_loss_reduction;

/* Options of losses of two tensors; each loss names those that it reads. */
typedef struct tc_loss_args {
    tc_tensor x, target;
    tc_loss_reduction reduction;
    tc_tensor weight, positive_weight;
    double delta, beta;
    bool log_target;
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
 * With z = abs(x - target): z^2 / 2 below delta, from there on delta * (z - delta/2); and z^2 / 2 / beta below beta, from
 * there on z - beta/2. delta and beta left out or 0 are 1.
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

/* tc_kl_div(x, target, .log_target = true, .reduction)
 * x holds logarithms: target * (log(target) - x), 0 for a target of 0; with .log_target, whose target holds logarithms
 * too, exp(target) * (target - x). The mean is over all elements.
 * Dtypes: floats.
 * Shape: rank 0; without reduction the operands' broadcast one.
 * ATen: kl_div. */
#define tc_kl_div(...) tc_kl_div_at(&(const tc_loss_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_kl_div_at(const tc_loss_args *args);

/* tc_cross_entropy(x, target, .weight = w, .reduction, .ignore = true, .ignore_index = i, .label_smoothing = e)
 * tc_nll_loss(x, target, .weight = w, .reduction, .ignore = true, .ignore_index = i)
 *
 * x[c] or x[n, c, d...]: one score a class; nll_loss takes logarithms of probabilities (log_softmax), cross_entropy
 * makes them. The target holds class indices (x's shape without the classes): a term is -x[class] * w[class], where w[c]
 * left out is 1, and the mean divides by the sum of w[class], so that it is one of classes. With .ignore a target equal
 * to .ignore_index is no term (PyTorch's default -100 has to be named). A target that is no class gives NaN.
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

#endif
