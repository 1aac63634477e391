/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms, windows, and what spectra are weighted by. What all operations share is said in ../ops.h.
 *
 * Complex numbers are a last axis of 2, the real part first; a last axis of 1 is real.
 */
#ifndef TENSOR_COMPILE_OPS_SIGNAL_H
#define TENSOR_COMPILE_OPS_SIGNAL_H

#include "../model.h"
#include "resampling.h"

/* tc_dft(x, .axis = 1, TC_SIZES(l), .inverse = true, .onesided = true)
 *
 * y[k] = sum of x[n] exp(-2 pi i k n / l) along the axis (0, the first one, if left out) of x[..., 1] or x[..., 2], cut
 * or filled with zeros to the length l (left out: its size). .inverse: exp(2 pi i k n / l) / l. .onesided: of real x
 * the first floor(l / 2) + 1 alone; with .inverse back from those, whose others are conjugates, to l (left out: 2 (size
 * - 1)) real numbers.
 * Dtypes: floats.
 * Shape: that of x with l, or floor(l / 2) + 1, along the axis; the last axis is 2, of .onesided with .inverse 1.
 * Numerics: sines and cosines of f64 rounded to f32 (f64: not). A constant l above 32 is factored a * b, a the largest
 * factor up to its square root: transforms of a, a product with exp(-2 pi i n k / l), transforms of b, and so on; each
 * is a contraction in its order. 16 bits: in f32, rounded once.
 * Errors: complex x and .onesided; real x, .onesided and .inverse.
 * ATen: fft_fft, fft_ifft, fft_rfft, fft_irfft (norm="backward"), of complex numbers as view_as_real has them.
 * ONNX: DFT. */
#define tc_dft(...) tc_dft_at(&(const tc_dft_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_dft_args {
    tc_tensor x;
    int axis, size_count;
    const tc_dim *size; /* NULL: the axis's */
    bool inverse, onesided;
    tc_site at;
} tc_dft_args;
tc_tensor tc_dft_at(const tc_dft_args *args);

/* tc_stft(x, .step = 160, .length = 400, .window = w, .twosided = true)
 *
 * The transforms of windows of `length` samples, one every `step`, of x[b, n, 1] or x[b, n, 2]: y[b, f, k, 2] of x[b,
 * f*step .. f*step + length] times window[m], m at most the length, behind whose end there are zeros; no window: ones.
 * Of real x the first floor(length / 2) + 1 of each, with .twosided all. A length left out is the window's size.
 * Dtypes: floats.
 * Shape: [b, 1 + floor((n - length) / step), k, 2].
 * Numerics: as tc_dft.
 * Errors: windows that do not fit.
 * ATen: stft (center=False, return_complex=False; of center=True: tc_pad_reflect before).
 * ONNX: STFT. */
#define tc_stft(...) tc_stft_at(&(const tc_stft_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_stft_args {
    tc_tensor x, window; /* window: NULL for ones */
    int step, length;
    bool twosided;
    tc_site at;
} tc_stft_args;
tc_tensor tc_stft_at(const tc_stft_args *args);

/* tc_istft(x, .step = 160, .length = 400, .window = w, .twosided = true)
 *
 * Back from the transforms x[b, f, k, 2] of windows, as tc_stft gives them with the same options: y[n] = sum of
 * window[m] z[f, m] over sum of window[m]^2, both over f and m with f*step + m = n, z the inverse transforms of the
 * length (of half spectra real, with .twosided complex). A length left out is the window's size.
 * Dtypes: floats.
 * Shape: [b, (f - 1) step + length, 1], with .twosided [..., 2].
 * Numerics: the transforms as of tc_dft, the sums as of tc_fold. NaN where no window has a weight. 16 bits: in f32,
 * rounded once.
 * Errors: x of other axes, f that may be 0.
 * ATen: istft (center=False; of center=True: tc_slice behind). */
#define tc_istft(...) tc_istft_at(&(const tc_stft_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_istft_at(const tc_stft_args *args);

/* tc_hann_window(g, dtype, size, periodic), tc_hamming_window, tc_blackman_window,
 * tc_cosine_window(g, dtype, size, periodic, a, b, c)
 * a - b cos(2 pi i / n) + c cos(4 pi i / n) for i = 0..size - 1, n = size if periodic, else size - 1 (at least 1), of C
 * numbers: (0.5, 0.5, 0), (0.54, 0.46, 0), (0.42, 0.5, 0.08).
 * Dtypes: numbers.
 * Shape: [size].
 * Numerics: in f64, rounded once (integers: towards zero).
 * ATen: hann_window, hamming_window, blackman_window.
 * ONNX: HannWindow, HammingWindow (with 25/46 and 21/46), BlackmanWindow. */
#define tc_hann_window(g, dtype, size, periodic)                                                                      \
    tc_cosine_window_at(TC_HERE, "tc_hann_window", g, dtype, TC_DIM(size), periodic, 0.5, 0.5, 0)
#define tc_hamming_window(g, dtype, size, periodic)                                                                   \
    tc_cosine_window_at(TC_HERE, "tc_hamming_window", g, dtype, TC_DIM(size), periodic, 0.54, 0.46, 0)
#define tc_blackman_window(g, dtype, size, periodic)                                                                  \
    tc_cosine_window_at(TC_HERE, "tc_blackman_window", g, dtype, TC_DIM(size), periodic, 0.42, 0.5, 0.08)
#define tc_cosine_window(g, dtype, size, periodic, a, b, c)                                                           \
    tc_cosine_window_at(TC_HERE, "tc_cosine_window", g, dtype, TC_DIM(size), periodic, a, b, c)
tc_tensor tc_cosine_window_at(tc_site at, const char *name, tc_graph *g, tc_dtype dtype, tc_dim size, bool periodic, double a,
                              double b, double c);

/* tc_mel_weights(g, dtype, bins, length, rate, low, high)
 * The matrix that turns the floor(length / 2) + 1 magnitudes of a spectrum into `bins` mel bands, C numbers all: band i
 * is a triangle from f[i] over f[i + 1], where it is 1, to f[i + 2], with f[i] = floor((length + 1) hz(m(low) + i step)
 * / rate), m(hz) = 2595 log10(1 + hz / 700), hz its inverse, step = (m(high) - m(low)) / (bins + 2).
 * Dtypes: numbers.
 * Shape: [floor(length / 2) + 1, bins].
 * Numerics: the f[i] in double while the model is recorded, each weight one division in f64, rounded once.
 * Errors: more than 1024 bins, a rate or length that is not positive.
 * ATen: none.
 * ONNX: MelWeightMatrix. */
#define tc_mel_weights(g, dtype, bins, length, rate, low, high)                                                       \
    tc_mel_weights_at(TC_HERE, g, dtype, bins, length, rate, low, high)
tc_tensor tc_mel_weights_at(tc_site at, tc_graph *g, tc_dtype dtype, int bins, int length, double rate, double low,
                            double high);

#endif
