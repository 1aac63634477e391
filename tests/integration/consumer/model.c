/* SPDX-License-Identifier: Apache-2.0 */
#include <tensor_compile/model.h>

#include "sizes.h"

TC_MODEL(scale)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 8);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, COLUMNS);
    tc_output(g, "y", tc_add(tc_mul(x, 2.0), 1.0));
    tc_output(g, "total", tc_sum(x, 1));
}
