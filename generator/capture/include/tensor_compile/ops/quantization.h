/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as small integers with a scale, and as floats of 8 and 4 bits. What all operations share is said in ../ops.h.
 *
 * A quantized tensor q stands for (q - zero) * scale. scale and zero are one number (rank 0, or one element), or one a
 * slice of `.axis` (rank 1), or, with `.block` = b, one a block of b slices of that axis (the rank of x). zero may be
 * left out: 0. Integers of 4 and 2 bits are i8 or u8 in the graph, one an element; tc_unpack_bits and tc_pack_bits
 * convert what is stored densely. Floats of 8 and 4 bits are their bit patterns, u8.
 */
#ifndef TENSOR_COMPILE_OPS_QUANTIZATION_H
#define TENSOR_COMPILE_OPS_QUANTIZATION_H

#include "../model.h"

/* The formats of small floats: of 8 bits e exponent and m mantissa bits, FN without infinities, UZ without -0 besides;
 * E8M0 powers of two; E2M1 of 4 bits, in the low half of the byte. 0: none. */
typedef enum tc_small_float { TC_E4M3FN = 1, TC_E4M3FNUZ, TC_E5M2, TC_E5M2FNUZ, TC_E8M0, TC_E2M1 } tc_small_float;

/* How a float becomes a power of two (E8M0): up is left out. Halves of `nearest` go up. */
typedef enum tc_e8m0_rounding { TC_E8M0_UP, TC_E8M0_DOWN, TC_E8M0_NEAREST } tc_e8m0_rounding;

/* tc_decode_float(x, TC_E4M3FN)
 * The values of bit patterns. NaN and infinities are those of f32.
 * Dtypes: u8; the result is f32.
 * Shape: that of x.
 * Numerics: exact.
 * ATen: none; Tensor.to from float8_e4m3fn, float8_e5m2 and their kin.
 * ONNX: Cast from FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ, FLOAT8E8M0, FLOAT4E2M1. */
#define tc_decode_float(x, format) tc_decode_float_at(TC_HERE, x, format)
tc_tensor tc_decode_float_at(tc_site at, tc_tensor x, tc_small_float format);

/* tc_encode_float(x, TC_E4M3FN, .overflow = true, .rounding = TC_E8M0_DOWN)
 * The bit pattern of the nearest value, of two the even one. What is beyond the largest, infinities too, becomes the
 * largest; with .overflow infinity, or NaN in formats without one. A NaN loses its sign; in E2M1, which has none, it is
 * -0. E8M0 takes the power of two above x or x itself (.rounding: below, nearest; of 2^-127 and below 0 too), or NaN
 * for infinities and NaN and, with .overflow, beyond 2^127; the sign is lost.
 * Dtypes: floats, f64 rounded to f32 before; the result is u8.
 * Shape: that of x.
 * ATen: none; Tensor.to float8_e4m3fn, float8_e5m2 and their kin, where overflow is said of each.
 * ONNX: Cast to FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ, FLOAT8E8M0, FLOAT4E2M1 (.overflow is saturate
 * = 0). */
#define tc_encode_float(...) tc_encode_float_at(&(const tc_encode_float_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_encode_float_args {
    tc_tensor x;
    tc_small_float format;
    bool overflow;
    tc_e8m0_rounding rounding;
    tc_site at; /* set by the macro, here and below */
} tc_encode_float_args;
tc_tensor tc_encode_float_at(const tc_encode_float_args *args);

/* tc_unpack_bits(x, bits, is_signed), tc_pack_bits(x, bits)
 * The integers of `bits` (1, 2, 4) that each byte holds, lowest first, along the last axis; and back.
 * Dtypes: u8; unpacked i8 where is_signed, else u8; both are packed.
 * Shape: the last axis times 8 / bits, and divided by it.
 * Errors: packing an axis that is not known to be a multiple of 8 / bits.
 * ATen: none.
 * ONNX: tensors of INT4, UINT4, INT2, UINT2. */
#define tc_unpack_bits(x, bits, is_signed) tc_unpack_bits_at(TC_HERE, x, bits, is_signed)
#define tc_pack_bits(x, bits) tc_pack_bits_at(TC_HERE, x, bits)
tc_tensor tc_unpack_bits_at(tc_site at, tc_tensor x, int bits, bool is_signed);
tc_tensor tc_pack_bits_at(tc_site at, tc_tensor x, int bits);

/* tc_quantize(x, scale[, zero], .dtype = TC_I8, .bits = 4, .axis = 1, .block = 32, .precision = TC_F32,
 * .halves_away = true)
 * tc_quantize(x, scale, .format = TC_E4M3FN, .overflow = true, .axis, .block, .precision)
 *
 * saturate(round(x / scale) + zero), halves to even or with .halves_away away from 0, limited to the integers of
 * `.dtype`, of as few `.bits` as are named; left out, the dtype is that of zero, or u8. With .format the bit pattern of
 * x / scale as tc_encode_float gives it, but +0 for -0 in E2M1. The axis left out is 0.
 * Dtypes: floats or i32 (cast before) for x, floats for the scale; i8, u8, i16, u16 or i32 for zero and the result.
 * Shape: that of x.
 * Numerics: the quotient is rounded to .precision, left out the scale's dtype, to which x is cast; zero is added in
 * f32. NaN gives the integer 0.
 * Errors: a scale or zero that is neither one number nor one a slice or block.
 * ATen: quantize_per_tensor, quantize_per_channel (which round x * (1 / scale)).
 * ONNX: QuantizeLinear (whose axis left out is 1). */
#define tc_quantize(...) tc_quantize_at(&(const tc_quantize_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_quantize_args {
    tc_tensor x, scale, zero;
    tc_dtype dtype; /* 0: see above */
    tc_small_float format;
    int bits, axis, block;
    bool overflow, halves_away;
    tc_dtype precision;
    tc_site at;
} tc_quantize_args;
tc_tensor tc_quantize_at(const tc_quantize_args *args);

/* tc_dequantize(x, scale[, zero], .dtype = TC_F16, .format = TC_E4M3FN, .axis = 1, .block = 32)
 * (x - zero) * scale, in `.dtype`, left out that of the scale; with .format x holds bit patterns. The axis left out is
 * 0.
 * Dtypes: i8, u8, i16, u16 or i32 for x and zero; floats for the scale and the result.
 * Shape: that of x.
 * Numerics: the difference is that of i32, and f32 (f64 for a scale of f64) rounds it and the product; f16 and bf16 are
 * rounded once behind that.
 * Errors: a scale or zero that is neither one number nor one a slice or block.
 * ATen: dequantize.
 * ONNX: DequantizeLinear (whose axis left out is 1). */
#define tc_dequantize(...) tc_dequantize_at(&(const tc_dequantize_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_dequantize_args {
    tc_tensor x, scale, zero;
    tc_dtype dtype;
    tc_small_float format;
    int axis, block;
    tc_site at;
} tc_dequantize_args;
tc_tensor tc_dequantize_at(const tc_dequantize_args *args);

/* tc_dynamic_quantize(x, &scale, &zero)
 * Quantizes by x's own range with 0 in it, low..high: scale (high - low) / 255, or 1 where both are 0; zero round(-low
 * / scale); and tc_quantize of x with them.
 * Dtypes: f32; the result and zero are u8, the scale f32.
 * Shape: that of x, which is not empty; scale and zero have rank 0.
 * ATen: none.
 * ONNX: DynamicQuantizeLinear. */
#define tc_dynamic_quantize(x, scale, zero) tc_dynamic_quantize_at(TC_HERE, x, scale, zero)
tc_tensor tc_dynamic_quantize_at(tc_site at, tc_tensor x, tc_tensor *scale, tc_tensor *zero);

/* tc_mulhigh_round(a, b), tc_rounding_shift(x, n)
 * The upper half of 2ab: floor((a * b + 2^30) / 2^31), of the smallest i32 twice the largest one. And x / 2^n, halves
 * away from zero; 0 <= n <= 31. b and n may be numbers.
 * Dtypes: i32.
 * Shape: the operands' broadcast one.
 * Numerics: gemmlowp's SaturatingRoundingDoublingHighMul and RoundingDivideByPOT, bit for bit.
 * ATen: none. */
#define tc_mulhigh_round(a, b) tc_mulhigh_round_at(TC_HERE, a, TC_OPERAND(b))
#define tc_rounding_shift(x, n) tc_rounding_shift_at(TC_HERE, x, TC_OPERAND(n))
tc_tensor tc_mulhigh_round_at(tc_site at, tc_tensor a, tc_operand b);
tc_tensor tc_rounding_shift_at(tc_site at, tc_tensor x, tc_operand n);

/* tc_requantize(x, .scale = s, .zero = z, .dtype = TC_I8, .axis = 1)
 * tc_requantize(x, .multiplier = q, .shift = e, .zero = z, .dtype = TC_I8, .axis = 1, .once = true)
 *
 * The accumulator x of a product to the integers of the result, saturating; zero is of their dtype, which is left out
 * then. As
 * ONNX: round(x * s) + zero, halves to even. As TFLite, whose scale is q * 2^(e - 31) (tc_quantized_multiplier finds
 * both): two roundings, tc_rounding_shift(tc_mulhigh_round(x * 2^e, q), 0) where e is positive, else
 * tc_rounding_shift(tc_mulhigh_round(x, q), -e), plus zero; with .once floor(x * q / 2^(31 - e) + 1/2) plus zero. The
 * axis left out is 0.
 * Dtypes: i32 for x, q and e; f32 for s; i8, u8, i16 or u16 for zero and the result.
 * Shape: that of x; s, q and e are one number or one a slice of the axis.
 * Numerics: as ONNX x is rounded to f32, and the product too.
 * Errors: neither or both of scale and multiplier; a multiplier without a shift.
 * ATen: none.
 * ONNX: the end of QLinearConv and QLinearMatMul, s being the product of the operands' scales divided by the
 * result's. */
#define tc_requantize(...) tc_requantize_at(&(const tc_requantize_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_requantize_args {
    tc_tensor x, scale, zero, multiplier, shift;
    tc_dtype dtype;
    int axis;
    bool once;
    tc_site at;
} tc_requantize_args;
tc_tensor tc_requantize_at(const tc_requantize_args *args);

/* A positive scale as q * 2^(e - 31), 2^30 <= q < 2^31, as TFLite's QuantizeMultiplier rounds it; a scale below 2^-32
 * is 0. Returns q. Plain C: no node is made. */
int32_t tc_quantized_multiplier(double scale, int *shift);

/* tc_matmul_integer(a, b, .a_zero = z, .b_zero = z)
 * (a - a_zero) (b - b_zero) as tc_matmul has it, exact. a_zero is one number or one a row, b_zero one number or one a
 * column, or both of a shape that broadcasts to a and b.
 * Dtypes: i8, u8, i16 or u16 for a and b, each zero as its operand; the result is i32 and wraps.
 * Shape: that of tc_matmul.
 * ATen: _int_mm.
 * ONNX: MatMulInteger. */
#define tc_matmul_integer(...) tc_matmul_integer_at(&(const tc_matmul_integer_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_matmul_integer_args {
    tc_tensor a, b, a_zero, b_zero;
    tc_site at;
} tc_matmul_integer_args;
tc_tensor tc_matmul_integer_at(const tc_matmul_integer_args *args);

/* tc_conv_integer(x, w, .bias = b, .x_zero = z, .w_zero = z, .stride = {2, 2}, .padding, .low, .high, .dilation,
 * .groups, .same) The convolution of x - x_zero with w - w_zero, exact, as tc_conv1d, tc_conv2d or tc_conv3d by x's
 * rank has it; what is padded is x_zero. w_zero is one number or one an output channel.
 * Dtypes: i8, u8, i16 or u16 for x and w, each zero as its operand; i32 or i64 for bias[o] and the result, which wraps.
 * Shape: that of the convolution.
 * ATen: none.
 * ONNX: ConvInteger. */
#define tc_conv_integer(...)                                                                                          \
    tc_conv_integer_at(&(const tc_conv_integer_args){TC_WINDOWS_3_, .x = __VA_ARGS__, .at = TC_HERE})
typedef struct tc_conv_integer_args {
    tc_tensor x, w, bias, x_zero, w_zero;
    int stride[3], padding[3], low[3], high[3], dilation[3], groups;
    tc_same same;
    tc_site at;
} tc_conv_integer_args;
tc_tensor tc_conv_integer_at(const tc_conv_integer_args *args);

/* A quantized tensor with its scale and zero (NULL: 0). */
typedef struct tc_quantized {
    tc_tensor x, scale, zero;
} tc_quantized;

/* tc_qlinear_matmul(.a = {a, scale, zero}, .b = {b, scale, zero}, .scale = s, .zero = z)
 * tc_qlinear_conv(.x = {x, scale, zero}, .w = {w, scale, zero}, .bias = b, .scale = s, .zero = z, options of
 * tc_conv_integer)
 *
 * The quantized product of quantized operands: tc_requantize by scale_a * scale_b / s of tc_matmul_integer or
 * tc_conv_integer. The scales are one number, or one a row of a, a column of b, an output channel of w; bias has the
 * scale of the product and zero 0.
 * Dtypes: i8 or u8 for the operands; floats of one dtype for the scales; the result is of the dtype of zero, left out
 * that of a or x.
 * Shape: that of the product.
 * Numerics: scale_a * scale_b / s rounds in the scales' dtype.
 * ATen: none.
 * ONNX: QLinearMatMul, QLinearConv. */
#define tc_qlinear_matmul(...) tc_qlinear_matmul_at(&(const tc_qlinear_matmul_args){__VA_ARGS__, .at = TC_HERE})
#define tc_qlinear_conv(...)                                                                                          \
    tc_qlinear_conv_at(&(const tc_qlinear_conv_args){TC_WINDOWS_3_, __VA_ARGS__, .at = TC_HERE})
typedef struct tc_qlinear_matmul_args {
    tc_quantized a, b;
    tc_tensor scale, zero;
    tc_site at;
} tc_qlinear_matmul_args;
typedef struct tc_qlinear_conv_args {
    tc_quantized x, w;
    tc_tensor bias, scale, zero;
    int stride[3], padding[3], low[3], high[3], dilation[3], groups;
    tc_same same;
    tc_site at;
} tc_qlinear_conv_args;
tc_tensor tc_qlinear_matmul_at(const tc_qlinear_matmul_args *args);
tc_tensor tc_qlinear_conv_at(const tc_qlinear_conv_args *args);

/* tc_matmul_nbits(x, w, scale, .zero = z, .bias = b, .bits = 4, .block = 32)
 * x[..., k] times the transposed matrix [n, k] whose blocks of `.block` numbers along k are stored densely: w[n,
 * blocks, block * bits / 8] holds `.bits` (2, 4 or 8) a number, lowest first, and stands for (q - zero) * scale. scale
 * is [n, blocks] or flat; zero u8 packed in the same way, [n, ceil(blocks * bits / 8)] or flat, or floats like scale;
 * left out 2^(bits - 1).
 * Dtypes: u8 for w; floats of one dtype for x, scale and bias[n].
 * Shape: [..., n]; k is a constant.
 * Numerics: f16 and bf16 are computed in f32 and rounded once.
 * ATen: none.
 * ONNX: MatMulNBits of com.microsoft. */
#define tc_matmul_nbits(...) tc_matmul_nbits_at(&(const tc_matmul_nbits_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_matmul_nbits_args {
    tc_tensor x, w, scale, zero, bias;
    int bits, block;
    tc_site at;
} tc_matmul_nbits_args;
tc_tensor tc_matmul_nbits_at(const tc_matmul_nbits_args *args);

#endif
