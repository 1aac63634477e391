/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses on [n, m]: m classes, or elements.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SIZES tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 512)
#define INPUT(name) tc_tensor name = tc_input(g, #name, FLOAT, n, m)

TC_MODEL(losses)
{
}

TC_FUNCTION(op_distances)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    tc_output(g, "mse", tc_mse_loss(x, y));
    tc_output(g, "mse_sum", tc_mse_loss(x, y, .reduction = TC_LOSS_SUM));
    tc_output(g, "l1", tc_l1_loss(x, y, .reduction = TC_LOSS_NONE));
    tc_output(g, "huber", tc_huber_loss(x, y, .delta = 0.8));
    tc_output(g, "smooth", tc_smooth_l1_loss(x, y, .beta = 0.6, .reduction = TC_LOSS_NONE));
}

TC_FUNCTION(op_logistic)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    tc_tensor weight = tc_input(g, "weight", FLOAT, m), positive = tc_input(g, "positive", FLOAT, m);
    tc_output(g, "mean", tc_binary_cross_entropy_with_logits(x, y));
    tc_output(g, "terms", tc_binary_cross_entropy_with_logits(x, y, .weight = weight, .positive_weight = positive,
                                                              .reduction = TC_LOSS_NONE));
}

TC_FUNCTION(op_divergence)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    tc_tensor logp = tc_log_softmax(x, 1);
    tc_output(g, "mean", tc_kl_div(logp, y));
    tc_output(g, "log", tc_kl_div(logp, x, .log_target = true, .reduction = TC_LOSS_SUM));
}

TC_FUNCTION(op_classes)
{
    SIZES;
    INPUT(x);
    tc_tensor target = tc_input(g, "target", TC_I64, n), weight = tc_input(g, "weight", FLOAT, m);
    tc_output(g, "mean", tc_cross_entropy(x, target));
    tc_output(g, "weighted", tc_cross_entropy(x, target, .weight = weight, .label_smoothing = 0.2));
    tc_output(g, "ignored", tc_cross_entropy(x, target, .weight = weight, .ignore = true, .ignore_index = 3));
}

TC_FUNCTION(op_terms)
{
    SIZES;
    INPUT(x);
    tc_tensor target = tc_input(g, "target", TC_I32, n);
    tc_tensor logp = tc_log_softmax(x, 1);
    tc_output(g, "terms", tc_nll_loss(logp, target, .reduction = TC_LOSS_NONE, .ignore = true, .ignore_index = -100));
    tc_output(g, "mean", tc_nll_loss(logp, target, .ignore = true, .ignore_index = -100));
    tc_output(g, "smooth", tc_cross_entropy(x, target, .label_smoothing = 0.1, .reduction = TC_LOSS_SUM));
}

TC_FUNCTION(op_pixels)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 5, m), target = tc_input(g, "target", TC_I64, n, m);
    tc_output(g, "mean", tc_cross_entropy(x, target));
    tc_output(g, "terms", tc_cross_entropy(x, target, .reduction = TC_LOSS_NONE));
}

TC_FUNCTION(op_probabilities)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    tc_tensor weight = tc_input(g, "weight", FLOAT, m);
    tc_output(g, "mean", tc_cross_entropy(x, y));
    tc_output(g, "smooth", tc_cross_entropy(x, y, .weight = weight, .label_smoothing = 0.3, .reduction = TC_LOSS_NONE));
}
