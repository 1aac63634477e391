/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of quantized tensors and small floats.
 */
#include "mistakes.h"

#define I8(...) IN(TC_I8, __VA_ARGS__)
#define U8(...) IN(TC_U8, __VA_ARGS__)
#define I32(...) IN(TC_I32, __VA_ARGS__)
#define S IN(TC_F32)

#define CASES(X)                                                                                                      \
    X(decode_format, "tc_decode_float: 7 is no format of small floats", AT; tc_decode_float(U8(3), (tc_small_float)7))\
    X(decode_dtype, "tc_decode_float: patterns of E4M3FN are u8, not f32[3]", AT; tc_decode_float(F(3), TC_E4M3FN))   \
    X(encode_dtype, "tc_encode_float: needs floats, not i8[3]", AT; tc_encode_float(I8(3), TC_E5M2))                  \
    X(encode_rounding, "tc_encode_float: .rounding is 1 of E5M2: it is an option of E8M0", AT;                        \
      tc_encode_float(F(3), TC_E5M2, .rounding = TC_E8M0_DOWN))                                                       \
    X(unpack_bits, "tc_unpack_bits: a byte holds numbers of 1, 2 or 4 bits, not 3", AT; tc_unpack_bits(U8(3), 3, true))\
    X(unpack_dtype, "tc_unpack_bits: needs bytes with an axis, u8, not i8[3]", AT; tc_unpack_bits(I8(3), 4, true))    \
    X(unpack_rank, "tc_unpack_bits: needs a rank below 8, not u8[1,1,1,1,1,1,1,1]", AT;                               \
      tc_unpack_bits(U8(1, 1, 1, 1, 1, 1, 1, 1), 4, true))                                                            \
    X(pack_dtype, "tc_pack_bits: needs i8 or u8 with an axis, not f32[3]", AT; tc_pack_bits(F(3), 4))                 \
    X(pack_odd, "tc_pack_bits: the last axis of u8[3] is no multiple of 2, or the rank 8", AT; tc_pack_bits(U8(3), 4))\
    X(quantize_x, "tc_quantize: needs floats, not i8[3]", AT; tc_quantize(I8(3), S))                                  \
    X(quantize_scale, "tc_quantize: the scale is i8[], no float", AT; tc_quantize(F(3), IN(TC_I8)))                   \
    X(quantize_precision, "tc_quantize: .precision is no float", AT; tc_quantize(F(3), S, .precision = TC_I8))        \
    X(quantize_dtype, "tc_quantize: no integers of quantized tensors: i64", AT; tc_quantize(F(3), S, .dtype = TC_I64))\
    X(quantize_zero, "tc_quantize: zero is u8[] for integers of i8", AT;                                              \
      tc_quantize(F(3), S, IN(TC_U8), .dtype = TC_I8))                                                                \
    X(quantize_format, "tc_quantize: zero, .dtype and .bits are of integers, and .format names a small float", AT;    \
      tc_quantize(F(3), S, .dtype = TC_I8, .format = TC_E5M2))                                                        \
    X(quantize_bits, "tc_quantize: .bits is 9 for integers of u8", AT; tc_quantize(F(3), S, .bits = 9))               \
    X(quantize_block, "tc_quantize: .block is -1", AT; tc_quantize(F(3), F(3), .block = -1))                          \
    X(quantize_axis, "tc_quantize: the scale f32[2] has neither one number nor one a slice of axis 1 of f32[4,3]", AT;\
      tc_quantize(F(4, 3), F(2), .axis = 1))                                                                          \
    X(quantize_blocks, "tc_quantize: the scale f32[4,1] has not one number a block of 2 along axis 1 of f32[4,3]", AT;\
      tc_quantize(F(4, 3), F(4, 1), .axis = 1, .block = 2))                                                           \
    X(dequantize_dtype, "tc_dequantize: .dtype is no float", AT; tc_dequantize(I8(3), S, .dtype = TC_I8))             \
    X(dequantize_format, "tc_dequantize: zero is of integers, and .format names a small float", AT;                   \
      tc_dequantize(U8(3), S, IN(TC_U8), .format = TC_E5M2))                                                          \
    X(dequantize_x, "tc_dequantize: no integers of quantized tensors: f32", AT; tc_dequantize(F(3), S))               \
    X(dynamic_dtype, "tc_dynamic_quantize: needs f32, not f64[3]", tc_tensor s, z; AT;                                \
      tc_dynamic_quantize(IN(TC_F64, 3), &s, &z))                                                                     \
    X(mulhigh_dtype, "tc_mulhigh_round: needs i32: i8[3] and a number", AT; tc_mulhigh_round(I8(3), 3))               \
    X(shift_places, "tc_rounding_shift: a shift by 32 places; 0 to 31 are possible", AT; tc_rounding_shift(I32(3), 32))\
    X(requantize_x, "tc_requantize: an accumulator is i32, not i8[3]", AT; tc_requantize(I8(3), .scale = S))          \
    X(requantize_none, "tc_requantize: needs a scale, or a multiplier and a shift", AT; tc_requantize(I32(3)))        \
    X(requantize_dtypes, "tc_requantize: a scale is f32, multiplier and shift are i32", AT;                           \
      tc_requantize(I32(3), .scale = IN(TC_F64)))                                                                     \
    X(requantize_once, "tc_requantize: .once is of a multiplier", AT; tc_requantize(I32(3), .scale = S, .once = true))\
    X(matmul_dtype, "tc_matmul_integer: a is f32[2,3], no short integers", AT; tc_matmul_integer(F(2, 3), I8(3, 4)))  \
    X(matmul_zero, "tc_matmul_integer: b_zero is u8[] for i8[3,4]", AT;                                               \
      tc_matmul_integer(I8(2, 3), I8(3, 4), .b_zero = IN(TC_U8)))                                                     \
    X(matmul_zeros, "tc_matmul_integer: a_zero i8[3,1] does not fit a i8[2,3]", AT;                                   \
      tc_matmul_integer(I8(2, 3), I8(3, 4), .a_zero = I8(3)))                                                         \
    X(conv_rank, "tc_conv_integer: no convolution of 1 to 3 dims: i8[2,3] * i8[2,3]", AT;                             \
      tc_conv_integer(I8(2, 3), I8(2, 3)))                                                                            \
    X(conv_bias, "tc_conv_integer: the bias is i32 or i64, not f32[2]", AT;                                           \
      tc_conv_integer(I8(1, 3, 5), I8(2, 3, 1), .bias = F(2)))                                                        \
    X(conv_x_zero, "tc_conv_integer: x_zero is one number, not i8[3]", AT;                                            \
      tc_conv_integer(I8(1, 3, 5), I8(2, 3, 1), .x_zero = I8(3)))                                                     \
    X(conv_w_zero, "tc_conv_integer: w_zero is i8[2,1]", AT;                                                          \
      tc_conv_integer(I8(1, 3, 5), I8(2, 3, 1), .w_zero = I8(2, 1)))                                                  \
    X(qlinear_scale, "tc_qlinear_matmul: dtypes differ: f32[] and f64[]", AT;                                         \
      tc_qlinear_matmul(.a = {I8(2, 3), S}, .b = {I8(3, 4), IN(TC_F64)}, .scale = S))                                 \
    X(qlinear_zero, "tc_qlinear_matmul: zero is i32[]", AT;                                                           \
      tc_qlinear_matmul(.a = {I8(2, 3), S}, .b = {I8(3, 4), S}, .scale = S, .zero = IN(TC_I32)))                      \
    X(nbits_blocks, "tc_matmul_nbits: blocks of 3 numbers of 4 bits", AT;                                             \
      tc_matmul_nbits(F(2, 6), U8(5, 2, 2), F(10), .block = 3))                                                       \
    X(nbits_shape, "tc_matmul_nbits: no rows and matrix in blocks of 16 numbers of 4 bits: f32[2,40] and u8[5,2,8]",  \
      AT; tc_matmul_nbits(F(2, 40), U8(5, 2, 8), F(10), .block = 16))                                                 \
    X(nbits_scale, "tc_matmul_nbits: scale is f32[10], not 3 numbers for each of 5 rows", AT;                         \
      tc_matmul_nbits(F(2, 40), U8(5, 3, 8), F(10), .block = 16))                                                     \
    X(affine_scale, "tc_quantized_rescale: the scale is 0", AT;                                                       \
      tc_quantized_rescale(.x = {I8(3), 0, 0}, .scale = 1))                                                           \
    X(affine_result, "tc_quantized_rescale: the scale of the result is 0", AT;                                        \
      tc_quantized_rescale(.x = {I8(3), 1, 0}))                                                                       \
    X(affine_zero, "tc_quantized_rescale: the zero 200 is none of i8", AT;                                            \
      tc_quantized_rescale(.x = {I8(3), 1, 200}, .scale = 1))                                                         \
    X(affine_dtype, "tc_quantized_sigmoid: no integers that are computed with here: f32[3]", AT;                      \
      tc_quantized_sigmoid(.x = {F(3), 1, 0}))                                                                        \
    X(affine_into, "tc_quantized_rescale: no integers of quantized tensors: i64", AT;                                 \
      tc_quantized_rescale(.x = {I8(3), 1, 0}, .scale = 1, .dtype = TC_I64))                                          \
    X(affine_two, "tc_quantized_add: dtypes differ: i8[3] and u8[3]", AT;                                             \
      tc_quantized_add(.a = {I8(3), 1, 0}, .b = {U8(3), 1, 0}, .scale = 1))                                           \
    X(affine_w, "tc_quantized_linear: the weights are i8, not f32[4,3]", AT;                                          \
      tc_quantized_linear(.x = {I8(2, 3), 1, 0}, .w = F(4, 3), .w_scale = S, .scale = 1))                             \
    X(affine_w_scale, "tc_quantized_conv: w_scale is f32[2,1]", AT;                                                   \
      tc_quantized_conv(.x = {I8(1, 3, 5), 1, 0}, .w = I8(2, 3, 1), .w_scale = F(2, 1), .scale = 1))                  \
    X(affine_bias, "tc_quantized_linear: the bias is i32 or i64, not f32[4]", AT;                                     \
      tc_quantized_linear(.x = {I8(2, 3), 1, 0}, .w = I8(4, 3), .w_scale = S, .bias = F(4), .scale = 1))              \
    X(affine_beta, "tc_quantized_softmax: beta is not positive", AT;                                                  \
      tc_quantized_softmax(.x = {I8(3), 1, 0}, .beta = -1))                                                           \
    X(affine_rank, "tc_quantized_softmax: a single number has no softmax", AT;                                        \
      tc_quantized_softmax(.x = {IN(TC_I8), 1, 0}))                                                                   \
    X(affine_pool, "tc_quantized_avg_pool2d: no integers that are computed with here: f32[1,2,4,4]", AT;              \
      tc_quantized_avg_pool2d(F(1, 2, 4, 4), .kernel = {2, 2}))                                                       \
    X(affine_axes, "tc_quantized_mean: .axis_count is 0 for a tensor of rank 2", AT;                                  \
      tc_quantized_mean(.x = {I8(2, 3), 1, 0}, .scale = 1))                                                           \
    X(affine_axis, "tc_quantized_mean: axis 1 must have a constant size, not 0: i8[2,0]", AT;                         \
      tc_quantized_mean(.x = {I8(2, 0), 1, 0}, .axes = {1}, .axis_count = 1, .scale = 1))                             \
    X(affine_slope, "tc_quantized_leaky_relu: the slope is -1, not positive", AT;                                     \
      tc_quantized_leaky_relu(.x = {I8(3), 1, 0}, .slope = -1, .scale = 1))                                           \
    X(affine_middle, "tc_quantized_tanh: the zero 1: of 16 bits it is 0", AT;                                         \
      tc_quantized_tanh(.x = {IN(TC_I16, 3), 1, 1}))                                                                  \
    X(affine_fine, "tc_quantized_sigmoid: the scale 1e-14 is too small", AT;                                          \
      tc_quantized_sigmoid(.x = {IN(TC_I16, 3), 1e-14, 0}))                                                           \
    X(affine_coarse, "tc_quantized_tanh: the scale 3 is too large", AT;                                               \
      tc_quantized_tanh(.x = {IN(TC_I16, 3), 3, 0}))                                                                  \
    X(affine_far, "tc_quantized_hardswish: the scale 128 is too far from that of the result, 1", AT;                  \
      tc_quantized_hardswish(.x = {I8(3), 128, 0}, .scale = 1))                                                       \
    X(affine_small, "tc_quantized_hardswish: the scale 1e-07 is too small", AT;                                       \
      tc_quantized_hardswish(.x = {I8(3), 1e-7, 0}, .scale = 1e-7))                                                   \
    X(affine_matrices, "tc_quantized_matmul: dtypes differ: i8[3,2] and u8[2,3]", AT;                                 \
      tc_quantized_matmul(.a = {I8(3, 2), 1, 0}, .b = {U8(2, 3), 1, 0}, .scale = 1))                                  \
    X(affine_transposed, "tc_quantized_conv_transpose2d: the weights are i8, not f32[3,2,3,3]", AT;                   \
      tc_quantized_conv_transpose2d(.x = {I8(1, 3, 4, 4), 1, 0}, .w = F(3, 2, 3, 3), .w_scale = S, .scale = 1))       \
    X(affine_outputs, "tc_quantized_conv_transpose2d: the bias is i32[3] for 2 outputs", AT;                          \
      tc_quantized_conv_transpose2d(.x = {I8(1, 3, 4, 4), 1, 0}, .w = I8(3, 2, 3, 3), .w_scale = S, .bias = I32(3),   \
                                    .scale = 1))

MISTAKES(CASES)
