/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_POOLING_H
#define TENSOR_COMPILE_OPS_POOLING_H

#include "../model.h"
#include "convolutions.h"

/* tc_max_pool2d(x, .kernel = {2, 2}, .stride = {2, 2}, .padding = {0, 0}, .dilation = {1, 1}, .indices = &i)
 * tc_avg_pool2d(x, the same without .dilation and .indices, .exclude_padding = false, .divisor = 0)
 * tc_lp_pool2d(x, .norm = 2, .kernel = {2, 2}, .stride = {2, 2})
 * tc_max_pool1d(x, .kernel = 2, ...), tc_max_pool3d(x, .kernel = {2, 2, 2}, ...) and so on
 *
 * x[n, c, h, w] -> [n, c, h', w'], 1d and 3d with one and three axes for the window; sizes as of a convolution, or with
 * .ceil_mode = true rounded up, as long as the last window begins in the input or in the padding before it. Padding
 * before and behind may differ: .low, .high; .same as of a convolution. Stride left out is the kernel's size. The
 * padding never is the maximum. .indices is the address of a tensor that becomes i64[n, c, h', w']: the maximum's place
 * in the plane (row-major); the first of equal ones, the last NaN. An average divides by the kernel's size with the
 * padding (not what ceil_mode adds to it), or with .exclude_padding by the number of elements that are not padding, or
 * by .divisor. lp_pool is (sum of x^norm)^(1/norm).
 * Dtypes: numbers for maxima, floats for the others.
 * Shape: [n, c, ...] with the sizes of the windows; .same needs padding that is the same for every size.
 * Numerics: window sums are in order seq; lp_pool's powers are those of tc_pow; with ceil_mode its sum is divided by
 * the window's true size and multiplied by the kernel's, as PyTorch does. 16 bits: in f32 throughout, rounded once.
 * Errors: padding of more than half of the kernel.
 * ATen: max_pool1d, max_pool2d, max_pool3d, max_pool2d_with_indices, avg_pool1d, avg_pool2d, avg_pool3d (with
 * .exclude_padding: count_include_pad=False; .divisor: divisor_override), lp_pool1d, lp_pool2d, lp_pool3d.
 * ONNX: MaxPool, AveragePool, LpPool. */
#define tc_max_pool1d(...) tc_max_pool1d_at(&(const tc_pool1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_max_pool2d(...)                                                                                            \
    tc_max_pool2d_at(&(const tc_pool2d_args){TC_WINDOWS_2_, .kernel = TC_EACH_2_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_max_pool3d(...)                                                                                            \
    tc_max_pool3d_at(&(const tc_pool3d_args){TC_WINDOWS_3_, .kernel = TC_EACH_3_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_avg_pool1d(...) tc_avg_pool1d_at(&(const tc_pool1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_avg_pool2d(...)                                                                                            \
    tc_avg_pool2d_at(&(const tc_pool2d_args){TC_WINDOWS_2_, .kernel = TC_EACH_2_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_avg_pool3d(...)                                                                                            \
    tc_avg_pool3d_at(&(const tc_pool3d_args){TC_WINDOWS_3_, .kernel = TC_EACH_3_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_lp_pool1d(...) tc_lp_pool1d_at(&(const tc_pool1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_lp_pool2d(...)                                                                                             \
    tc_lp_pool2d_at(&(const tc_pool2d_args){TC_WINDOWS_2_, .kernel = TC_EACH_2_, .x = __VA_ARGS__, .at = TC_HERE})
#define tc_lp_pool3d(...)                                                                                             \
    tc_lp_pool3d_at(&(const tc_pool3d_args){TC_WINDOWS_3_, .kernel = TC_EACH_3_, .x = __VA_ARGS__, .at = TC_HERE})
typedef struct tc_pool1d_args {
    tc_tensor x;
    int kernel, stride, padding, low, high, dilation, divisor;
    bool ceil_mode, exclude_padding;
    tc_same same;
    double norm;
    tc_tensor *indices; /* NULL: not wanted */
    tc_site at;
} tc_pool1d_args;
typedef struct tc_pool2d_args {
    tc_tensor x;
    int kernel[2], stride[2], padding[2], low[2], high[2], dilation[2], divisor;
    bool ceil_mode, exclude_padding;
    tc_same same;
    double norm;
    tc_tensor *indices;
    tc_site at;
} tc_pool2d_args;
typedef struct tc_pool3d_args {
    tc_tensor x;
    int kernel[3], stride[3], padding[3], low[3], high[3], dilation[3], divisor;
    bool ceil_mode, exclude_padding;
    tc_same same;
    double norm;
    tc_tensor *indices;
    tc_site at;
} tc_pool3d_args;
tc_tensor tc_max_pool1d_at(const tc_pool1d_args *args);
tc_tensor tc_max_pool2d_at(const tc_pool2d_args *args);
tc_tensor tc_max_pool3d_at(const tc_pool3d_args *args);
tc_tensor tc_avg_pool1d_at(const tc_pool1d_args *args);
tc_tensor tc_avg_pool2d_at(const tc_pool2d_args *args);
tc_tensor tc_avg_pool3d_at(const tc_pool3d_args *args);
tc_tensor tc_lp_pool1d_at(const tc_pool1d_args *args);
tc_tensor tc_lp_pool2d_at(const tc_pool2d_args *args);
tc_tensor tc_lp_pool3d_at(const tc_pool3d_args *args);

/* tc_adaptive_avg_pool1d(x, l), tc_adaptive_avg_pool2d(x, h, w), tc_adaptive_avg_pool3d(x, d, h, w)
 * tc_adaptive_max_pool1d(x, l[, &indices]), tc_adaptive_max_pool2d(x, h, w[, &indices]),
 * tc_adaptive_max_pool3d(x, d, h, w[, &indices])
 *
 * To the given sizes (-1: the input's): window i of an axis has the elements from floor(i*in / out) to below ceil((i +
 * 1)*in / out). Sizes may be dims on either side. indices: a tensor that becomes i64, the maximum's place in the plane
 * (row-major); the first of equal ones, the first NaN.
 * Dtypes: floats, maxima numbers.
 * Shape: [n, c, ...] with the sizes that are asked for.
 * Numerics: the sum is in order seq where all windows of every axis have one constant size, else in order lanes (an
 * element of a longer window adds +0 to the shorter ones); then it is divided by the window's size. 16 bits: in f32
 * throughout, rounded once.
 * ATen: adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
 * adaptive_max_pool3d. */
#define tc_adaptive_avg_pool1d(x, l) tc_adaptive_avg_pool_at(TC_HERE, "tc_adaptive_avg_pool1d", x, TC_DIM_LIST(l))
#define tc_adaptive_avg_pool2d(x, h, w) tc_adaptive_avg_pool_at(TC_HERE, "tc_adaptive_avg_pool2d", x, TC_DIM_LIST(h, w))
#define tc_adaptive_avg_pool3d(x, d, h, w)                                                                            \
    tc_adaptive_avg_pool_at(TC_HERE, "tc_adaptive_avg_pool3d", x, TC_DIM_LIST(d, h, w))
#define tc_adaptive_max_pool1d(x, ...)                                                                                \
    tc_adaptive_max_pool_at(TC_HERE, "tc_adaptive_max_pool1d", x, TC_SECOND(__VA_ARGS__, NULL, 0),                     \
                            TC_DIM_LIST(TC_HEAD(__VA_ARGS__, 0)))
#define tc_adaptive_max_pool2d(x, h, ...)                                                                             \
    tc_adaptive_max_pool_at(TC_HERE, "tc_adaptive_max_pool2d", x, TC_SECOND(__VA_ARGS__, NULL, 0),                     \
                            TC_DIM_LIST(h, TC_HEAD(__VA_ARGS__, 0)))
#define tc_adaptive_max_pool3d(x, d, h, ...)                                                                          \
    tc_adaptive_max_pool_at(TC_HERE, "tc_adaptive_max_pool3d", x, TC_SECOND(__VA_ARGS__, NULL, 0),                     \
                            TC_DIM_LIST(d, h, TC_HEAD(__VA_ARGS__, 0)))
tc_tensor tc_adaptive_avg_pool_at(tc_site at, const char *name, tc_tensor x, int count, const tc_dim *sizes);
tc_tensor tc_adaptive_max_pool_at(tc_site at, const char *name, tc_tensor x, tc_tensor *indices, int count,
                                  const tc_dim *sizes);

/* tc_max_unpool1d(x, indices, .kernel = 2, .stride = 2, .padding = 0)
 * tc_max_unpool2d(x, indices, .kernel = {2, 2}, .stride = {2, 2}, .padding = {0, 0}), tc_max_unpool3d
 * tc_max_unpool2d(x, indices, TC_SIZES(h, w))
 *
 * The inverse of a max pool with indices: x[n, c, h', w'] -> [n, c, h, w], 0 but for x at the indices, which count
 * within a plane; of several elements for one place the last. Sizes are given, or h = (h' - 1)*stride - 2*padding +
 * kernel; a stride left out is the kernel's size.
 * Dtypes: all of them, indices i32 or i64.
 * Shape: [n, c, ...] with these sizes.
 * Errors: an index outside of its plane, when the model runs.
 * ATen: max_unpool2d, max_unpool3d.
 * ONNX: MaxUnpool. */
#define tc_max_unpool1d(...) tc_max_unpool1d_at(&(const tc_unpool1d_args){__VA_ARGS__, .at = TC_HERE})
#define tc_max_unpool2d(...)                                                                                          \
    tc_max_unpool2d_at(&(const tc_unpool2d_args){.kernel = TC_EACH_2_, .stride = TC_EACH_2_, .padding = TC_EACH_2_,   \
        .x = __VA_ARGS__, .at = TC_HERE})
#define tc_max_unpool3d(...)                                                                                          \
    tc_max_unpool3d_at(&(const tc_unpool3d_args){.kernel = TC_EACH_3_, .stride = TC_EACH_3_, .padding = TC_EACH_3_,   \
        .x = __VA_ARGS__, .at = TC_HERE})
typedef struct tc_unpool1d_args {
    tc_tensor x, indices;
    int kernel, stride, padding, size_count;
    const tc_dim *size; /* NULL: by the windows */
    tc_site at;
} tc_unpool1d_args;
typedef struct tc_unpool2d_args {
    tc_tensor x, indices;
    int kernel[2], stride[2], padding[2], size_count;
    const tc_dim *size;
    tc_site at;
} tc_unpool2d_args;
typedef struct tc_unpool3d_args {
    tc_tensor x, indices;
    int kernel[3], stride[3], padding[3], size_count;
    const tc_dim *size;
    tc_site at;
} tc_unpool3d_args;
tc_tensor tc_max_unpool1d_at(const tc_unpool1d_args *args);
tc_tensor tc_max_unpool2d_at(const tc_unpool2d_args *args);
tc_tensor tc_max_unpool3d_at(const tc_unpool3d_args *args);

/* tc_global_avg_pool(x), tc_global_max_pool(x): over all axes of x[n, c, ...] from 2 on, which keep the size 1.
 * Dtypes: floats, maxima numbers.
 * Shape: [n, c, 1, ...].
 * Numerics: a mean in order lanes.
 * ONNX: GlobalAveragePool, GlobalMaxPool.
 * ATen: adaptive_avg_pool2d and adaptive_max_pool2d to size 1. */
#define tc_global_avg_pool(x) tc_global_avg_pool_at(TC_HERE, x)
#define tc_global_max_pool(x) tc_global_max_pool_at(TC_HERE, x)
tc_tensor tc_global_avg_pool_at(tc_site at, tc_tensor x);
tc_tensor tc_global_max_pool_at(tc_site at, tc_tensor x);

#endif
