/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on windows: convolution and pooling. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_WINDOWS_H
#define TENSOR_COMPILE_OPS_WINDOWS_H

#include "../model.h"

/* tc_conv2d(x, weight[, bias], .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}, .groups = 1)
 *
 * Cross-correlation: x[n, c, h, w], weight[o, c/groups, kh, kw], bias[o] -> [n, o, h', w'],
 * h' = floor((h + 2*padding - dilation*(kh - 1) - 1) / stride) + 1. Padding is zeros. f32. Left out: stride, dilation
 * and groups 1, padding 0. ATen: conv2d. */
#define tc_conv2d(...) tc_conv2d_at(&(const tc_conv2d_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_conv2d_args {
    tc_tensor x, weight, bias;
    int stride[2], padding[2], dilation[2], groups;
    tc_site at;
} tc_conv2d_args;
tc_tensor tc_conv2d_at(const tc_conv2d_args *args);

/* tc_max_pool2d(x, .kernel = {2, 2}, .stride = {2, 2}, .padding = {0, 0}, .dilation = {1, 1})
 * tc_avg_pool2d(x, the same without .dilation, .exclude_padding = false, .divisor = 0)
 *
 * x[n, c, h, w] -> [n, c, h', w'], sizes as of a convolution. Stride left out is the kernel's size. The padding never
 * is the maximum (numbers). An average (floats) divides by the kernel's size, or with .exclude_padding by the number of
 * elements that are not padding (ATen: count_include_pad=False), or by .divisor. ATen: max_pool2d, avg_pool2d
 * (ceil_mode=False). */
#define tc_max_pool2d(...) tc_max_pool2d_at(&(const tc_pool2d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_avg_pool2d(...) tc_avg_pool2d_at(&(const tc_pool2d_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_pool2d_args {
    tc_tensor x;
    int kernel[2], stride[2], padding[2], dilation[2], divisor;
    bool exclude_padding;
    tc_site at;
} tc_pool2d_args;
tc_tensor tc_max_pool2d_at(const tc_pool2d_args *args);
tc_tensor tc_avg_pool2d_at(const tc_pool2d_args *args);

#endif
