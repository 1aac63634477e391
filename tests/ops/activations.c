/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations on [n, m].
 */
#include <tensor_compile/model.h>

#include "float.h"

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512)
#define INPUT(name) tc_tensor name = tc_input(g, #name, FLOAT, n, m)

TC_MODEL(activations)
{
}

TC_FUNCTION(op_exponential)
{
    SIZES;
    INPUT(x);
    tc_output(g, "elu", tc_elu(x, 0.7));
    tc_output(g, "celu", tc_celu(x, 1.3));
    tc_output(g, "selu", tc_selu(x));
}

TC_FUNCTION(op_lines)
{
    SIZES;
    INPUT(x);
    tc_output(g, "relu6", tc_relu6(x));
    tc_output(g, "hardtanh", tc_hardtanh(x, -0.5, 2));
    tc_output(g, "hardsigmoid", tc_hardsigmoid(x));
    tc_output(g, "hardswish", tc_hardswish(x));
}

TC_FUNCTION(op_soft)
{
    SIZES;
    INPUT(x);
    tc_output(g, "softplus", tc_softplus(x));
    tc_output(g, "steep", tc_softplus(x, .beta = 3, .threshold = 5));
    tc_output(g, "logsigmoid", tc_logsigmoid(x));
    tc_output(g, "softsign", tc_softsign(x));
}

TC_FUNCTION(op_mish)
{
    SIZES;
    INPUT(x);
    tc_output(g, "y", tc_mish(x));
}

TC_FUNCTION(op_shrunk)
{
    SIZES;
    INPUT(x);
    tc_output(g, "threshold", tc_threshold(x, 0.5, -2));
    tc_output(g, "hard", tc_hardshrink(x, 1.5));
    tc_output(g, "soft", tc_softshrink(x, 1.5));
    tc_output(g, "tanh", tc_tanhshrink(x));
    tc_output(g, "rrelu", tc_rrelu(x, 0.125, 0.375));
}

TC_FUNCTION(op_prelu)
{
    SIZES;
    INPUT(x);
    tc_tensor slope = tc_input(g, "slope", FLOAT, m), one = tc_input(g, "one", FLOAT, 1);
    tc_output(g, "channels", tc_prelu(x, slope));
    tc_output(g, "all", tc_prelu(x, one));
}

TC_FUNCTION(op_glu)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", FLOAT, n, tc_dim_mul(m, 2)), z = tc_input(g, "z", FLOAT, 6, m);
    tc_output(g, "columns", tc_glu(x, -1));
    tc_output(g, "rows", tc_glu(z, 0));
}
