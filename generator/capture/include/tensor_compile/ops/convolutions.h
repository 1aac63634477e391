/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions; windows as columns and back. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_CONVOLUTIONS_H
#define TENSOR_COMPILE_OPS_CONVOLUTIONS_H

#include "../model.h"

/* tc_conv1d(x, weight[, bias], .stride = 2, .padding = 1, .dilation = 1, .groups = 1)
 * tc_conv2d(x, weight[, bias], .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}, .groups = 1)
 * tc_conv3d(x, weight[, bias], .stride = {2, 2, 2}, ...)
 *
 * Cross-correlation: x[n, c, h, w], weight[o, c/groups, kh, kw], bias[o] -> [n, o, h', w'], 1d and 3d with one and
 * three axes for the window; h' = floor((h + low + high - dilation*(kh - 1) - 1) / stride) + 1. Padding is zeros,
 * `.padding` on both sides of an axis, or `.low` before and `.high` behind it. With `.same = TC_SAME` there is as much
 * as makes h' = ceil(h / stride): half of it before, and what is odd behind, or before with TC_SAME_LOWER. Left out:
 * stride, dilation and groups 1, padding 0.
 * Dtypes: numbers, one for all operands.
 * Shape: numbers of channels are constants; of a dynamic size .same needs a window no shorter than the stride.
 * Numerics: order seq, terms in the order window position, input channel; the bias is an addition of its own, for 16
 * bits in f32, before the one rounding.
 * ATen: conv1d, conv2d, conv3d.
 * ONNX: Conv. */
typedef enum tc_same { TC_SAME = 1, TC_SAME_LOWER } tc_same; /* 0: padding as given */
#define tc_conv1d(...) tc_conv1d_at(&(const tc_conv1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_conv2d(...)                                                                                                \
    tc_conv2d_at(&(const tc_conv2d_args){TC_WINDOWS_2_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_conv3d(...)                                                                                                \
    tc_conv3d_at(&(const tc_conv3d_args){TC_WINDOWS_3_, .x = __VA_ARGS__, .at = TC_HERE})
typedef struct tc_conv1d_args {
    tc_tensor x, weight, bias;
    int stride, padding, low, high, dilation, groups;
    tc_same same;
    tc_site at;
} tc_conv1d_args;
typedef struct tc_conv2d_args {
    tc_tensor x, weight, bias;
    int stride[2], padding[2], low[2], high[2], dilation[2], groups;
    tc_same same;
    tc_site at;
} tc_conv2d_args;
typedef struct tc_conv3d_args {
    tc_tensor x, weight, bias;
    int stride[3], padding[3], low[3], high[3], dilation[3], groups;
    tc_same same;
    tc_site at;
} tc_conv3d_args;
tc_tensor tc_conv1d_at(const tc_conv1d_args *args);
tc_tensor tc_conv2d_at(const tc_conv2d_args *args);
tc_tensor tc_conv3d_at(const tc_conv3d_args *args);

/* tc_conv_transpose1d(x, weight[, bias], .stride = 2, .padding = 1, .output_padding = 1, .dilation = 1, .groups = 1)
 * tc_conv_transpose2d(x, weight[, bias], .stride = {2, 2}, ...)
 * tc_conv_transpose3d(x, weight[, bias], .stride = {2, 2, 2}, ...)
 *
 * x[n, c, h, w], weight[c, o/groups, kh, kw], bias[o] -> [n, o, h', w'],
 * h' = (h - 1)*stride - low - high + dilation*(kh - 1) + output_padding + 1: y[i*stride + t*dilation - low] is the sum
 * of all x[i] * w[t] that meet there. Options as of a convolution; output_padding lies below the stride or the
 * dilation.
 * Dtypes: numbers, one for all operands.
 * Shape: the weight's sizes and the number of channels are constants.
 * Numerics: each of the stride's phases is a convolution by its own taps in descending order: order seq, terms in the
 * order taps (each axis descending), input channel. No zero is multiplied but the padding. The bias as of a
 * convolution.
 * Errors: strides that multiply to more than 4096 phases.
 * ATen: conv_transpose1d, conv_transpose2d, conv_transpose3d.
 * ONNX: ConvTranspose. */
#define tc_conv_transpose1d(...) tc_conv_transpose1d_at(&(const tc_conv_transpose1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_conv_transpose2d(...)                                                                                      \
    tc_conv_transpose2d_at(&(const tc_conv_transpose2d_args){TC_WINDOWS_2_, .output_padding = TC_EACH_2_,             \
        .x = __VA_ARGS__, .at = TC_HERE})
#define tc_conv_transpose3d(...)                                                                                      \
    tc_conv_transpose3d_at(&(const tc_conv_transpose3d_args){TC_WINDOWS_3_, .output_padding = TC_EACH_3_,             \
        .x = __VA_ARGS__, .at = TC_HERE})
typedef struct tc_conv_transpose1d_args {
    tc_tensor x, weight, bias;
    int stride, padding, low, high, output_padding, dilation, groups;
    tc_site at;
} tc_conv_transpose1d_args;
typedef struct tc_conv_transpose2d_args {
    tc_tensor x, weight, bias;
    int stride[2], padding[2], low[2], high[2], output_padding[2], dilation[2], groups;
    tc_site at;
} tc_conv_transpose2d_args;
typedef struct tc_conv_transpose3d_args {
    tc_tensor x, weight, bias;
    int stride[3], padding[3], low[3], high[3], output_padding[3], dilation[3], groups;
    tc_site at;
} tc_conv_transpose3d_args;
tc_tensor tc_conv_transpose1d_at(const tc_conv_transpose1d_args *args);
tc_tensor tc_conv_transpose2d_at(const tc_conv_transpose2d_args *args);
tc_tensor tc_conv_transpose3d_at(const tc_conv_transpose3d_args *args);

/* tc_unfold(x, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1})
 * tc_fold(columns, h, w, the same options)
 *
 * unfold: x[n, c, h, w] -> [n, c*kh*kw, h'*w'], each column the elements of one window (padding 0), sizes as of a
 * convolution; any number. fold: [n, c*kh*kw, h'*w'] -> [n, c, h, w], the sum of what the windows have at each place.
 * Dtypes: numbers.
 * Shape: as said of each.
 * Numerics: fold sums the taps of the width, then those of the height, in order lanes; a tap without a window there
 * adds +0. 16 bits: in f32 throughout, rounded once.
 * ATen: im2col (unfold), col2im (fold).
 * ONNX: Col2Im. */
#define tc_unfold(...)                                                                                                \
    tc_unfold_at(&(const tc_unfold_args){TC_WINDOWS_2_, .kernel = TC_EACH_2_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_fold(columns, h, w, ...)                                                                                   \
    tc_fold_at(&(const tc_unfold_args){TC_WINDOWS_2_, .kernel = TC_EACH_2_, .x = columns, __VA_ARGS__, .at = TC_HERE}, \
               TC_DIM(h), TC_DIM(w))
typedef struct tc_unfold_args {
    tc_tensor x;
    int kernel[2], stride[2], padding[2], low[2], high[2], dilation[2];
    tc_site at;
} tc_unfold_args;
tc_tensor tc_unfold_at(const tc_unfold_args *args);
tc_tensor tc_fold_at(const tc_unfold_args *args, tc_dim height, tc_dim width);

#endif
