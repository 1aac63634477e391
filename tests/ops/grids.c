/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling at the points of a grid.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(grids)
{
}

#define SAMPLE(label, ...)                                                                                            \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);                                   \
        tc_tensor x = tc_input(g, "x", FLOAT, batch, 3, h, 5), grid = tc_input(g, "grid", FLOAT, batch, 4, h, 2);   \
        tc_output(g, "y", tc_grid_sample(x, grid, __VA_ARGS__));                                                      \
    }
SAMPLE(zeros, .padding = TC_GRID_ZEROS)
SAMPLE(zeros_corners, .nearest = true, .align_corners = true)
SAMPLE(border, .padding = TC_GRID_BORDER, .align_corners = true)
SAMPLE(border_nearest, .padding = TC_GRID_BORDER, .nearest = true)
SAMPLE(reflection, .padding = TC_GRID_REFLECTION)
SAMPLE(reflection_corners, .padding = TC_GRID_REFLECTION, .align_corners = true)
SAMPLE(reflection_single, .padding = TC_GRID_REFLECTION, .align_corners = true)
SAMPLE(cubic, .padding = TC_GRID_REFLECTION, .cubic = true)
SAMPLE(cubic_zeros, .cubic = true, .align_corners = true)

#define VOLUME(label, ...)                                                                                            \
    TC_FUNCTION(op_##label)                                                                                           \
    {                                                                                                                 \
        tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);                                   \
        tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, 3, h, 4), grid = tc_input(g, "grid", FLOAT, batch, 2, 3, h, 3); \
        tc_output(g, "y", tc_grid_sample(x, grid, __VA_ARGS__));                                                      \
    }
VOLUME(volume, .padding = TC_GRID_ZEROS)
VOLUME(volume_nearest, .padding = TC_GRID_REFLECTION, .nearest = true)

TC_FUNCTION(op_affine)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);
    tc_tensor theta = tc_input(g, "theta", FLOAT, batch, 2, 3), map = tc_input(g, "map", FLOAT, batch, 3, 4);
    tc_output(g, "image", tc_affine_grid(theta, TC_SIZES(h, 5)));
    tc_output(g, "corners", tc_affine_grid(theta, TC_SIZES(1, h), .align_corners = true));
    tc_output(g, "volume", tc_affine_grid(map, TC_SIZES(2, h, 3)));
}
