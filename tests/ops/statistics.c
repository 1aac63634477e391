/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of reductions, and numbers that 16 bits cannot hold on the way: squares of f16 beyond 65504, counts of bf16
 * beyond 256.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(statistics)
{
}

#define INPUT                                                                                                         \
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);                                       \
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 6, h, 3)

TC_FUNCTION(op_moments)
{
    INPUT;
    tc_tensor mean;
    tc_output(g, "variance", tc_var_mean(x, &mean, 1, 3));
    tc_output(g, "mean", mean);
    tc_output(g, "deviation", tc_std_mean_unbiased_keepdims(x, &mean, 2));
    tc_output(g, "kept", mean);
    tc_output(g, "all", tc_std(x));
    tc_output(g, "logsumexp", tc_logsumexp(x, 1, 2));
}

TC_FUNCTION(op_large)
{
    INPUT;
    tc_tensor rows = tc_reshape(x, batch, 6, -1);
    tc_output(g, "mean", tc_mean(x));
    tc_output(g, "deviation", tc_std_unbiased(x));
    tc_output(g, "count", tc_norm(x, 0, 1, 2, 3));
    tc_output(g, "norm", tc_norm(x, 2, 3));
    tc_output(g, "cubes", tc_norm(x, 3, 1, 3));
    tc_output(g, "unit", tc_normalize(x, .axis = 1));
    tc_output(g, "layer", tc_layer_norm(x));
    tc_output(g, "rms", tc_rms_norm(x, .axes = 2));
    tc_output(g, "group", tc_group_norm(x, .groups = 2));
    tc_output(g, "instance", tc_instance_norm(x));
    tc_output(g, "response", tc_local_response_norm(x, .size = 3, .alpha = 0.001));
    tc_output(g, "mse", tc_mse_loss(x, tc_flip(x, 1)));
    tc_output(g, "cosine", tc_cosine_similarity(x, tc_flip(x, 2), 1, 1e-8));
    tc_output(g, "pairs", tc_cdist(rows, tc_flip(rows, 1), 2));
    tc_output(g, "pair", tc_pairwise_distance(x, tc_flip(x, 3), .p = 1, .keepdims = true));
}

TC_FUNCTION(op_batch_norm)
{
    INPUT;
    tc_tensor mean = tc_input(g, "mean", FLOAT, 6), variance = tc_input(g, "variance", FLOAT, 6);
    tc_tensor weight = tc_input(g, "weight", FLOAT, 6), bias = tc_input(g, "bias", FLOAT, 6);
    tc_output(g, "y", tc_batch_norm(x, mean, variance, weight, bias, .eps = 0.001));
    tc_output(g, "plain", tc_batch_norm(x, mean, variance));
}

TC_FUNCTION(op_softmax)
{
    INPUT;
    tc_output(g, "axes", tc_softmax(x, 1, 3));
    tc_output(g, "all", tc_log_softmax(x));
    tc_output(g, "least", tc_softmin(x, 1));
}

TC_FUNCTION(op_products)
{
    tc_dim n = tc_dynamic(g, "n", 1, 40);
    tc_tensor a = tc_input(g, "a", FLOAT, n, 24), b = tc_input(g, "b", FLOAT, 24, 20), c = tc_input(g, "c", FLOAT, 20);
    tc_output(g, "addmm", tc_addmm(c, a, b, .beta = 0.5, .alpha = 3));
    tc_output(g, "linear", tc_linear(a, tc_transpose(b, 0, 1), c));
    tc_output(g, "chain", tc_einsum("nk,km,m->n", a, b, c));
    tc_output(g, "inner", tc_inner(a, a));
    tc_output(g, "outer", tc_outer(c, c));
    tc_output(g, "sum", tc_tensordot(a, b, TC_AXES(1), TC_AXES(0)));
    tc_output(g, "cubes", tc_pow(c, 3));
    tc_output(g, "inverse", tc_pow(tc_abs(c), -1.5));
}

/* Products take integers, too: they wrap, and factors have to be whole. */
TC_FUNCTION(op_integers)
{
    tc_dim n = tc_dynamic(g, "n", 1, 40);
    tc_tensor a = tc_input(g, "a", TC_I32, n, 5), b = tc_input(g, "b", TC_I32, 5, 20), c = tc_input(g, "c", TC_I32, 20);
    tc_tensor w = tc_input(g, "w", TC_I32, 3, 5, 5), d = tc_input(g, "d", TC_I32, 3);
    tc_output(g, "addmm", tc_addmm(c, a, b, .beta = 2, .alpha = -3));
    tc_output(g, "linear", tc_linear(a, tc_transpose(b, 0, 1), c));
    tc_output(g, "chain", tc_einsum("nk,km,m->n", a, b, c));
    tc_output(g, "inner", tc_inner(a, a));
    tc_output(g, "outer", tc_outer(c, c));
    tc_output(g, "sum", tc_tensordot(a, b, TC_AXES(1), TC_AXES(0)));
    tc_output(g, "bilinear", tc_bilinear(a, a, w, d));
    tc_output(g, "dot", tc_dot(c, c));
    tc_output(g, "square", tc_square(c));
}

/* One element fewer than none is none. */
TC_FUNCTION(op_empty)
{
    tc_dim few = tc_dynamic(g, "few", 0, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, 3, few);
    tc_output(g, "variance", tc_var_unbiased(x, 1));
    tc_output(g, "deviation", tc_std_unbiased(x, 1));
    tc_output(g, "mean", tc_mean(x, 1));
    tc_output(g, "constant", tc_var_unbiased(tc_slice(x, 1, 0, 0)));
}
