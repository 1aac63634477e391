/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes in images, convolutions at places that are data.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(detection)
{
}

#define DIMS tc_dim n = tc_dynamic(g, "n", 1, 40), r = tc_dynamic(g, "r", 1, 12)

TC_FUNCTION(op_nms)
{
    DIMS;
    tc_tensor boxes = tc_input(g, "boxes", FLOAT, 2, n, 4), scores = tc_input(g, "scores", FLOAT, 2, 3, n), count;
    tc_tensor most = tc_input(g, "most", TC_I64, 1), t = tc_input(g, "t", FLOAT, 1);
    tc_output(g, "corners", tc_nms(boxes, scores, TC_SIZES(r), .iou_threshold = 0.0625, .count = &count));
    tc_output(g, "corners_count", count);
    tc_output(g, "limited", tc_nms(boxes, scores, TC_SIZES(r), .scored = true, .score_threshold = 0.5, .limit = most, .iou = t,
                                   .count = &count));
    tc_output(g, "limited_count", count);
    tc_output(g, "centers", tc_nms(tc_abs(boxes), scores, TC_SIZES(5), .iou_threshold = 0.125, .centers = true, .score = t));
}

TC_FUNCTION(op_roi_align)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 3, 9, 11), rois = tc_clamp(tc_input(g, "rois", FLOAT, r, 4), -8, 40);
    tc_tensor images = tc_clamp(tc_input(g, "images", TC_I64, r), 0, tc_sub(tc_dim_value(g, TC_I64, n), 1));
    tc_output(g, "fixed", tc_roi_align(x, rois, images, .height = 3, .width = 2, .samples = 2, .scale = 0.5, .half_pixel = true));
    tc_output(g, "adaptive", tc_roi_align(x, rois, images, .height = 2, .width = 3, .scale = 0.5));
    tc_output(g, "most", tc_roi_align(x, rois, images, .height = 2, .width = 2, .samples = 2, .max = true));
}

TC_FUNCTION(op_roi_pool)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 3, 9, 11), rois = tc_input(g, "rois", FLOAT, r, 4);
    tc_tensor images = tc_cast(tc_clamp(tc_input(g, "images", TC_I64, r), 0, tc_sub(tc_dim_value(g, TC_I64, n), 1)), FLOAT);
    tc_output(g, "pooled", tc_roi_pool(x, tc_concat(1, tc_unsqueeze(images, 1), rois), 3, 2, 0.5));
}

TC_FUNCTION(op_deform)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 4, 6, 7), w = tc_input(g, "w", FLOAT, 6, 2, 3, 2), b = tc_input(g, "b", FLOAT, 6);
    tc_tensor offset = tc_input(g, "offset", FLOAT, n, 24, 6, 8), mask = tc_input(g, "mask", FLOAT, n, 12, 6, 8);
    tc_output(g, "grouped", tc_deform_conv2d(x, w, offset, b, mask, .padding = {1, 1}, .groups = 2));
    tc_tensor z = tc_input(g, "z", FLOAT, 1, 1, n, 5), v = tc_input(g, "v", FLOAT, 2, 1, 1, 3);
    tc_tensor shift = tc_input(g, "shift", FLOAT, 1, 6, n, 2);
    tc_output(g, "plain", tc_deform_conv2d(z, v, shift, .low = {0, 2}, .high = {0, 1}, .dilation = {1, 2}, .stride = {1, 2}));
    tc_output(g, "none", tc_full(g, 0, FLOAT, r));
}
