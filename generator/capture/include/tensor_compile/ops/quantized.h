/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on quantized tensors as TensorFlow Lite defines them, integers alone, bit for bit; or, with `.floats`,
 * with their results rounded in f32, for processors that have floats. What all operations share is said in ../ops.h.
 *
 * A tc_affine is integers q that stand for (q - zero) * scale; both are C numbers, the scale is rounded to f32. The
 * result of an operation has the `.scale` and `.zero` that it is given, and the dtype of the first operand; it
 * saturates. A warning names both lines where an operation reads integers by another scale or zero than the one that
 * wrote them. Factors between scales are computed in f64 and become a multiplier of 31 bits and a shift, as
 * tc_quantized_multiplier has it; a product by it is rounded twice (tc_requantize), or once with `.once`. TensorFlow
 * Lite Micro rounds twice everywhere. With `.floats` the factor is rounded to f32 and multiplies the sum as f32, and the
 * product is rounded, halves to even, before zero is added: as ONNX has it.
 */
#ifndef TENSOR_COMPILE_OPS_QUANTIZED_H
#define TENSOR_COMPILE_OPS_QUANTIZED_H

#include "../model.h"
#include "convolutions.h"

typedef struct tc_affine {
    tc_tensor x;
    float scale;
    int zero;
} tc_affine;

/* tc_quantized_conv(.x = {x, 0.5, 3}, .w = w, .w_scale = s, .bias = b, .scale = 0.25, .zero = -128,
 *                   options of tc_conv_integer)
 * tc_quantized_linear(.x = {x, 0.5, 3}, .w = w, .w_scale = s, .bias = b, .scale = 0.25, .zero = -128)
 *
 * The convolution or linear layer of integers, exact, times scale_x * w_scale / scale, plus zero. w has the zero 0, and
 * w_scale one number, or one an output channel; the bias has the scale scale_x * w_scale.
 * Dtypes: i8, u8 or i16 for x; i8 for w; f32 for w_scale; i32 for the bias. Sums are i32 and wrap; with a bias of i64
 * they are i64, and the multiplier keeps its upper 16 bits, rounded.
 * Shape: that of tc_conv_integer, of tc_linear.
 * Numerics: a linear layer of one w_scale rounds scale_x * w_scale to f32. With .floats tc_requantize of the sum by
 * scale_x * w_scale / scale, rounded to f32 once.
 * ATen: none. */
#define tc_quantized_conv(...)                                                                                        \
    tc_quantized_conv_at(&(const tc_quantized_conv_args){TC_WINDOWS_3_, __VA_ARGS__, .at = TC_HERE})
#define tc_quantized_linear(...) tc_quantized_linear_at(&(const tc_quantized_linear_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_conv_args {
    tc_affine x;
    tc_tensor w, w_scale, bias;
    float scale;
    int zero;
    bool once, floats;
    int stride[3], padding[3], low[3], high[3], dilation[3], groups;
    tc_same same;
    tc_site at; /* set by the macro, here and below */
} tc_quantized_conv_args;
typedef struct tc_quantized_linear_args {
    tc_affine x;
    tc_tensor w, w_scale, bias;
    float scale;
    int zero;
    bool once, floats;
    tc_site at;
} tc_quantized_linear_args;
tc_tensor tc_quantized_conv_at(const tc_quantized_conv_args *args);
tc_tensor tc_quantized_linear_at(const tc_quantized_linear_args *args);

/* tc_quantized_conv_transpose2d(.x = {x, 0.5, 3}, .w = w, .w_scale = s, .bias = b, .scale = 0.25, .zero = -128,
 *                               options of tc_conv_transpose2d)
 *
 * The transposed convolution of integers, exact, times scale_x * w_scale / scale, plus zero. w has the zero 0, and
 * w_scale one number, or one an output channel; the bias has the scale scale_x * w_scale.
 * Dtypes: those of tc_quantized_conv; i16 without a bias has sums of i64.
 * Shape: that of tc_conv_transpose2d.
 * ATen: none. */
#define tc_quantized_conv_transpose2d(...)                                                                            \
    tc_quantized_conv_transpose2d_at(&(const tc_quantized_conv_transpose_args){TC_WINDOWS_2_,                         \
        .output_padding = TC_EACH_2_, __VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_conv_transpose_args {
    tc_affine x;
    tc_tensor w, w_scale, bias;
    float scale;
    int zero;
    bool once, floats;
    int stride[2], padding[2], low[2], high[2], output_padding[2], dilation[2], groups;
    tc_site at;
} tc_quantized_conv_transpose_args;
tc_tensor tc_quantized_conv_transpose2d_at(const tc_quantized_conv_transpose_args *args);

/* tc_quantized_add(.a = {a, 0.5, 3}, .b = {b, 0.25, 0}, .scale = 0.125, .zero = -128)
 * tc_quantized_sub(.a, .b, .scale, .zero), tc_quantized_mul(.a, .b, .scale, .zero)
 *
 * Sum, difference and product. Operands of a sum are shifted left by 20 places, 16 bits by 15, and brought to twice the
 * larger of their scales before.
 * Dtypes: i8, u8 or i16, one for both.
 * Shape: the operands' broadcast one.
 * Numerics: with .floats a sum is round((a * f + b * h) + c), where f = scale_a / scale, h = scale_b / scale and c = zero
 * - f zero_a - h zero_b are rounded to f32, and a difference has -h; a product is rounded as that of a linear layer.
 * ATen: none. */
#define tc_quantized_add(...) tc_quantized_add_at(&(const tc_quantized_two_args){__VA_ARGS__, .at = TC_HERE})
#define tc_quantized_sub(...) tc_quantized_sub_at(&(const tc_quantized_two_args){__VA_ARGS__, .at = TC_HERE})
#define tc_quantized_mul(...) tc_quantized_mul_at(&(const tc_quantized_two_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_two_args {
    tc_affine a, b;
    float scale;
    int zero;
    bool floats;
    tc_site at;
} tc_quantized_two_args;
tc_tensor tc_quantized_add_at(const tc_quantized_two_args *args);
tc_tensor tc_quantized_sub_at(const tc_quantized_two_args *args);
tc_tensor tc_quantized_mul_at(const tc_quantized_two_args *args);

/* tc_quantized_matmul(.a = {a, 0.5, 3}, .b = {b, 0.25, 0}, .scale = 0.125, .zero = -128)
 * The product of matrices: exact, times scale_a * scale_b / scale, plus zero.
 * Dtypes: i8, u8 or i16, one for both. Sums are i32 and wrap; of i16 they are i64, and the multiplier keeps its upper 16
 * bits, rounded.
 * Shape: that of tc_matmul.
 * Numerics: scale_a * scale_b rounds to f32. With .floats as a linear layer.
 * ATen: none. */
#define tc_quantized_matmul(...) tc_quantized_matmul_at(&(const tc_quantized_two_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_quantized_matmul_at(const tc_quantized_two_args *args);

/* tc_quantized_rescale(.x = {x, 0.5, 3}, .scale = 0.25, .zero = -128, .dtype = TC_I8)
 * The same values by another scale and zero, in `.dtype`, left out that of x.
 * Dtypes: i8, u8, i16 or i32 for x, i8, u8, i16 or i32 for the result.
 * Shape: that of x.
 * ATen: none. */
#define tc_quantized_rescale(...)                                                                                     \
    tc_quantized_rescale_at(&(const tc_quantized_rescale_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_rescale_args {
    tc_affine x;
    float scale;
    int zero;
    tc_dtype dtype;
    bool floats;
    tc_site at;
} tc_quantized_rescale_args;
tc_tensor tc_quantized_rescale_at(const tc_quantized_rescale_args *args);

/* tc_quantized_softmax(.x = {x, 0.5, 3}, .beta = 1)
 * Softmax of beta times x along the last axis; the result has the scale 1/256 and the smallest integer as its zero, of
 * 16 bits 1/32768 and 0. The beta left out is 1.
 * Dtypes: i8, u8 or i16.
 * Shape: that of x.
 * Numerics: gemmlowp's exp, a table of 256 numbers, and its reciprocal by three steps of Newton's; of 16 bits both by
 * lines between 513 points.
 * ATen: none. */
#define tc_quantized_softmax(...)                                                                                     \
    tc_quantized_softmax_at(&(const tc_quantized_softmax_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_softmax_args {
    tc_affine x;
    float beta;
    tc_site at;
} tc_quantized_softmax_args;
tc_tensor tc_quantized_softmax_at(const tc_quantized_softmax_args *args);

/* tc_quantized_sigmoid(.x = {x, 0.5, 3}), tc_quantized_tanh(.x = {x, 0.5, 3})
 * The logistic function, whose result has the scale 1/256 and the smallest integer as its zero; the hyperbolic tangent,
 * scale 1/128 and the zero in the middle. Of 16 bits both results have the scale 1/32768 and the zero 0, as x has.
 * Dtypes: i8, u8 or i16.
 * Shape: that of x.
 * Numerics: gemmlowp's, as a table of 256 numbers; of 16 bits lines between 256 points, and a scale of x within 0.07 % of
 * 1/4096, or for a tangent of 1/2048, is taken as that.
 * Errors: a scale of x of 16 bits beyond 2.6 or below 3.8e-14.
 * ATen: none. */
#define tc_quantized_sigmoid(...) tc_quantized_sigmoid_at(&(const tc_quantized_one_args){__VA_ARGS__, .at = TC_HERE})
#define tc_quantized_tanh(...) tc_quantized_tanh_at(&(const tc_quantized_one_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_one_args {
    tc_affine x;
    tc_site at;
} tc_quantized_one_args;
tc_tensor tc_quantized_sigmoid_at(const tc_quantized_one_args *args);
tc_tensor tc_quantized_tanh_at(const tc_quantized_one_args *args);

/* tc_quantized_hardswish(.x = {x, 0.5, 3}, .scale = 0.25, .zero = -128)
 * x times min(max(x + 3, 0), 6) / 6.
 * Dtypes: i8 or u8.
 * Shape: that of x.
 * Numerics: in 16 bits, as a table of 256 numbers.
 * Errors: a scale of x that is 128 times that of the result or more, less than 1/512 of it, or below 1.8e-7.
 * ATen: none. */
#define tc_quantized_hardswish(...)                                                                                   \
    tc_quantized_hardswish_at(&(const tc_quantized_hardswish_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_hardswish_args {
    tc_affine x;
    float scale;
    int zero;
    tc_site at;
} tc_quantized_hardswish_args;
tc_tensor tc_quantized_hardswish_at(const tc_quantized_hardswish_args *args);

/* tc_quantized_avg_pool2d(x, .kernel = {2, 2}, .stride, .padding, .low, .high)
 * The sum of each window divided by the number of its elements that are no padding, halves away from zero: the scale
 * stays. The stride left out is the kernel.
 * Dtypes: i8, u8 or i16.
 * Shape: that of tc_avg_pool2d.
 * ATen: none. */
#define tc_quantized_avg_pool2d(...)                                                                                  \
    tc_quantized_avg_pool2d_at(&(const tc_quantized_pool_args){TC_PADDED_2_, .kernel = TC_EACH_2_, .x = __VA_ARGS__,  \
        .at = TC_HERE})
typedef struct tc_quantized_pool_args {
    tc_tensor x;
    int kernel[2], stride[2], padding[2], low[2], high[2];
    tc_site at;
} tc_quantized_pool_args;
tc_tensor tc_quantized_avg_pool2d_at(const tc_quantized_pool_args *args);

/* tc_quantized_mean(.x = {x, 0.5, 3}, .axes = {2, 3}, .axis_count = 2, .keepdims = true, .scale = 0.25, .zero = -128)
 * The mean along the axes. Without .keepdims they are removed.
 * Dtypes: i8, u8 or i16.
 * Shape: that of tc_mean; the axes have constant sizes.
 * Numerics: the sum by one multiplier, scale_x / scale times 2^k, divided by the number of elements n with what is left
 * dropped; k is the largest with 2^k <= n.
 * ATen: none. */
#define tc_quantized_mean(...) tc_quantized_mean_at(&(const tc_quantized_mean_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_mean_args {
    tc_affine x;
    int axes[8], axis_count;
    bool keepdims;
    float scale;
    int zero;
    bool floats;
    tc_site at;
} tc_quantized_mean_args;
tc_tensor tc_quantized_mean_at(const tc_quantized_mean_args *args);

/* tc_quantized_leaky_relu(.x = {x, 0.5, 3}, .slope = 0.01, .scale = 0.25, .zero = -128)
 * x, or slope times x where it is negative.
 * Dtypes: i8, u8 or i16.
 * Shape: that of x.
 * ATen: none. */
#define tc_quantized_leaky_relu(...)                                                                                  \
    tc_quantized_leaky_relu_at(&(const tc_quantized_leaky_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantized_leaky_args {
    tc_affine x;
    float slope, scale;
    int zero;
    tc_site at;
} tc_quantized_leaky_args;
tc_tensor tc_quantized_leaky_relu_at(const tc_quantized_leaky_args *args);

#endif
