/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of Fourier transforms, windows and complex numbers.
 */
#include "mistakes.h"

#define CASES(X)                                                                                                      \
    X(dft_parts, "tc_dft: the last axis of f32[8,3] is neither 1 nor 2", tc_tensor x = F(8, 3); AT; tc_dft(x))        \
    X(dft_complex, "tc_dft: .onesided of complex numbers: f32[8,2]", tc_tensor x = F(8, 2); AT;                       \
      tc_dft(x, .onesided = true))                                                                                    \
    X(dft_real, "tc_dft: .onesided and .inverse of real numbers: f32[8,1]", tc_tensor x = F(8, 1); AT;                \
      tc_dft(x, .onesided = true, .inverse = true))                                                                   \
    X(dft_lengths, "tc_dft: 2 lengths", tc_tensor x = F(8, 2); AT; tc_dft(x, TC_SIZES(4, 4)))                         \
    X(dft_axis, "tc_dft: axis -1 of f32[8,2]", tc_tensor x = F(8, 2); AT; tc_dft(x, .axis = -1))                      \
    X(dft_length, "tc_dft: a transform of the length 0 of axis 0 of f32[8,2]", tc_tensor x = F(8, 2); AT;             \
      tc_dft(x, TC_SIZES(0)))                                                                                         \
    X(dft_dtype, "tc_dft: needs floats, not i32[8,2]", tc_tensor x = IN(TC_I32, 8, 2); AT; tc_dft(x))                 \
    X(stft_window, "tc_stft: the window is f32[2,2] for x f32[1,9,1]", tc_tensor x = F(1, 9, 1), w = F(2, 2); AT;     \
      tc_stft(x, .step = 1, .window = w))                                                                             \
    X(stft, "tc_stft: windows of 0 every 2 of f32[1,9,1]", tc_tensor x = F(1, 9, 1); AT; tc_stft(x, .step = 2))       \
    X(istft, "tc_istft: f32[1,3,4,2] holds no spectra of windows of 8", tc_tensor x = F(1, 3, 4, 2); AT;                \
      tc_istft(x, .step = 2, .length = 8))                                                                            \
    X(complex_parts, "tc_complex_abs: the last axis of f32[4,3] is not 2", tc_tensor x = F(4, 3); AT;                 \
      tc_complex_abs(x))                                                                                              \
    X(complex_dtype, "tc_complex: needs floats, not i32[4]", tc_tensor x = IN(TC_I32, 4); AT; tc_complex(x, x))       \
    X(complex_both, "tc_complex_mul: dtypes differ: f32[4,2] and f64[4,2]",                                           \
      tc_tensor x = F(4, 2), y = IN(TC_F64, 4, 2); AT; tc_complex_mul(x, y))                                          \
    X(complex_matrices, "tc_complex_matmul: matrices of complex numbers, not f32[4,2] and f32[4,4,2]",                \
      tc_tensor x = F(4, 2), y = F(4, 4, 2); AT; tc_complex_matmul(x, y))                                             \
    X(window, "tc_hann_window: a window of -1", AT; tc_hann_window(g, TC_F32, -1, true))                              \
    X(window_dtype, "tc_cosine_window: the dtype is no number's", AT;                                                 \
      tc_cosine_window(g, TC_BOOL, 4, true, 1, 0, 0))                                                                 \
    X(mel_dtype, "tc_mel_weights: the dtype is no number's", AT; tc_mel_weights(g, TC_BOOL, 4, 8, 100, 0, 50))        \
    X(mel, "tc_mel_weights: 4 bands of 60 to 50, length 8, rate 100", AT; tc_mel_weights(g, TC_F32, 4, 8, 100, 60, 50))

MISTAKES(CASES)
