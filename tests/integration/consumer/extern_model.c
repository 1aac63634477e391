/* SPDX-License-Identifier: Apache-2.0
 *
 * A model that calls a function of extern_main.c.
 */
#include <tensor_compile/model.h>

TC_MODEL(sorter)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, n);
    tc_output(g, "y", tc_mul(tc_extern(g, "bubble_sort", TC_RESULT(TC_F32, n), tc_neg(x)), -1));
}
