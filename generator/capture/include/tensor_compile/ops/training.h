/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of optimizers, as functions of a parameter, its gradient and what the optimizer remembers. What all operations
 * share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_TRAINING_H
#define TENSOR_COMPILE_OPS_TRAINING_H

#include "../model.h"

typedef struct tc_optimizer_args {
    tc_tensor x, gradient;
    tc_tensor rate, step;               /* one float of x's dtype; one i64, how many steps there were before */
    tc_tensor squares, momentum;        /* what is remembered, of x's shape: H and V below */
    double alpha, beta, decay, eps;     /* as they are: 0 where left out */
    double norm, norm_post;             /* of the squared norm that is added to what is minimized, before and behind the step */
    bool nesterov;
    tc_tensor *squares_next, *momentum_next;
    tc_site at;                         /* set by the macro */
} tc_optimizer_args;

/* tc_adagrad(x, gradient, rate, step, .squares = h, .decay = 0.1, .eps = 1e-6, .norm = 1e-3, .squares_next = &h)
 * tc_adam(x, gradient, rate, step, .squares = h, .momentum = v, .alpha = 0.9, .beta = 0.999, .eps = 1e-8, .norm,
 * .norm_post, .squares_next = &h, .momentum_next = &v)
 * tc_momentum(x, gradient, rate, step, .momentum = v, .alpha = 0.9, .beta = 1, .nesterov = true, .norm,
 * .momentum_next = &v): the next x. With G = norm * x + gradient:
 *
 *     adagrad   H' = H + G G;  x - rate / (1 + step * decay) * G / (sqrt(H') + eps)
 *     adam      V' = alpha V + (1 - alpha) G;  H' = beta H + (1 - beta) G G;
 *               (1 - norm_post) * (x - r V' / (sqrt(H') + eps)), r = rate, where step > 0 times sqrt(1 - beta^step) /
 *               (1 - alpha^step)
 *     momentum  V' = alpha V + (beta where step > 0, else 1) G;  x - rate V', with nesterov x - rate (G + alpha V')
 *
 * Dtypes: floats, one for all but the step, which is i64.
 * Shape: that of x.
 * Numerics: f16 and bf16 in f32, each result rounded once.
 * Errors: what the optimizer remembers, left out or of another type; options of another optimizer.
 * ATen: none; torch.optim has other conventions.
 * ONNX: Adagrad, Adam, Momentum of ai.onnx.preview.training, for each of their tensors. */
#define tc_adagrad(...) tc_adagrad_at(&(const tc_optimizer_args){__VA_ARGS__, .at = TC_HERE})
#define tc_adam(...) tc_adam_at(&(const tc_optimizer_args){__VA_ARGS__, .at = TC_HERE})
#define tc_momentum(...) tc_momentum_at(&(const tc_optimizer_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_adagrad_at(const tc_optimizer_args *args);
tc_tensor tc_adam_at(const tc_optimizer_args *args);
tc_tensor tc_momentum_at(const tc_optimizer_args *args);

#endif
