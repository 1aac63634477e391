/* SPDX-License-Identifier: Apache-2.0
 *
 * Every dtype through the whole path: integers of 8 to 64 bits, f64, and f16 and bf16, which are computed in f32.
 */
#include <tensor_compile/model.h>

#define SIZES tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 1, 512)

TC_MODEL(dtypes)
{
}

#define INTEGERS(type, dtype)                                                                                         \
    TC_FUNCTION(op_integers_##type)                                                                                   \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m);                               \
        tc_output(g, "add", tc_add(a, b));                                                                            \
        tc_output(g, "sub", tc_sub(a, b));                                                                            \
        tc_output(g, "mul", tc_mul(a, b));                                                                            \
        tc_output(g, "div", tc_div(a, b));                                                                            \
        tc_output(g, "largest", tc_maximum(a, b));                                                                    \
        tc_output(g, "smallest", tc_minimum(a, b));                                                                   \
        tc_output(g, "opposite", tc_neg(a));                                                                          \
        tc_output(g, "chosen", tc_where(tc_gt(a, 5), a, b));                                                          \
        tc_output(g, "least", tc_le(a, b));                                                                           \
        tc_output(g, "floats", tc_mul(tc_cast(a, TC_F32), 0.25));                                                     \
        tc_output(g, "halves", tc_cast(a, TC_F16));                                                                   \
        tc_output(g, "rows", tc_sum(a, 1));                                                                           \
        tc_output(g, "columns", tc_sum(a, 0));                                                                        \
        tc_output(g, "most", tc_amax(a, 1));                                                                          \
        tc_output(g, "where", tc_argmin(b, 1));                                                                       \
        tc_output(g, "turned", tc_pad(tc_transpose(a, 0, 1), .low = {1}, .value = 3));                               \
        tc_output(g, "product", tc_matmul(a, tc_transpose(b, 0, 1)));                                                 \
    }
INTEGERS(i8, TC_I8)
INTEGERS(u64, TC_U64)

#define FEW(type, dtype)                                                                                              \
    TC_FUNCTION(op_few_##type)                                                                                        \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m);                               \
        tc_output(g, "mul", tc_mul(tc_add(a, b), b));                                                                 \
        tc_output(g, "div", tc_div(a, b));                                                                            \
        tc_output(g, "least", tc_le(a, b));                                                                           \
        tc_output(g, "halves", tc_cast(a, TC_F16));                                                                   \
        tc_output(g, "rows", tc_sum(a, 1));                                                                           \
    }
FEW(u8, TC_U8)
FEW(i16, TC_I16)
FEW(u16, TC_U16)
FEW(u32, TC_U32)

#define FLOATS(type, dtype)                                                                                           \
    TC_FUNCTION(op_floats_##type)                                                                                     \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), b = tc_input(g, "b", dtype, n, m), size = tc_abs(b);             \
        tc_output(g, "add", tc_add(a, b));                                                                            \
        tc_output(g, "mul", tc_mul(a, b));                                                                            \
        tc_output(g, "div", tc_div(a, b));                                                                            \
        tc_output(g, "root", tc_sqrt(size));                                                                          \
        tc_output(g, "floor", tc_floor(tc_mul(a, 10)));                                                               \
        tc_output(g, "exp", tc_exp(a));                                                                               \
        tc_output(g, "log", tc_log(size));                                                                            \
        tc_output(g, "tanh", tc_tanh(a));                                                                             \
        tc_output(g, "erf", tc_erf(a));                                                                               \
        tc_output(g, "less", tc_lt(a, b));                                                                            \
        tc_output(g, "largest", tc_maximum(a, b));                                                                    \
        tc_output(g, "chain", tc_sub(tc_add(tc_mul(a, b), 0.5), a));                                                  \
        tc_output(g, "sum", tc_sum(a, 1));                                                                            \
        tc_output(g, "columns", tc_sum(a, 0));                                                                        \
        tc_output(g, "most", tc_amax(a, 1));                                                                          \
        tc_output(g, "where", tc_argmax(a, 1));                                                                       \
        tc_output(g, "bytes", tc_cast(tc_mul(a, 100), TC_I8));                                                        \
        tc_output(g, "wide", tc_cast(a, TC_F64));                                                                     \
        tc_output(g, "narrow", tc_cast(a, TC_BF16));                                                                  \
    }                                                                                                                 \
    TC_FUNCTION(op_layers_##type)                                                                                     \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", dtype, n, m), w = tc_input(g, "w", dtype, 24, m), s = tc_input(g, "s", dtype, m); \
        tc_output(g, "product", tc_matmul(a, tc_transpose(w, 0, 1)));                                                 \
        tc_output(g, "relu", tc_relu(tc_linear(a, w, NULL)));                                                         \
        tc_output(g, "few", tc_matmul(a, tc_slice(tc_transpose(w, 0, 1), 1, 0, 3)));                                  \
        tc_output(g, "softmax", tc_softmax(a, -1));                                                                   \
        tc_output(g, "norm", tc_layer_norm(a, .weight = s));                                                          \
        tc_output(g, "mean", tc_mean(a, 1));                                                                          \
    }
FLOATS(f64, TC_F64)
FLOATS(f16, TC_F16)
FLOATS(bf16, TC_BF16)

TC_FUNCTION(op_functions_f64)
{
    SIZES;
    tc_tensor a = tc_input(g, "a", TC_F64, n, m), b = tc_input(g, "b", TC_F64, n, m), size = tc_abs(b);
    tc_output(g, "sin", tc_sin(a));
    tc_output(g, "cos", tc_cos(a));
    tc_output(g, "tan", tc_tan(b));
    tc_output(g, "expm1", tc_expm1(b));
    tc_output(g, "log1p", tc_log1p(size));
    tc_output(g, "pow", tc_pow(size, a));
    tc_output(g, "round", tc_round(a));
    tc_output(g, "remainder", tc_remainder(a, b));
}

#define CONVOLUTIONS(type, dtype)                                                                                     \
    TC_FUNCTION(op_conv_##type)                                                                                       \
    {                                                                                                                 \
        tc_dim n = tc_dynamic(g, "n", 0, 64);                                                                         \
        tc_tensor x = tc_input(g, "x", dtype, n, 4, 9, 9), w = tc_input(g, "w", dtype, 6, 4, 3, 3);                   \
        tc_output(g, "y", tc_conv2d(x, w, NULL, .padding = {1, 1}));                                                  \
        tc_output(g, "pooled", tc_max_pool2d(x, .kernel = {2, 2}));                                                   \
        tc_output(g, "averaged", tc_avg_pool2d(x, .kernel = {3, 3}));                                                 \
    }
CONVOLUTIONS(f64, TC_F64)
CONVOLUTIONS(f16, TC_F16)
CONVOLUTIONS(bf16, TC_BF16)

/* The bits of a float as integers, changed and back, in arithmetic, reductions and views. */
#define BITS(bits)                                                                                                    \
    TC_FUNCTION(op_bits_##bits)                                                                                       \
    {                                                                                                                 \
        SIZES;                                                                                                        \
        tc_tensor a = tc_input(g, "a", TC_F##bits, n, m), b = tc_input(g, "b", TC_I##bits, n, m);                     \
        tc_tensor bits_of_a = tc_bitcast(a, TC_I##bits), floats = tc_bitcast(b, TC_F##bits);                          \
        tc_output(g, "bits", bits_of_a);                                                                              \
        tc_output(g, "unsigned_bits", tc_bitcast(a, TC_U##bits));                                                     \
        tc_output(g, "floats", floats);                                                                               \
        tc_output(g, "back", tc_bitcast(tc_bitcast(tc_bitcast(b, TC_U##bits), TC_F##bits), TC_I##bits));              \
        tc_tensor sign = tc_bitcast(tc_full(g, -0.0, TC_F##bits), TC_I##bits);                                        \
        tc_output(g, "size", tc_bitcast(tc_bit_and(bits_of_a, tc_bit_not(sign)), TC_F##bits));                        \
        tc_output(g, "most", tc_amax(bits_of_a, 1));                                                                  \
        tc_output(g, "turned", tc_pad(tc_transpose(bits_of_a, 0, 1), .low = {1}, .value = 3));                        \
        tc_output(g, "unknown", tc_isnan(floats));                                                                    \
    }
BITS(16)
BITS(32)
BITS(64)

TC_FUNCTION(op_bits_8)
{
    SIZES;
    tc_tensor a = tc_input(g, "a", TC_I8, n, m), positive = tc_gt(a, 0);
    tc_tensor h = tc_input(g, "h", TC_F16, n, m), b = tc_input(g, "b", TC_BF16, n, m);
    tc_output(g, "u8", tc_bitcast(a, TC_U8));
    tc_output(g, "truth", tc_bitcast(positive, TC_I8));
    tc_output(g, "same", tc_bitcast(positive, TC_BOOL));
    tc_output(g, "halves", tc_bitcast(b, TC_F16));
    tc_output(g, "brain", tc_bitcast(h, TC_BF16));
    tc_output(g, "u16", tc_bitcast(b, TC_U16));
}

/* An image of bytes, its channels last, to normalized planes. */
TC_FUNCTION(op_image)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64);
    tc_tensor x = tc_cast(tc_permute(tc_input(g, "x", TC_U8, n, 6, 7, 3), 0, 3, 1, 2), TC_F32);
    tc_output(g, "y", tc_mul(tc_sub(x, 127.5), 0.0078125));
}
