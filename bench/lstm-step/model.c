/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

#ifndef WEIGHTS
#define WEIGHTS "lstm-step.safetensors"
#endif

TC_MODEL(lstm_step)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 1, 64);
    tc_tensor h = tc_input(g, "h", TC_F32, 1, 128);
    tc_tensor c = tc_input(g, "c", TC_F32, 1, 128);
    tc_weights(g, WEIGHTS);
    tc_tensor ih = tc_weight(g, "lstm.weight_ih"), hh = tc_weight(g, "lstm.weight_hh");
    tc_tensor ih_bias = tc_weight(g, "lstm.bias_ih"), hh_bias = tc_weight(g, "lstm.bias_hh"), c_next;
    tc_tensor h_next = tc_lstm_cell(x, h, {ih, hh, ih_bias, hh_bias}, .c = c, .c_next = &c_next);
    tc_output(g, "state", tc_stack(0, h_next, c_next));
}
