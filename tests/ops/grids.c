/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling at the points of a grid.
 */
#include <tensor_compile/model.h>

TC_MODEL(grids)
{
}

#define SAMPLE(label, ...)                                                                                            \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);                                   \
        tc_tensor x = tc_input(g, "x", TC_F32, batch, 3, h, 5), grid = tc_input(g, "grid", TC_F32, batch, 4, h, 2);   \
        tc_output(g, "y", tc_grid_sample(x, grid, __VA_ARGS__));                                                      \
    }
SAMPLE(zeros, .padding = TC_GRID_ZEROS)
SAMPLE(zeros_corners, .nearest = true, .align_corners = true)
SAMPLE(border, .padding = TC_GRID_BORDER, .align_corners = true)
SAMPLE(border_nearest, .padding = TC_GRID_BORDER, .nearest = true)
SAMPLE(reflection, .padding = TC_GRID_REFLECTION)
SAMPLE(reflection_corners, .padding = TC_GRID_REFLECTION, .align_corners = true)
