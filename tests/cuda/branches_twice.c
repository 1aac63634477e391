/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches that are joined where others begin, of which one that is launched beside the row comes first.
 */
#include <tensor_compile/model.h>

TC_MODEL(branches_twice)
{
    tc_tensor x = tc_input(g, "x", TC_F32, 2, 2, 3, 4, 4), grid = tc_input(g, "grid", TC_F32, 2, 2, 3, 4, 3);
    tc_output(g, "y", tc_grid_sample(x, grid));
}
