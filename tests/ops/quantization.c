/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantized tensors against ONNX: to integers and back by one number, a number an axis and a number a block; accumulators;
 * integer products; small floats.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64)

TC_MODEL(quantization)
{
}

#define QUANTIZE(name, dtype_)                                                                                         \
    TC_FUNCTION(op_quantize_##name)                                                                                    \
    {                                                                                                                  \
        SIZES;                                                                                                         \
        tc_tensor x = tc_input(g, "x", TC_F32, n, 21), s = tc_input(g, "scale", TC_F32);                               \
        tc_tensor z = tc_input(g, "zero", dtype_), q = tc_quantize(x, s, z);                                           \
        tc_output(g, "q", q);                                                                                          \
        tc_output(g, "y", tc_dequantize(q, s, z));                                                                     \
        tc_output(g, "plain", tc_quantize(x, s, .dtype = dtype_));                                                     \
    }
QUANTIZE(i8, TC_I8)
QUANTIZE(u8, TC_U8)
QUANTIZE(i16, TC_I16)
QUANTIZE(u16, TC_U16)

/* A number an axis; of four bits; of an accumulator. */
TC_FUNCTION(op_axis)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 5, 3), s = tc_input(g, "scale", TC_F32, 5);
    tc_tensor z = tc_input(g, "zero", TC_I8, 5), q = tc_quantize(x, s, z, .axis = 1);
    tc_output(g, "q", q);
    tc_output(g, "y", tc_dequantize(q, s, z, .axis = 1));
    tc_output(g, "four", tc_quantize(x, s, .dtype = TC_I8, .bits = 4, .axis = -2));
    tc_output(g, "wide", tc_dequantize(tc_input(g, "sums", TC_I32, n, 5, 3), s, .axis = 1));
}

/* A number a block of 4 of 10 elements. */
TC_FUNCTION(op_blocks)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 10), s = tc_input(g, "scale", TC_F32, n, 3);
    tc_tensor z = tc_input(g, "zero", TC_U8, n, 3), q = tc_quantize(x, s, z, .axis = 1, .block = 4);
    tc_output(g, "q", q);
    tc_output(g, "y", tc_dequantize(q, s, z, .axis = 1, .block = 4));
}

TC_FUNCTION(op_dynamic)
{
    tc_dim k = tc_dynamic(g, "k", 1, 64);
    tc_tensor scale, zero, x = tc_input(g, "x", TC_F32, k, 7);
    tc_output(g, "q", tc_dynamic_quantize(x, &scale, &zero));
    tc_output(g, "scale", scale);
    tc_output(g, "zero", zero);
    tc_output(g, "nothing", tc_dynamic_quantize(tc_full(g, 0, TC_F32, k, 2), &scale, &zero));
    tc_output(g, "one", scale);
}

/* TensorFlow Lite's fixed point. */
TC_FUNCTION(op_fixed_point)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_I32, n, 6), q = tc_input(g, "q", TC_I32, 6), e = tc_input(g, "e", TC_I32, 6);
    tc_tensor z = tc_input(g, "z", TC_I8);
    tc_output(g, "mulhigh", tc_mulhigh_round(x, q));
    tc_output(g, "halved", tc_rounding_shift(x, 1));
    tc_output(g, "shifted", tc_rounding_shift(x, tc_maximum(tc_neg(e), 0)));
    tc_output(g, "twice", tc_requantize(x, .multiplier = q, .shift = e, .zero = z, .axis = 1));
    tc_output(g, "once", tc_requantize(x, .multiplier = q, .shift = e, .zero = z, .axis = 1, .once = true));
    tc_output(g, "sixteen", tc_requantize(x, .multiplier = q, .shift = e, .dtype = TC_I16, .axis = 1));
}

/* Multipliers of numbers known while the model is recorded. */
TC_FUNCTION(op_multiplier)
{
    static const double scales[] = {0.000123, 0.75, 1.0, 3.25, 1e-12, 0.4999999999};
    tc_dim n = tc_dynamic(g, "n", 0, 64);
    tc_tensor x = tc_input(g, "x", TC_I32, n), parts[6];
    for (int i = 0; i < 6; ++i) {
        int shift;
        const int32_t q = tc_quantized_multiplier(scales[i], &shift);
        parts[i] = tc_requantize(x, .multiplier = tc_full(g, q, TC_I32, 1), .shift = tc_full(g, shift, TC_I32, 1),
                                 .dtype = TC_I8);
    }
    tc_output(g, "y", tc_stack(0, parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]));
}

TC_FUNCTION(op_matmul_integer)
{
    SIZES;
    tc_tensor a = tc_input(g, "a", TC_U8, n, 37), b = tc_input(g, "b", TC_I8, 37, 19);
    tc_output(g, "plain", tc_matmul_integer(a, b));
    tc_output(g, "zeros", tc_matmul_integer(a, b, .a_zero = tc_input(g, "a_zero", TC_U8),
                                            .b_zero = tc_input(g, "b_zero", TC_I8, 1)));
    tc_output(g, "columns", tc_matmul_integer(a, b, .b_zero = tc_input(g, "column_zeros", TC_I8, 19)));
}

TC_FUNCTION(op_qlinear_matmul)
{
    SIZES;
    tc_quantized a = {tc_input(g, "a", TC_U8, n, 37), tc_input(g, "a_scale", TC_F32), tc_input(g, "a_zero", TC_U8)};
    tc_quantized b = {tc_input(g, "b", TC_I8, 37, 19), tc_input(g, "b_scale", TC_F32, 19), tc_input(g, "b_zero", TC_I8, 19)};
    tc_output(g, "y", tc_qlinear_matmul(.a = a, .b = b, .scale = tc_input(g, "scale", TC_F32),
                                        .zero = tc_input(g, "zero", TC_U8)));
}

TC_FUNCTION(op_conv_integer)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_U8, n, 4, 7, 6), w = tc_input(g, "w", TC_U8, 6, 2, 3, 3);
    tc_output(g, "y", tc_conv_integer(x, w, .x_zero = tc_input(g, "x_zero", TC_U8), .w_zero = tc_input(g, "w_zero", TC_U8),
                                      .stride = {2, 1}, .padding = {1, 1}, .groups = 2));
}

TC_FUNCTION(op_qlinear_conv)
{
    SIZES;
    tc_quantized x = {tc_input(g, "x", TC_U8, n, 4, 7, 6), tc_input(g, "x_scale", TC_F32), tc_input(g, "x_zero", TC_U8)};
    tc_quantized w = {tc_input(g, "w", TC_I8, 6, 4, 3, 3), tc_input(g, "w_scale", TC_F32, 6), tc_input(g, "w_zero", TC_I8, 6)};
    tc_output(g, "y", tc_qlinear_conv(.x = x, .w = w, .bias = tc_input(g, "bias", TC_I32, 6),
                                      .scale = tc_input(g, "scale", TC_F32), .zero = tc_input(g, "zero", TC_U8),
                                      .low = {1, 0}, .high = {0, 1}, .dilation = {1, 2}));
}

TC_FUNCTION(op_qlinear_conv1d)
{
    SIZES;
    tc_quantized x = {tc_input(g, "x", TC_I8, n, 3, 9), tc_input(g, "x_scale", TC_F32), tc_input(g, "x_zero", TC_I8)};
    tc_quantized w = {tc_input(g, "w", TC_I8, 4, 3, 2), tc_input(g, "w_scale", TC_F32), NULL};
    tc_output(g, "y", tc_qlinear_conv(.x = x, .w = w, .scale = tc_input(g, "scale", TC_F32), .zero = tc_input(g, "zero", TC_I8),
                                      .padding = {1}));
}

TC_FUNCTION(op_nbits)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 40), w = tc_input(g, "w", TC_U8, 5, 3, 8);
    tc_tensor scale = tc_input(g, "scale", TC_F32, 15), zero = tc_input(g, "zero", TC_U8, 10);
    tc_tensor bias = tc_input(g, "bias", TC_F32, 5);
    tc_output(g, "plain", tc_matmul_nbits(x, w, scale, .bits = 4, .block = 16));
    tc_output(g, "zeros", tc_matmul_nbits(x, w, scale, zero, bias, .bits = 4, .block = 16));
    tc_output(g, "eight", tc_matmul_nbits(x, tc_input(g, "bytes", TC_U8, 5, 3, 16), scale, tc_input(g, "byte_zeros", TC_U8, 15),
                                          .bits = 8, .block = 16));
}

TC_FUNCTION(op_packed)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_U8, n, 6);
    tc_tensor four = tc_unpack_bits(x, 4, true), two = tc_unpack_bits(x, 2, false);
    tc_output(g, "four", four);
    tc_output(g, "two", two);
    tc_output(g, "one", tc_unpack_bits(x, 1, false));
    tc_output(g, "signed_two", tc_unpack_bits(x, 2, true));
    tc_output(g, "again", tc_pack_bits(four, 4));
    tc_output(g, "same", tc_pack_bits(two, 2));
}

#define SMALL(name, format)                                                                                            \
    TC_FUNCTION(op_##name)                                                                                             \
    {                                                                                                                  \
        tc_dim m = tc_dynamic(g, "m", 0, 2048);                                                                        \
        tc_tensor x = tc_input(g, "x", TC_F32, m), code = tc_input(g, "code", TC_U8, 256);                             \
        tc_output(g, "value", tc_decode_float(code, format));                                                          \
        tc_output(g, "bits", tc_encode_float(x, format));                                                              \
        tc_output(g, "overflow", tc_encode_float(x, format, .overflow = true));                                        \
    }
SMALL(e4m3fn, TC_E4M3FN)
SMALL(e4m3fnuz, TC_E4M3FNUZ)
SMALL(e5m2, TC_E5M2)
SMALL(e5m2fnuz, TC_E5M2FNUZ)

TC_FUNCTION(op_e8m0)
{
    tc_dim m = tc_dynamic(g, "m", 0, 2048);
    tc_tensor x = tc_input(g, "x", TC_F32, m);
    tc_output(g, "value", tc_decode_float(tc_input(g, "code", TC_U8, 256), TC_E8M0));
    tc_output(g, "up", tc_encode_float(x, TC_E8M0));
    tc_output(g, "down", tc_encode_float(x, TC_E8M0, .rounding = TC_E8M0_DOWN));
    tc_output(g, "nearest", tc_encode_float(x, TC_E8M0, .rounding = TC_E8M0_NEAREST));
}

TC_FUNCTION(op_e2m1)
{
    tc_dim m = tc_dynamic(g, "m", 0, 2048);
    tc_tensor x = tc_input(g, "x", TC_F32, m), code = tc_bit_and(tc_input(g, "code", TC_U8, 256), 15);
    tc_output(g, "value", tc_decode_float(code, TC_E2M1));
    tc_output(g, "bits", tc_encode_float(x, TC_E2M1));
}

/* Quantized to bit patterns, a scale an axis. */
TC_FUNCTION(op_float8)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, 5), s = tc_input(g, "scale", TC_F32, 5);
    tc_tensor q = tc_quantize(x, s, .format = TC_E4M3FN, .axis = 1);
    tc_output(g, "q", q);
    tc_output(g, "y", tc_dequantize(q, s, .format = TC_E4M3FN, .axis = 1));
}
