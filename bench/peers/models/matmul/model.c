/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

TC_MODEL(matmul)
{
    tc_tensor a = tc_input(g, "a", TC_F32, 512, 512), b = tc_input(g, "b", TC_F32, 512, 512);
    tc_output(g, "y", tc_matmul(a, b));
}
