/* SPDX-License-Identifier: Apache-2.0
 *
 * The front end: 30 ms of sound to what the network was trained with, ten coefficients of a mel spectrum as 8-bit
 * integers. Matrices of constants are computed when the model is built.
 */
#include <tensor_compile/model.h>

enum { FRAME = 480, TRANSFORM = 512, BINS = TRANSFORM / 2 + 1, BANDS = 40, COEFFICIENTS = 10, RATE = 16000 };

/* Hertz as mel. */
static tc_tensor mel(tc_tensor hertz)
{
    return tc_mul(tc_log1p(tc_div(hertz, 700)), 1127);
}

/* Triangles of 40 bands from 20 to 4000 Hz, evenly spaced in mel: [bins, bands]. No band takes the bin of 0 Hz. */
static tc_tensor bands(tc_graph *g)
{
    tc_tensor ends = mel(tc_cast(tc_arange_step(g, TC_I64, 20, 4001, 3980), TC_F64));
    tc_tensor low = tc_slice(ends, 0, 0, 1), step = tc_div(tc_sub(tc_slice(ends, 0, 1, 2), low), BANDS + 1);
    tc_tensor edges = tc_add(low, tc_mul(tc_cast(tc_arange(g, TC_I64, BANDS + 2), TC_F64), step));
    tc_tensor left = tc_slice(edges, 0, 0, BANDS), middle = tc_slice(edges, 0, 1, BANDS + 1);
    tc_tensor right = tc_slice(edges, 0, 2, BANDS + 2);
    tc_tensor bin = tc_reshape(tc_arange(g, TC_I64, BINS), BINS, 1);
    tc_tensor place = mel(tc_mul(tc_cast(bin, TC_F64), (double)RATE / TRANSFORM));
    tc_tensor rising = tc_div(tc_sub(place, left), tc_sub(middle, left));
    tc_tensor falling = tc_div(tc_sub(right, place), tc_sub(right, middle));
    tc_tensor weight = tc_maximum(tc_minimum(rising, falling), 0);
    return tc_cast(tc_where(tc_gt(bin, 0), weight, 0), TC_F32);
}

/* The first ten columns of a cosine transform of 40 values, scaled as in TensorFlow: [bands, coefficients]. */
static tc_tensor cosines(tc_graph *g)
{
    tc_tensor n = tc_reshape(tc_add(tc_cast(tc_arange(g, TC_I64, BANDS), TC_F64), 0.5), BANDS, 1);
    tc_tensor k = tc_cast(tc_arange(g, TC_I64, COEFFICIENTS), TC_F64);
    tc_tensor turns = tc_mul(tc_mul(n, k), 3.14159265358979323846 / BANDS);
    return tc_cast(tc_mul(tc_cos(turns), 0.22360679774997896), TC_F32); /* 2 / sqrt(2 * 40) */
}

TC_MODEL(mfcc)
{
    tc_tensor samples = tc_input(g, "samples", TC_I16, FRAME);
    tc_tensor gain = tc_input(g, "gain", TC_F32); /* 1 / the loudest sample of the second */

    tc_tensor x = tc_mul(tc_mul(tc_cast(samples, TC_F32), gain), tc_hann_window(g, TC_F32, FRAME, true));
    tc_tensor spectrum = tc_dft(tc_reshape(x, 1, FRAME, 1), .axis = 1, TC_SIZES(TRANSFORM), .onesided = true);
    tc_tensor power = tc_sum(tc_mul(spectrum, spectrum), -1);
    tc_tensor energy = tc_log(tc_add(tc_matmul(tc_sqrt(power), bands(g)), 1e-6));
    tc_tensor coefficients = tc_reshape(tc_matmul(energy, cosines(g)), COEFFICIENTS);
    /* the scale and zero of the network's input */
    tc_output(g, "coefficients", tc_quantize(coefficients, tc_full(g, 0.584702909, TC_F32), tc_full(g, 83, TC_I8),
                                             .halves_away = true));
}
