/* SPDX-License-Identifier: Apache-2.0
 *
 * Resampling images. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_RESAMPLING_H
#define TENSOR_COMPILE_OPS_RESAMPLING_H

#include "../model.h"

/* tc_interpolate(x, .mode = TC_LINEAR, TC_SIZES(h, w), .align_corners = true)
 * tc_interpolate(x, .mode = TC_NEAREST, .scale = {2, 2})
 *
 * x[n, c, ...] with one to three axes behind the channels, to the given sizes (dims), or to floor(size * scale). Place
 * i of an axis is taken at the coordinate c: i * ratio (TC_NEAREST) or (i + 0.5) * ratio (TC_NEAREST_EXACT), rounded
 * down; (i + 0.5) * ratio - 0.5 (TC_LINEAR, TC_CUBIC), or i * ratio with align_corners. ratio is 1 / scale, or in /
 * out, with align_corners (in - 1) / (out - 1). Linear: x[f]*(1 - (c - f)) + x[f + 1]*(c - f), f = floor(c), c at
 * least 0; cubic: four elements by the kernel with a = -0.75. What lies outside is the border element. An axis that
 * keeps its size is left as it is.
 * Dtypes: nearest any, the others f32.
 * Shape: a dynamic size takes a scale that is a fraction with a denominator of at most 64.
 * Numerics: coordinates and weights in f32; the last axis first; the sum of the terms ascending.
 * ATen: upsample_nearest1d, upsample_nearest2d, upsample_nearest3d, _upsample_nearest_exact, upsample_linear1d,
 * upsample_bilinear2d, upsample_trilinear3d, upsample_bicubic2d (interpolate without antialias).
 * ONNX: Resize (half_pixel, asymmetric with floor, align_corners). */
typedef enum tc_interpolation { TC_NEAREST, TC_NEAREST_EXACT, TC_LINEAR, TC_CUBIC } tc_interpolation;
#define TC_SIZES(...) .size_count = TC_COUNT(__VA_ARGS__), .size = (const tc_dim[]){TC_DIMS(__VA_ARGS__)}
#define tc_interpolate(...) tc_interpolate_at(&(const tc_interpolate_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_interpolate_args {
    tc_tensor x;
    tc_interpolation mode;
    int size_count;
    const tc_dim *size; /* NULL: by scale */
    double scale[3];
    bool align_corners;
    tc_site at;
} tc_interpolate_args;
tc_tensor tc_interpolate_at(const tc_interpolate_args *args);

/* tc_grid_sample(x, grid, .padding = TC_GRID_BORDER, .nearest = true, .align_corners = true)
 *
 * x[n, c, h, w], grid[n, h', w', 2] -> [n, c, h', w']: x at (grid[..., 0], grid[..., 1]) = (column, row), -1 to 1 from
 * one end of the image to the other: of its outer pixels' edges, or with align_corners of their centres. Between pixels
 * bilinear, or the nearest one (ties to even). Outside of the image: zeros, the border pixel, or the mirror image.
 * Dtypes: f32.
 * Shape: [n, c, h', w'].
 * Numerics: the four corners' products are added in row-major order; a pixel outside is not multiplied.
 * ATen: grid_sampler_2d (bilinear and nearest).
 * ONNX: GridSample. */
typedef enum tc_grid_padding { TC_GRID_ZEROS, TC_GRID_BORDER, TC_GRID_REFLECTION } tc_grid_padding;
#define tc_grid_sample(...) tc_grid_sample_at(&(const tc_grid_sample_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_grid_sample_args {
    tc_tensor x, grid;
    tc_grid_padding padding;
    bool nearest, align_corners;
    tc_site at;
} tc_grid_sample_args;
tc_tensor tc_grid_sample_at(const tc_grid_sample_args *args);

#endif
