/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of boxes in images and of deformable convolutions.
 */
#include "mistakes.h"

#define I(...) IN(TC_I64, __VA_ARGS__)

#define CASES(X)                                                                                                      \
    X(nms, "tc_nms: boxes f32[2,5,4], scores f32[2,3,6]", tc_tensor b = F(2, 5, 4), s = F(2, 3, 6); AT;               \
      tc_nms(b, s, TC_SIZES(3)))                                                                                      \
    X(nms_empty, "tc_nms: no boxes: f32[2,0,4]", tc_tensor b = F(2, 0, 4), s = F(2, 3, 0); AT; tc_nms(b, s, TC_SIZES(3))) \
    X(nms_sizes, "tc_nms: 0 sizes", tc_tensor b = F(2, 5, 4), s = F(2, 3, 5); AT; tc_nms(b, s))                       \
    X(nms_limit, "tc_nms: a limit or threshold is i64[2], not one number",                                            \
      tc_tensor b = F(2, 5, 4), s = F(2, 3, 5), l = I(2); AT; tc_nms(b, s, TC_SIZES(3), .limit = l))                  \
    X(roi_align, "tc_roi_align: f32[1,2,8,8] in f32[3,5] of the images i64[3]",                                       \
      tc_tensor x = F(1, 2, 8, 8), r = F(3, 5), i = I(3); AT; tc_roi_align(x, r, i))                                  \
    X(roi_align_parts, "tc_roi_align: -1 * 0 parts, 0 samples, scale 0",                                              \
      tc_tensor x = F(1, 2, 8, 8), r = F(3, 4), i = I(3); AT; tc_roi_align(x, r, i, .height = -1))                    \
    X(roi_align_empty, "tc_roi_align: empty images or no boxes: f32[1,2,0,8], f32[3,4]",                              \
      tc_tensor x = F(1, 2, 0, 8), r = F(3, 4), i = I(3); AT; tc_roi_align(x, r, i))                                  \
    X(roi_pool, "tc_roi_pool: f32[1,2,8,8] in f32[3,4]", tc_tensor x = F(1, 2, 8, 8), r = F(3, 4); AT;                \
      tc_roi_pool(x, r, 2, 2, 1))                                                                                     \
    X(roi_pool_parts, "tc_roi_pool: 2 * 2 parts, scale 0", tc_tensor x = F(1, 2, 8, 8), r = F(3, 5); AT;              \
      tc_roi_pool(x, r, 2, 2, 0))                                                                                     \
    X(deform_weight, "tc_deform_conv2d: the weight is f32[4,2]", tc_tensor x = F(1, 2, 8, 8), w = F(4, 2); AT;        \
      tc_deform_conv2d(x, w, x))                                                                                      \
    X(deform, "tc_deform_conv2d: shapes do not fit: f32[1,2,8,8] by f32[4,2,3,3] at f32[1,18,8,8]",                   \
      tc_tensor x = F(1, 2, 8, 8), w = F(4, 2, 3, 3), o = F(1, 18, 8, 8); AT; tc_deform_conv2d(x, w, o))

MISTAKES(CASES)
