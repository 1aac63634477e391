/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling to other sizes.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(resampling)
{
}

#define DIMS tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40)

TC_FUNCTION(op_nearest)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 3, h, 5);
    tc_output(g, "twice", tc_interpolate(x, .mode = TC_NEAREST, .scale = {2, 3}));
    tc_output(g, "sizes", tc_interpolate(x, .mode = TC_NEAREST, TC_SIZES(7, 13)));
    tc_output(g, "half", tc_interpolate(x, .mode = TC_NEAREST, .scale = {1.5, 0.5}));
    tc_output(g, "exact", tc_interpolate(x, .mode = TC_NEAREST_EXACT, TC_SIZES(h, 8)));
    tc_output(g, "exact_twice", tc_interpolate(x, .mode = TC_NEAREST_EXACT, .scale = {2, 2}));
}

TC_FUNCTION(op_linear)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 3, h, 5);
    tc_output(g, "twice", tc_interpolate(x, .mode = TC_LINEAR, .scale = {2, 2}));
    tc_output(g, "sizes", tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(3, 11)));
}

TC_FUNCTION(op_corners)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 3, h, 5);
    tc_output(g, "twice", tc_interpolate(x, .mode = TC_LINEAR, .scale = {2, 2}, .align_corners = true));
    tc_output(g, "one", tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(1, 5), .align_corners = true));
}

TC_FUNCTION(op_dims)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 3, h);
    tc_output(g, "line", tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(9)));
    tc_tensor y = tc_input(g, "y", FLOAT, batch, 2, 3, h, 2);
    tc_output(g, "volume", tc_interpolate(y, .mode = TC_LINEAR, .scale = {1.5, 1, 2}));
    tc_output(g, "blocks", tc_interpolate(y, .mode = TC_NEAREST, .scale = {2, 3, 1}));
}

TC_FUNCTION(op_cubic)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 5);
    tc_output(g, "y", tc_interpolate(x, .mode = TC_CUBIC, TC_SIZES(6, 9)));
    tc_output(g, "corners", tc_interpolate(x, .mode = TC_CUBIC, TC_SIZES(h, 3), .align_corners = true));
}

TC_FUNCTION(op_antialias)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 5);
    tc_output(g, "linear", tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(3, 2), .antialias = true));
    tc_output(g, "scale", tc_interpolate(x, .mode = TC_LINEAR, .scale = {2, 0.4}, .antialias = true));
    tc_output(g, "cubic", tc_interpolate(x, .mode = TC_CUBIC, TC_SIZES(h, 3), .antialias = true));
}

TC_FUNCTION(op_antialias_constant)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, batch, h, 9, 11);
    tc_output(g, "cubic", tc_interpolate(x, .mode = TC_CUBIC, TC_SIZES(4, 5), .antialias = true));
    tc_output(g, "corners", tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(4, 2), .antialias = true, .align_corners = true));
}

TC_FUNCTION(op_area)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 5);
    tc_output(g, "y", tc_interpolate(x, .mode = TC_AREA, TC_SIZES(3, 2)));
    tc_output(g, "scale", tc_interpolate(x, .mode = TC_AREA, .scale = {2, 0.6}));
}

/* Ratios of the sizes that a scale makes, and a scale that makes the same size. */
TC_FUNCTION(op_ratios)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 3);
    tc_output(g, "sizes", tc_interpolate(x, .mode = TC_LINEAR, .scale = {1.5, 1.9}, .recompute_scale = true));
    tc_output(g, "scale", tc_interpolate(x, .mode = TC_CUBIC, .scale = {1, 1.2}));
    tc_output(g, "kept", tc_interpolate(x, .mode = TC_LINEAR, .scale = {2, 1.2}));
}

TC_FUNCTION(op_constant)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 17, 6, 8);
    tc_tensor y = tc_interpolate(tc_exp(tc_interpolate(x, .mode = TC_LINEAR, .scale = {2, 2})), .mode = TC_NEAREST,
                                 TC_SIZES(9, 24));
    tc_output(g, "y", tc_add(y, tc_input(g, "z", FLOAT, h, 1, 1, 1, 1)));
}

/* Channels that come last in memory, before and behind: enough of them for vectors, and some more. */
TC_FUNCTION(op_last)
{
    DIMS;
    tc_tensor x = tc_permute(tc_input(g, "x", FLOAT, batch, h, 5, 21), 0, 3, 1, 2);
    tc_tensor large = tc_relu(tc_interpolate(x, .mode = TC_LINEAR, .scale = {2, 2}));
    tc_tensor small = tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(3, 4), .align_corners = true);
    tc_tensor near = tc_interpolate(tc_max_pool2d(x, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}),
                                    .mode = TC_NEAREST, TC_SIZES(7, 8));
    tc_output(g, "large", tc_permute(large, 0, 2, 3, 1));
    tc_output(g, "small", tc_permute(small, 0, 2, 3, 1));
    tc_output(g, "near", tc_permute(near, 0, 2, 3, 1));
}
