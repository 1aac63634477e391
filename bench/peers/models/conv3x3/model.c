/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

TC_MODEL(conv3x3)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 1, 64, 56, 56);
    tc_weights(g, WEIGHTS);
    tc_output(g, "y", tc_conv2d(x, tc_weight(g, "weight"), tc_weight(g, "bias"), .padding = {1, 1}));
}
