/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes in images: which of them stay, what lies in them; convolutions at places that are data. What all operations
 * share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_DETECTION_H
#define TENSOR_COMPILE_OPS_DETECTION_H

#include "../model.h"
#include "resampling.h"

/* tc_nms(boxes, scores, TC_SIZES(m), .iou_threshold = 0.5, .score_threshold = 0.1, .scored = true, .centers = true,
 *        .limit = l, .iou = t, .score = s, .count = &n)
 *
 * Of boxes[b, n, 4] with the scores[b, c, n], those that stay for each b and c: one after the other the box of the
 * highest score (of equal ones the first), without those whose overlap with one that was taken, the common area divided
 * by the area of both together, is above the threshold; with .scored without those whose score is not above
 * .score_threshold. A box is two opposite corners y, x, y, x, or with .centers x, y of its centre, width and height. At
 * most m (a size) boxes of a b and c, and at most .limit of them, an i32 or i64 tensor. .iou and .score are tensors of
 * one element in the place of the numbers. Rows [b, c, number of the box], in the order of b, c and the taking, then
 * rows of zeros. *count: how many rows there are.
 * Dtypes: floats, one for both; the results are i64.
 * Shape: [b * c * m, 3]; rank 0 for count.
 * Numerics: f16 and bf16 in f32. m iterations of a loop.
 * ATen: none (torchvision: nms).
 * ONNX: NonMaxSuppression. */
#define tc_nms(...) tc_nms_at(&(const tc_nms_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_nms_args {
    tc_tensor boxes, scores;
    int size_count;
    const tc_dim *size;
    double iou_threshold, score_threshold;
    bool scored, centers;
    tc_tensor limit, iou, score; /* NULL: no limit, the numbers */
    tc_tensor *count;            /* NULL: not wanted */
    tc_site at;
} tc_nms_args;
tc_tensor tc_nms_at(const tc_nms_args *args);

/* tc_roi_align(x, rois, images, .height = 7, .width = 7, .samples = 2, .scale = 0.25, .half_pixel = true, .max = true)
 *
 * x[n, c, h, w] in boxes rois[r, 4] of the images[r]: x1, y1, x2, y2 times the scale, minus 0.5 with .half_pixel
 * (without it boxes are at least 1 wide and high). A box is cut into height * width parts, and the value of a part is
 * the average of `samples` * `samples` points at even distances (0: ceil(box height / height) times ceil(box width /
 * width), each at most 1024), each bilinear between four elements; beyond one element outside of the image it is 0.
 * .max: the largest product of an element and its weight among all points. scale left out or 0 is 1, height and width
 * 1.
 * Dtypes: floats, one for x and rois; images i32 or i64.
 * Shape: [r, c, height, width].
 * Numerics: points are added in row-major order, their elements too. 16 bits: in f32 throughout, rounded once. An
 * iteration of a loop a point.
 * Errors: an image outside of 0..n-1 is a status.
 * ATen: none (torchvision: roi_align with aligned=True for .half_pixel).
 * ONNX: RoiAlign. */
#define tc_roi_align(...) tc_roi_align_at(&(const tc_roi_align_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_roi_align_args {
    tc_tensor x, rois, images;
    int height, width, samples;
    double scale;
    bool half_pixel, max;
    tc_site at;
} tc_roi_align_args;
tc_tensor tc_roi_align_at(const tc_roi_align_args *args);

/* tc_roi_pool(x, rois, height, width, scale)
 *
 * The largest element of x[n, c, h, w] in each of height * width parts of the boxes rois[r, 5]: image, x1, y1, x2, y2,
 * times the scale and rounded (halves away from 0), both ends included. Part i of a length l (at least 1) in k has the
 * elements floor(i*l / k) to below ceil((i + 1)*l / k); without any in the image it is 0.
 * Dtypes: floats, one for both.
 * Shape: [r, c, height, width].
 * Errors: an image outside of 0..n-1 is a status.
 * ATen: none (torchvision: roi_pool).
 * ONNX: MaxRoiPool. */
#define tc_roi_pool(x, rois, height, width, scale) tc_roi_pool_at(TC_HERE, x, rois, height, width, scale)
tc_tensor tc_roi_pool_at(tc_site at, tc_tensor x, tc_tensor rois, int height, int width, double scale);

/* tc_deform_conv2d(x, weight, offset[, bias][, mask], .stride = {1, 1}, .padding = {0, 0}, .dilation = {1, 1},
 * .groups = 1)
 * tc_deform_conv2d(x, weight, offset, bias, mask, .low = {1, 1}, .high = {0, 0})
 *
 * A convolution of x[n, c, h, w] by weight[o, c / groups, kh, kw] whose element (i, j) of each window is taken at its
 * place plus offset[n, d*kh*kw*2, h', w'] (down, then right), bilinear, 0 outside of x, and times mask[n, d*kh*kw, h',
 * w']; the d groups of offsets share the channels, in their order. bias and mask may be NULL.
 * Dtypes: floats, one for all.
 * Shape: [n, o, h', w'] of the offset's h', w'.
 * Numerics: four products a place, row-major; the sum over channels and window is a contraction, channels first. 16
 * bits: in f32 throughout, rounded once.
 * ATen: none (torchvision: deform_conv2d).
 * ONNX: DeformConv. */
#define tc_deform_conv2d(...) tc_deform_conv2d_at(&(const tc_deform_conv2d_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_deform_conv2d_args {
    tc_tensor x, weight, offset, bias, mask;
    int stride[2], padding[2], low[2], high[2], dilation[2], groups;
    tc_site at;
} tc_deform_conv2d_args;
tc_tensor tc_deform_conv2d_at(const tc_deform_conv2d_args *args);

#endif
