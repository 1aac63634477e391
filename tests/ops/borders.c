/* SPDX-License-Identifier: Apache-2.0
 *
 * Padding by elements of the tensor; windows as columns and back.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(borders)
{
}

#define INPUT(dtype)                                                                                                  \
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 4, 40);                                       \
    tc_tensor x = tc_input(g, "x", dtype, batch, 3, h, 5)

#define PAD(label, kind)                                                                                              \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        INPUT(FLOAT);                                                                                                \
        tc_output(g, "two", kind(x, .low = {0, 0, 3, 1}, .high = {0, 0, 2, 4}));                                      \
        tc_output(g, "one", kind(tc_exp(x), .high = {0, 0, 1}));                                                      \
        tc_output(g, "three", kind(x, .low = {0, 2, 1}, .high = {0, 1, 0, 3}));                                       \
    }
PAD(reflect, tc_pad_reflect)
PAD(replicate, tc_pad_replicate)
PAD(circular, tc_pad_circular)

TC_FUNCTION(op_unfold)
{
    INPUT(FLOAT);
    tc_output(g, "y", tc_unfold(x, .kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}));
    tc_output(g, "dilated", tc_unfold(x, .kernel = {2, 2}, .dilation = {2, 3}));
}

TC_FUNCTION(op_fold)
{
    INPUT(FLOAT);
    tc_tensor columns = tc_unfold(x, .kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2});
    tc_output(g, "y", tc_fold(columns, h, 5, .kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2}));
}
