/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms, windows, mel bands.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(signal)
{
}

#define DIMS tc_dim n = tc_dynamic(g, "n", 1, 8), l = tc_dynamic(g, "l", 1, 70)

/* Of a length that is known when the model runs. */
TC_FUNCTION(op_dynamic)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, l, 2), r = tc_input(g, "r", FLOAT, l, n, 1);
    tc_output(g, "whole", tc_dft(x, .axis = 1));
    tc_output(g, "back", tc_dft(x, .axis = -2, .inverse = true));
    tc_output(g, "half", tc_dft(r, .onesided = true));
    tc_output(g, "real", tc_dft(r));
    tc_output(g, "longer", tc_dft(r, .axis = 0, TC_SIZES(tc_dim_add(l, 3))));
    tc_output(g, "shorter", tc_dft(x, .axis = 1, TC_SIZES(tc_dim_min(l, 5)), .onesided = false));
    tc_output(g, "halves", tc_dft(x, .axis = 1, TC_SIZES(l), .onesided = true, .inverse = true));
}

/* Of constant lengths: short, prime, factored once and twice. */
TC_FUNCTION(op_constant)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 400, 1), y = tc_input(g, "y", FLOAT, 2, 1200, 2), z = tc_input(g, "z", FLOAT, 12, l, 2);
    tc_output(g, "spectrum", tc_dft(x, .axis = 1, .onesided = true));
    tc_output(g, "prime", tc_dft(x, .axis = 1, TC_SIZES(37)));
    tc_output(g, "large", tc_dft(y, .axis = 1));
    tc_output(g, "large_back", tc_dft(y, .axis = 1, .inverse = true));
    tc_output(g, "real_back", tc_dft(y, .axis = 1, TC_SIZES(401), .inverse = true, .onesided = true));
    tc_output(g, "even_back", tc_dft(y, .axis = 1, TC_SIZES(400), .inverse = true, .onesided = true));
    tc_output(g, "first", tc_dft(z));
}

TC_FUNCTION(op_stft)
{
    DIMS;
    tc_dim m = tc_dim_add(tc_dim_mul(l, 4), 60);
    tc_tensor x = tc_input(g, "x", FLOAT, n, m, 1), y = tc_input(g, "y", FLOAT, n, m, 2), w = tc_input(g, "w", FLOAT, 48);
    tc_output(g, "half", tc_stft(x, .step = 16, .window = w));
    tc_output(g, "whole", tc_stft(x, .step = 10, .length = 60, .window = w, .twosided = true));
    tc_output(g, "pairs", tc_stft(y, .step = 7, .length = 16));
}

TC_FUNCTION(op_windows)
{
    DIMS;
    tc_output(g, "hann", tc_hann_window(g, FLOAT, l, true));
    tc_output(g, "hamming", tc_hamming_window(g, TC_F32, 17, false));
    tc_output(g, "blackman", tc_blackman_window(g, TC_F64, tc_dim_add(l, n), true));
    tc_output(g, "hamming_of_onnx", tc_cosine_window(g, FLOAT, 33, false, 25.0 / 46, 21.0 / 46, 0));
    tc_output(g, "mel", tc_mel_weights(g, TC_F32, 8, 16, 8192, 0, 4096));
    tc_output(g, "mel_fine", tc_mel_weights(g, TC_F64, 40, 400, 16000, 20, 7600));
}

/* Back to the signals of op_stft, but for what its windows leave out. */
TC_FUNCTION(op_istft)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, l, 25, 2), y = tc_input(g, "y", FLOAT, 2, n, 16, 2);
    tc_tensor w = tc_input(g, "w", FLOAT, 48);
    tc_output(g, "half", tc_istft(x, .step = 16, .window = w));
    tc_output(g, "pairs", tc_istft(y, .step = 7, .length = 16, .twosided = true));
}

TC_FUNCTION(op_complex)
{
    DIMS;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 1, 4, 2), y = tc_input(g, "y", FLOAT, l, 4, 2), r = tc_input(g, "r", FLOAT, l, 1);
    tc_tensor m = tc_input(g, "m", FLOAT, 4, l, 2);
    tc_output(g, "product", tc_complex_mul(x, y));
    tc_output(g, "quotient", tc_complex_div(x, y));
    tc_output(g, "conjugate", tc_complex_conj(y));
    tc_output(g, "magnitude", tc_complex_abs(x));
    tc_output(g, "angle", tc_complex_angle(y));
    tc_output(g, "exponential", tc_complex_exp(y));
    tc_output(g, "logarithm", tc_complex_log(x));
    tc_output(g, "polar", tc_polar(2, r));
    tc_output(g, "made", tc_complex(r, tc_complex_abs(y)));
    tc_output(g, "matrices", tc_complex_matmul(x, m));
}
