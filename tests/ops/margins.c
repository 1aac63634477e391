/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses of margins, distributions and vectors, on [n, m]: m classes, elements, or elements of a vector.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SIZES tc_dim n = tc_dynamic(g, "n", 1, 64), m = tc_dynamic(g, "m", 1, 512)
#define INPUT(name) tc_tensor name = tc_input(g, #name, FLOAT, n, m)

TC_MODEL(margins)
{
}

TC_FUNCTION(op_distributions)
{
    SIZES;
    INPUT(x);
    INPUT(rate);
    INPUT(target);
    INPUT(variance);
    tc_output(g, "poisson", tc_poisson_nll_loss(x, target));
    tc_output(g, "poisson_full", tc_poisson_nll_loss(x, target, .full = true, .reduction = TC_LOSS_NONE));
    tc_output(g, "rates", tc_poisson_nll_loss(rate, target, .rates = true, .reduction = TC_LOSS_SUM));
    tc_output(g, "gaussian", tc_gaussian_nll_loss(x, target, variance));
    tc_output(g, "gaussian_full", tc_gaussian_nll_loss(x, target, variance, .full = true, .eps = 0.5,
                                                       .reduction = TC_LOSS_NONE));
}

TC_FUNCTION(op_probabilities)
{
    SIZES;
    INPUT(x);
    INPUT(target);
    tc_tensor weight = tc_input(g, "weight", FLOAT, m);
    tc_output(g, "mean", tc_binary_cross_entropy(x, target));
    tc_output(g, "terms", tc_binary_cross_entropy(x, target, .weight = weight, .reduction = TC_LOSS_NONE));
    tc_output(g, "batch", tc_kl_div(tc_neg(x), target, .reduction = TC_LOSS_BATCH_MEAN));
}

TC_FUNCTION(op_sides)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    INPUT(side);
    tc_output(g, "soft", tc_soft_margin_loss(x, side));
    tc_output(g, "hinge", tc_hinge_embedding_loss(x, side, .reduction = TC_LOSS_NONE));
    tc_output(g, "hinge_mean", tc_hinge_embedding_loss(x, side, .margin = 2.5));
    tc_output(g, "ranking", tc_margin_ranking_loss(x, y, side));
    tc_output(g, "ranking_sum", tc_margin_ranking_loss(x, y, side, .margin = 0.5, .reduction = TC_LOSS_SUM));
}

TC_FUNCTION(op_vectors)
{
    SIZES;
    INPUT(x);
    INPUT(y);
    INPUT(z);
    tc_tensor side = tc_input(g, "side", FLOAT, n);
    tc_output(g, "cosine", tc_cosine_embedding_loss(x, y, side, .margin = 0.125, .reduction = TC_LOSS_NONE));
    tc_output(g, "cosine_mean", tc_cosine_embedding_loss(x, y, side));
    tc_output(g, "triplet", tc_triplet_margin_loss(x, y, z));
    tc_output(g, "swapped", tc_triplet_margin_loss(x, y, z, .margin = 2, .p = 1, .swap = true, .reduction = TC_LOSS_NONE));
}

TC_FUNCTION(op_classes)
{
    SIZES;
    INPUT(x);
    INPUT(labels);
    tc_tensor target = tc_input(g, "target", TC_I64, n), list = tc_input(g, "list", TC_I32, n, m);
    tc_tensor weight = tc_input(g, "weight", FLOAT, m);
    tc_output(g, "margin", tc_multi_margin_loss(x, target));
    tc_output(g, "squares", tc_multi_margin_loss(x, target, .p = 2, .margin = 0.5, .weight = weight,
                                                 .reduction = TC_LOSS_NONE));
    tc_output(g, "listed", tc_multilabel_margin_loss(x, list, .reduction = TC_LOSS_NONE));
    tc_output(g, "listed_mean", tc_multilabel_margin_loss(x, list));
    tc_output(g, "soft", tc_multilabel_soft_margin_loss(x, labels, .weight = weight));
    tc_output(g, "soft_terms", tc_multilabel_soft_margin_loss(x, labels, .reduction = TC_LOSS_NONE));
}

TC_FUNCTION(op_row)
{
    tc_dim m = tc_dynamic(g, "m", 1, 512);
    tc_tensor x = tc_input(g, "x", FLOAT, m), target = tc_input(g, "target", TC_I32), list = tc_input(g, "list", TC_I64, m);
    tc_output(g, "margin", tc_multi_margin_loss(x, target));
    tc_output(g, "listed", tc_multilabel_margin_loss(x, list));
}

TC_FUNCTION(op_ctc)
{
    tc_dim t = tc_dynamic(g, "t", 0, 64), n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", FLOAT, t, n, 6), target = tc_input(g, "target", TC_I64, n, 4);
    tc_tensor lengths = tc_input(g, "lengths", TC_I64, n), labels = tc_input(g, "labels", TC_I64, n);
    tc_output(g, "mean", tc_ctc_loss(x, target, lengths, labels, .zero_infinity = true));
    tc_output(g, "terms", tc_ctc_loss(x, target, lengths, labels, .blank = 5, .reduction = TC_LOSS_NONE));
}

/* Labels that are no class: read, and behind the end of a list. */
TC_FUNCTION(op_unknown)
{
    tc_tensor x = tc_input(g, "x", FLOAT, 3, 4), list = tc_input(g, "list", TC_I32, 3, 4);
    tc_tensor steps = tc_input(g, "steps", FLOAT, 5, 3, 4), target = tc_input(g, "target", TC_I64, 3, 2);
    tc_tensor lengths = tc_input(g, "lengths", TC_I64, 3), labels = tc_input(g, "labels", TC_I64, 3);
    tc_output(g, "listed", tc_multilabel_margin_loss(x, list, .reduction = TC_LOSS_NONE));
    tc_output(g, "ctc", tc_ctc_loss(steps, target, lengths, labels, .reduction = TC_LOSS_NONE, .zero_infinity = true));
}
