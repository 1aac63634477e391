/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of places in several axes, of elements whose number is data, of middles and determinants.
 */
#include "mistakes.h"

#define I(...) IN(TC_I64, __VA_ARGS__)

#define CASES(X)                                                                                                      \
    X(from_end, "tc_from_end: 2 sizes for the index i64[4,3]", tc_tensor i = I(4, 3); AT; tc_from_end(i, 5, 6))       \
    X(gather_nd, "tc_gather_nd: the index i64[4,3] does not fit f32[5,6] with 0 axes of a batch",                     \
      tc_tensor i = I(4, 3), x = F(5, 6); AT; tc_gather_nd(x, i, 0))                                                  \
    X(gather_nd_batch, "tc_gather_nd: the index i64[4,1] does not fit f32[5,6] with 1 axes of a batch",               \
      tc_tensor i = I(4, 1), x = F(5, 6); AT; tc_gather_nd(x, i, 1))                                                  \
    X(gather_nd_rank, "tc_gather_nd: the result has more than 8 dims",                                                \
      tc_tensor i = I(1, 1, 1, 1, 1, 1), x = F(1, 1, 1, 1, 1); AT; tc_gather_nd(x, i, 0))                             \
    X(scatter_nd, "tc_scatter_nd_add: the values f32[4,5] do not fit the index i64[4,1] of f32[5,6]",                 \
      tc_tensor i = I(4, 1), x = F(5, 6), u = F(4, 5); AT; tc_scatter_nd_add(x, i, u))                                \
    X(tensor_scatter, "tc_tensor_scatter: f32[2,4] in f32[2,3] along axis 1", tc_tensor x = F(2, 3), u = F(2, 4); AT; \
      tc_tensor_scatter(x, u, NULL, 1, false))                                                                        \
    X(tensor_scatter_axis, "tc_tensor_scatter: f32[2,3] in f32[2,3] along axis 0", tc_tensor x = F(2, 3); AT;         \
      tc_tensor_scatter(x, x, NULL, 0, false))                                                                        \
    X(tensor_scatter_start, "tc_tensor_scatter: the starts are i64[3]", tc_tensor x = F(2, 3), i = I(3); AT;          \
      tc_tensor_scatter(x, x, i, 1, false))                                                                           \
    X(one_hot_values, "tc_one_hot_values: the values f32[3] of 4 classes", tc_tensor u = F(3), i = I(3); AT;          \
      tc_one_hot_values(i, 4, u, 0))                                                                                  \
    X(compress, "tc_compress: the mask is bool[3] for axis 0 of f32[2,3]",                                            \
      tc_tensor p = IN(TC_BOOL, 3), x = F(2, 3); AT; tc_compress(x, p, 0, 1, 0))                                      \
    X(unique, "tc_unique: 2 sizes", tc_tensor x = F(2, 3); AT; tc_unique(x, TC_SIZES(1, 2)))                          \
    X(middle, "tc_center_crop_pad: a size of -1", tc_tensor x = F(2, 3); AT; tc_center_crop_pad(x, 0, -1))            \
    X(det, "tc_det: f32[2,3] holds no square matrices", tc_tensor x = F(2, 3); AT; tc_det(x))                         \
    X(det_dtype, "tc_det: needs floats, not i64[3,3]", tc_tensor x = I(3, 3); AT; tc_det(x))

MISTAKES(CASES)
