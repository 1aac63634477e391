/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

#ifndef SIZE
#define SIZE 512
#endif

TC_MODEL(matmul)
{
    tc_tensor a = tc_input(g, "a", TC_F32, SIZE, SIZE), b = tc_input(g, "b", TC_F32, SIZE, SIZE);
    tc_output(g, "y", tc_matmul(a, b));
}
