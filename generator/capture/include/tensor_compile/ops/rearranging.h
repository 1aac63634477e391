/* SPDX-License-Identifier: Apache-2.0
 *
 * The same elements in other places, or several times; any dtype. What all of them share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_REARRANGING_H
#define TENSOR_COMPILE_OPS_REARRANGING_H

#include "../model.h"

/* tc_flip(x, axis...)
 * x backwards along the axes. A view.
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: flip. */
#define tc_flip(x, ...) tc_flip_at(TC_HERE, x, TC_INT_LIST(__VA_ARGS__))
tc_tensor tc_flip_at(tc_site at, tc_tensor x, int count, const int *axes);

/* tc_roll(x, shift, axis)
 * out[(i + shift) mod n] = x[i] along the axis; shift is a C integer.
 * Dtypes: all of them.
 * Shape: that of x.
 * Errors: |shift| beyond the axis's size; a guard where that is dynamic.
 * ATen: roll. */
#define tc_roll(x, shift, axis) tc_roll_at(TC_HERE, x, shift, axis)
tc_tensor tc_roll_at(tc_site at, tc_tensor x, int shift, int axis);

/* tc_repeat(x, times, axis), tc_repeat_interleave(x, times, axis)
 * x `times` times behind itself along the axis; each of its elements `times` times in a row. times is a size.
 * Dtypes: all of them.
 * Shape: that of x with size * times along the axis.
 * ATen: repeat, tile, repeat_interleave (an integer).
 * ONNX: Tile. */
#define tc_repeat(x, times, axis) tc_repeat_at(TC_HERE, x, TC_DIM(times), axis, false)
#define tc_repeat_interleave(x, times, axis) tc_repeat_at(TC_HERE, x, TC_DIM(times), axis, true)
tc_tensor tc_repeat_at(tc_site at, tc_tensor x, tc_dim times, int axis, bool interleave);

/* tc_diagonal(x, offset), tc_diag(x, offset)
 * The elements [i, i + offset] of the last two axes; the square matrix that has x[..., n] there, else 0.
 * Dtypes: all of them.
 * Shape: [..., n, m] to [..., min(n, m) - |offset|], where the sizes or their order are known; [..., n] to
 * [..., n + |offset|, n + |offset|].
 * ATen: diagonal (dim1=-2, dim2=-1), diag_embed. */
#define tc_diagonal(x, offset) tc_diagonal_at(TC_HERE, x, offset)
#define tc_diag(x, offset) tc_diag_at(TC_HERE, x, offset)
tc_tensor tc_diagonal_at(tc_site at, tc_tensor x, int offset);
tc_tensor tc_diag_at(tc_site at, tc_tensor x, int offset);

/* tc_tril(x, diagonal), tc_triu(x, diagonal)
 * x where column <= row + diagonal in the last two axes, else 0 (tril); where column >= row + diagonal (triu). Any
 * dtype.
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: tril, triu. */
#define tc_tril(x, diagonal) tc_tril_at(TC_HERE, x, diagonal)
#define tc_triu(x, diagonal) tc_triu_at(TC_HERE, x, diagonal)
tc_tensor tc_tril_at(tc_site at, tc_tensor x, int diagonal);
tc_tensor tc_triu_at(tc_site at, tc_tensor x, int diagonal);

/* tc_pixel_shuffle(x, r): x[..., c*r*r, h, w] -> [..., c, h*r, w*r]; tc_pixel_unshuffle(x, r): back.
 * tc_channel_shuffle(x, groups): x[n, groups*c, ...], channel g*c + i goes to i*groups + g.
 * Dtypes: all of them.
 * Shape: as said of each.
 * ATen: pixel_shuffle, pixel_unshuffle, channel_shuffle.
 * ONNX: DepthToSpace (mode CRD). */
#define tc_pixel_shuffle(x, factor) tc_pixel_shuffle_at(TC_HERE, x, factor)
#define tc_pixel_unshuffle(x, factor) tc_pixel_unshuffle_at(TC_HERE, x, factor)
#define tc_channel_shuffle(x, groups) tc_channel_shuffle_at(TC_HERE, x, groups)
tc_tensor tc_pixel_shuffle_at(tc_site at, tc_tensor x, int factor);
tc_tensor tc_pixel_unshuffle_at(tc_site at, tc_tensor x, int factor);
tc_tensor tc_channel_shuffle_at(tc_site at, tc_tensor x, int groups);

#endif
