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
 * ONNX: none, see tc_resize. */
typedef enum tc_interpolation { TC_NEAREST, TC_NEAREST_EXACT, TC_LINEAR, TC_CUBIC, TC_AREA } tc_interpolation;
#define TC_SIZES(...) .size_count = TC_COUNT(__VA_ARGS__), .size = (const tc_dim[]){TC_DIMS(__VA_ARGS__)}
#define tc_interpolate(...)                                                                                           \
    tc_interpolate_at(&(const tc_interpolate_args){.scale = {0, TC_EACH_REAL_, TC_EACH_REAL_}, .x = __VA_ARGS__,        \
                                                   .at = TC_HERE})
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

/* tc_resize(x, .mode = TC_LINEAR, .places = TC_ALIGN_CORNERS, TC_RESIZE_AXES(2, 3), TC_SIZES(h, w))
 * tc_resize(x, .mode = TC_NEAREST, .rounding = TC_ROUND_DOWN, .places = TC_ASYMMETRIC, .scale = {1, 1, 2, 2})
 * tc_resize(x, .mode = TC_CUBIC, .a = -0.5, .exclude_outside = true, TC_RESIZE_AXES(2, 3), .scale = {0.8, 0.8})
 * tc_resize(x, .places = TC_CROP, .outside = 10, TC_RESIZE_AXES(2, 3), TC_SIZES(h, w), .start = {0.4, 0.6},
 * .end = {0.6, 0.8})
 *
 * x of any rank along the axes (TC_RESIZE_AXES; all where none is named) to sizes (one for each), or to floor(size *
 * scale). With s the scale, out / in where none is given, place i of an axis is taken at the coordinate c = (i + 0.5) /
 * s - 0.5 (TC_HALF_PIXEL, which is 0), plus in/2 * (1 - out / (in * s)) (TC_HALF_PIXEL_SYMMETRIC), or 0 where in * s is
 * 1 (TC_PYTORCH_HALF_PIXEL); i * (in - 1) / (in * s - 1), 0 where in * s is 1 (TC_ALIGN_CORNERS); i / s
 * (TC_ASYMMETRIC); (i + 0.5) / s (TC_HALF_PIXEL_FOR_NEAREST); start * (in - 1) + i * (end - start) * (in - 1) / (in * s
 * - 1), of one place the middle (start + end) / 2 * (in - 1) (TC_CROP), where the result is the number .outside if c is
 * not within 0..in - 1; .roi, a tensor of all starts and then all ends, instead of the numbers.
 * TC_NEAREST takes the element nearest to c, of two the lower (TC_ROUND_HALF_DOWN, which is 0) or upper one
 * (TC_ROUND_HALF_UP), or that below (TC_ROUND_DOWN) or above (TC_ROUND_UP). TC_LINEAR weighs the elements around c by
 * 1 - d at the distance d, TC_CUBIC four by the kernel with .a, -0.75 if left out. With .antialias the distances are
 * multiplied by min(s, 1), ceil(1 / min(s, 1)) elements (cubic: 2 / min(s, 1)) on either side count, and weights are
 * divided by their sum. An element outside of the axis is the border's; with .exclude_outside its weight is 0, and the
 * others are divided by their sum. Sizes and scales together: s is the scale. An axis of scale 1 that keeps its size is
 * left as it is (but for TC_CROP).
 * Dtypes: nearest any, the others floats; roi a float.
 * Shape: that of x with the sizes; a dynamic size takes a scale that is a fraction with a denominator of at most 64, or
 * an f32 number.
 * Numerics: coordinates and weights in f64, the weights rounded to f32, for f64 not; the last axis first, the sum of
 * the terms ascending, with antialias in order lanes. 16 bits: in f32 throughout, rounded once.
 * Errors: an empty axis; options that the mode has not.
 * ATen: none, see tc_interpolate.
 * ONNX: Resize (keep_aspect_ratio_policy: the sizes and the scale that follow), Upsample. */
typedef enum tc_resize_places {
    TC_HALF_PIXEL,
    TC_HALF_PIXEL_SYMMETRIC,
    TC_PYTORCH_HALF_PIXEL,
    TC_ALIGN_CORNERS,
    TC_ASYMMETRIC,
    TC_HALF_PIXEL_FOR_NEAREST,
    TC_CROP
} tc_resize_places;
typedef enum tc_resize_rounding { TC_ROUND_HALF_DOWN, TC_ROUND_HALF_UP, TC_ROUND_DOWN, TC_ROUND_UP } tc_resize_rounding;
#define TC_RESIZE_AXES(...) .axis_count = TC_COUNT(__VA_ARGS__), .axes = (const int[]){__VA_ARGS__}
#define tc_resize(...) tc_resize_at(&(const tc_resize_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_resize_args {
    tc_tensor x;
    tc_interpolation mode;
    tc_resize_places places;
    tc_resize_rounding rounding;
    int axis_count, size_count;
    const int *axes;    /* NULL: all */
    const tc_dim *size; /* NULL: by scale */
    double scale[TC_MAX_RANK], start[TC_MAX_RANK], end[TC_MAX_RANK];
    tc_tensor roi; /* NULL: start and end */
    double a, outside;
    bool antialias, exclude_outside;
    tc_site at;
} tc_resize_args;
tc_tensor tc_resize_at(const tc_resize_args *args);

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
