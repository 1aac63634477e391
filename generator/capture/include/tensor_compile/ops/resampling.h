/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling images. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_RESAMPLING_H
#define TENSOR_COMPILE_OPS_RESAMPLING_H

#include "../model.h"

/* tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(h, w), .align_corners = true)
 * tc_interpolate(x, .mode = TC_CUBIC, TC_SIZES(h, w), .antialias = true)
 * tc_interpolate(x, .mode = TC_NEAREST, .scale = {2, 2}, .recompute_scale = true)
 *
 * x[n, c, ...] with one to three axes behind the channels, to the given sizes (dims), or to floor(size * scale). Place
 * i of an axis is taken at the coordinate c: i * ratio (TC_NEAREST) or (i + 0.5) * ratio (TC_NEAREST_EXACT), rounded
 * down; (i + 0.5) * ratio - 0.5 (TC_LINEAR, TC_CUBIC), or i * ratio with align_corners. ratio is 1 / scale, or in / out
 * where sizes are given or with recompute_scale, with align_corners (in - 1) / (out - 1). Linear: x[f]*(1 - (c - f)) +
 * x[f + 1]*(c - f), f = floor(c), c at least 0; cubic: four elements by the kernel with a = -0.75. What lies outside is
 * the border element. With antialias all elements within the kernel's reach r count, 1 for linear and 2 for cubic (of a
 * = -0.5), times s = max(ratio, 1): from floor(C - r*s + 0.5) to below floor(C + r*s + 0.5), C = (i + 0.5) * ratio,
 * element j by the kernel at (j + 0.5 - C) / s, divided by the sum of these weights. TC_AREA is the average of an
 * adaptive pooling. An axis that keeps its size is left as it is (plain cubic: if the scale is 1).
 * Dtypes: nearest any, the others floats.
 * Shape: a dynamic size takes a scale that is a fraction with a denominator of at most 64.
 * Numerics: coordinates and weights in f32, for f64 in f64; the last axis first; the sum of the terms ascending, with
 * antialias in order lanes. 16 bits: in f32 throughout, rounded once.
 * ATen: upsample_nearest1d, upsample_nearest2d, upsample_nearest3d, _upsample_nearest_exact, upsample_linear1d,
 * upsample_bilinear2d, upsample_trilinear3d, upsample_bicubic2d, _upsample_bilinear2d_aa, _upsample_bicubic2d_aa,
 * interpolate with mode='area'.
 * ONNX: Resize (half_pixel, asymmetric with floor, align_corners, antialias with half_pixel). */
typedef enum tc_interpolation { TC_NEAREST, TC_NEAREST_EXACT, TC_LINEAR, TC_CUBIC, TC_AREA } tc_interpolation;
#define TC_SIZES(...) .size_count = TC_COUNT(__VA_ARGS__), .size = (const tc_dim[]){TC_DIMS(__VA_ARGS__)}
#define tc_interpolate(...) tc_interpolate_at(&(const tc_interpolate_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_interpolate_args {
    tc_tensor x;
    tc_interpolation mode;
    int size_count;
    const tc_dim *size; /* NULL: by scale */
    double scale[3];
    bool align_corners, antialias, recompute_scale;
    tc_site at;
} tc_interpolate_args;
tc_tensor tc_interpolate_at(const tc_interpolate_args *args);

/* tc_grid_sample(x, grid, .padding = TC_GRID_BORDER, .nearest = true, .align_corners = true)
 * tc_grid_sample(x, grid, .cubic = true)
 *
 * x[n, c, h, w], grid[n, h', w', 2] -> [n, c, h', w']: x at (grid[..., 0], grid[..., 1]) = (column, row), -1 to 1 from
 * one end of the image to the other: of its outer pixels' edges, or with align_corners of their centres. Volumes
 * x[n, c, d, h, w] at grid[n, d', h', w', 3] likewise. Between pixels bilinear, or the nearest one (ties to even), or
 * (images) cubic by the kernel with a = -0.75. Outside of the image: zeros, the border pixel, or the mirror image.
 * Dtypes: floats, one for both.
 * Shape: [n, c, h', w'].
 * Numerics: the corners' products are added in row-major order; of cubic the products of a row, then the rows; a pixel
 * outside is 0 and not multiplied. 16 bits: in f32 throughout, rounded once.
 * ATen: grid_sampler_2d, grid_sampler_3d.
 * ONNX: GridSample. */
typedef enum tc_grid_padding { TC_GRID_ZEROS, TC_GRID_BORDER, TC_GRID_REFLECTION } tc_grid_padding;
#define tc_grid_sample(...) tc_grid_sample_at(&(const tc_grid_sample_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_grid_sample_args {
    tc_tensor x, grid;
    tc_grid_padding padding;
    bool nearest, cubic, align_corners;
    tc_site at;
} tc_grid_sample_args;
tc_tensor tc_grid_sample_at(const tc_grid_sample_args *args);

/* tc_affine_grid(theta, TC_SIZES(h, w), .align_corners = true)
 *
 * The grid for tc_grid_sample of an affine map: theta[n, 2, 3] -> [n, h, w, 2], point (y, x) of the result's image
 * times theta: theta[:, k, 0]*x + theta[:, k, 1]*y + theta[:, k, 2]. x = (2*i - (w - 1)) / w, or with align_corners
 * divided by w - 1 (0 where w is 1), y likewise. theta[n, 3, 4] and TC_SIZES(d, h, w): volumes.
 * Dtypes: floats.
 * Shape: [n, h, w, 2] or [n, d, h, w, 3].
 * Numerics: the terms are added in that order. 16 bits: in f32 throughout, rounded once.
 * ATen: affine_grid_generator.
 * ONNX: AffineGrid. */
#define tc_affine_grid(...) tc_affine_grid_at(&(const tc_affine_grid_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_affine_grid_args {
    tc_tensor theta;
    int size_count;
    const tc_dim *size;
    bool align_corners;
    tc_site at;
} tc_affine_grid_args;
tc_tensor tc_affine_grid_at(const tc_affine_grid_args *args);

#endif
