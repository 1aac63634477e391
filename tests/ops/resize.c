/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling as ONNX has it.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(resize)
{
}

#define DIMS tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40)
#define SCALE23 .scale = {1, 1, 2, 3}
#define PLANE TC_RESIZE_AXES(2, 3)

/* Every rounding at coordinates with ties. */
TC_FUNCTION(op_nearest)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 6);
    tc_output(g, "twice", tc_resize(x, .mode = TC_NEAREST, SCALE23));
    tc_output(g, "half_down", tc_resize(x, .mode = TC_NEAREST, PLANE, .scale = {0.5, 0.5}));
    tc_output(g, "half_up", tc_resize(x, .mode = TC_NEAREST, .rounding = TC_ROUND_HALF_UP, PLANE, .scale = {0.5, 0.5}));
    tc_output(g, "floor", tc_resize(x, .mode = TC_NEAREST, .rounding = TC_ROUND_DOWN, .places = TC_ASYMMETRIC, PLANE,
                                    TC_SIZES(7, 4)));
    tc_output(g, "ceil", tc_resize(x, .mode = TC_NEAREST, .rounding = TC_ROUND_UP, .places = TC_HALF_PIXEL, PLANE,
                                   TC_SIZES(5, 8)));
    tc_output(g, "corners", tc_resize(x, .mode = TC_NEAREST, .places = TC_ALIGN_CORNERS, PLANE, TC_SIZES(h, 9)));
    tc_output(g, "blocks", tc_resize(x, .mode = TC_NEAREST, .rounding = TC_ROUND_DOWN, .places = TC_ASYMMETRIC, SCALE23));
}

TC_FUNCTION(op_linear)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 6);
    tc_output(g, "scale", tc_resize(x, .mode = TC_LINEAR, .scale = {1, 1, 2, 0.6f}));
    tc_output(g, "sizes", tc_resize(x, .mode = TC_LINEAR, .places = TC_PYTORCH_HALF_PIXEL, PLANE, TC_SIZES(7, 1)));
    tc_output(g, "corners", tc_resize(x, .mode = TC_LINEAR, .places = TC_ALIGN_CORNERS, PLANE, TC_SIZES(h, 11)));
    tc_output(g, "asymmetric", tc_resize(x, .mode = TC_LINEAR, .places = TC_ASYMMETRIC, PLANE, TC_SIZES(3, 8)));
    tc_output(g, "symmetric", tc_resize(x, .mode = TC_LINEAR, .places = TC_HALF_PIXEL_SYMMETRIC, TC_RESIZE_AXES(3),
                                        .scale = {0.7f}));
    tc_output(g, "line", tc_resize(x, .mode = TC_LINEAR, TC_RESIZE_AXES(1), TC_SIZES(5)));
}

TC_FUNCTION(op_cubic)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 6);
    tc_output(g, "up", tc_resize(x, .mode = TC_CUBIC, PLANE, .scale = {2, 2}));
    tc_output(g, "a", tc_resize(x, .mode = TC_CUBIC, .a = -0.5, .exclude_outside = true, PLANE, .scale = {2, 0.8f}));
    tc_output(g, "corners", tc_resize(x, .mode = TC_CUBIC, .places = TC_ALIGN_CORNERS, PLANE, TC_SIZES(9, 10)));
    tc_output(g, "asymmetric", tc_resize(x, .mode = TC_CUBIC, .places = TC_ASYMMETRIC, TC_RESIZE_AXES(-1), TC_SIZES(4)));
}

TC_FUNCTION(op_antialias)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 6);
    tc_output(g, "linear", tc_resize(x, .mode = TC_LINEAR, .antialias = true, PLANE, .scale = {0.6f, 0.6f}));
    tc_output(g, "cubic", tc_resize(x, .mode = TC_CUBIC, .antialias = true, PLANE, TC_SIZES(3, 4)));
    tc_output(g, "outside", tc_resize(x, .mode = TC_CUBIC, .antialias = true, .exclude_outside = true, PLANE, TC_SIZES(h, 2)));
    tc_output(g, "up", tc_resize(x, .mode = TC_LINEAR, .antialias = true, PLANE, TC_SIZES(7, 9)));
}

TC_FUNCTION(op_crop)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, h, 6), roi = tc_input(g, "roi", FLOAT, 4);
    tc_output(g, "numbers", tc_resize(x, .mode = TC_LINEAR, .places = TC_CROP, .outside = 10, PLANE, TC_SIZES(3, 5),
                                      .start = {0.4, 0.6}, .end = {0.6, 1.7}));
    tc_output(g, "tensor", tc_resize(x, .mode = TC_LINEAR, .places = TC_CROP, PLANE, TC_SIZES(1, 6), .roi = roi));
    tc_output(g, "nearest", tc_resize(x, .mode = TC_NEAREST, .places = TC_CROP, .outside = -1, TC_RESIZE_AXES(3), TC_SIZES(7),
                                      .start = {-0.3}, .end = {0.9}));
}

TC_FUNCTION(op_volume)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 2, 3, h, 2);
    tc_output(g, "linear", tc_resize(x, .mode = TC_LINEAR, .scale = {1, 1, 2, 1.5, 2}));
    tc_output(g, "cubic", tc_resize(x, .mode = TC_CUBIC, TC_RESIZE_AXES(4, 2), TC_SIZES(3, 5)));
}
