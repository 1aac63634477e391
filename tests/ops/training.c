/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of optimizers against ONNX's reference.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define OPERANDS                                                                                                      \
    tc_dim n = tc_dynamic(g, "n", 0, 64);                                                                             \
    tc_tensor x = tc_input(g, "x", FLOAT, n, 5), d = tc_input(g, "d", FLOAT, n, 5), v, h;                             \
    tc_tensor rate = tc_input(g, "rate", FLOAT), step = tc_input(g, "step", TC_I64)
#define SQUARES tc_abs(tc_input(g, "h", FLOAT, n, 5))
#define MOMENTUM tc_input(g, "v", FLOAT, n, 5)

TC_MODEL(training)
{
}

TC_FUNCTION(op_adagrad)
{
    OPERANDS;
    tc_output(g, "y", tc_adagrad(x, d, rate, step, .squares = SQUARES, .decay = 0.1, .eps = 1e-3, .norm = 0.01,
                                 .squares_next = &h));
    tc_output(g, "h_next", h);
    (void)v;
}

TC_FUNCTION(op_adam)
{
    OPERANDS;
    tc_output(g, "y", tc_adam(x, d, rate, step, .squares = SQUARES, .momentum = MOMENTUM, .alpha = 0.9, .beta = 0.75, .eps = 1e-2,
                              .norm = 0.01, .norm_post = 0.05, .squares_next = &h, .momentum_next = &v));
    tc_output(g, "h_next", h);
    tc_output(g, "v_next", v);
}

TC_FUNCTION(op_momentum)
{
    OPERANDS;
    tc_tensor start = MOMENTUM;
    tc_output(g, "y", tc_momentum(x, d, rate, step, .momentum = start, .alpha = 0.9, .beta = 0.5, .momentum_next = &v));
    tc_output(g, "v_next", v);
    tc_output(g, "nesterov", tc_momentum(x, d, rate, step, .momentum = start, .alpha = 0.9, .beta = 0.5, .norm = 0.1,
                                         .nesterov = true));
    (void)h;
}
