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
 * Errors: |shift| beyond a dynamic size is a guard; of a constant one it is taken modulo.
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

/* tc_tile(x, times...)
 * x repeated along every axis, times[i] times along axis i. With fewer numbers than axes they are the last ones'; with
 * more, x gets axes of size 1 in front.
 * Dtypes: all of them.
 * Shape: that of x, each size times its number.
 * ATen: tile, repeat.
 * ONNX: Tile. */
#define tc_tile(x, ...) tc_tile_at(TC_HERE, x, TC_DIM_LIST(__VA_ARGS__))
tc_tensor tc_tile_at(tc_site at, tc_tensor x, int count, const tc_dim *times);

/* tc_rot90(x, turns, a, b)
 * x turned in the plane of the axes a and b, from a towards b, by `turns` right angles; negative ones turn back.
 * Dtypes: all of them.
 * Shape: that of x, with both sizes exchanged for an odd number.
 * ATen: rot90. */
#define tc_rot90(x, turns, a, b) tc_rot90_at(TC_HERE, x, turns, a, b)
tc_tensor tc_rot90_at(tc_site at, tc_tensor x, int turns, int a, int b);

/* tc_reverse_sequence(x, lengths, time_axis, batch_axis)
 * Of each sequence of the batch axis the first lengths[b] steps of the time axis backwards, the others as they are.
 * Dtypes: all of them; lengths i32 or i64.
 * Shape: that of x; lengths one for each of the batch axis.
 * Errors: a length above the number of steps is a status.
 * ATen: none.
 * ONNX: ReverseSequence. */
#define tc_reverse_sequence(x, lengths, time_axis, batch_axis)                                                        \
    tc_reverse_sequence_at(TC_HERE, x, lengths, time_axis, batch_axis)
tc_tensor tc_reverse_sequence_at(tc_site at, tc_tensor x, tc_tensor lengths, int time_axis, int batch_axis);

/* tc_kron(a, b)
 * The Kronecker product: out[i*p + k, j*q + l] = a[i, j] * b[k, l] for b[p, q], and so for up to four axes.
 * Dtypes: numbers, both the same.
 * Shape: the sizes multiplied, axis by axis from the last.
 * ATen: kron. */
#define tc_kron(a, b) tc_kron_at(TC_HERE, a, b)
tc_tensor tc_kron_at(tc_site at, tc_tensor a, tc_tensor b);

/* tc_block_diag(x...)
 * The matrices one behind the other along the diagonal of one, else 0.
 * Dtypes: all of them, one for all.
 * Shape: the sums of rows and of columns.
 * ATen: block_diag. */
#define tc_block_diag(...) tc_block_diag_at(TC_HERE, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_block_diag_at(tc_site at, int count, const tc_tensor *blocks);

/* tc_diagonal(x, offset), tc_diag(x, offset), tc_diagonal_scatter(x, y, offset)
 * The elements [i, i + offset] of the last two axes; the square matrix that has x[..., n] there, else 0; x with y
 * there. Of other axes: tc_movedim them first.
 * Dtypes: all of them.
 * Shape: [..., n, m] to [..., min(n, m) - |offset|], where the sizes or their order are known; [..., n] to
 * [..., n + |offset|, n + |offset|]; that of x.
 * ATen: diagonal (dim1=-2, dim2=-1), diag_embed, diagonal_scatter (dim1=-2, dim2=-1). */
#define tc_diagonal(x, offset) tc_diagonal_at(TC_HERE, x, offset)
#define tc_diag(x, offset) tc_diag_at(TC_HERE, x, offset)
tc_tensor tc_diagonal_at(tc_site at, tc_tensor x, int offset);
#define tc_diagonal_scatter(x, y, offset) tc_diagonal_scatter_at(TC_HERE, x, y, offset)
tc_tensor tc_diag_at(tc_site at, tc_tensor x, int offset);
tc_tensor tc_diagonal_scatter_at(tc_site at, tc_tensor x, tc_tensor y, int offset);

/* tc_trace(x)
 * The sum of the diagonal of the last two axes.
 * Dtypes: numbers.
 * Shape: that of x without both axes.
 * Numerics: as tc_sum.
 * ATen: trace. */
#define tc_trace(x) tc_trace_at(TC_HERE, x)
tc_tensor tc_trace_at(tc_site at, tc_tensor x);

/* tc_tril(x, diagonal), tc_triu(x, diagonal)
 * x where column <= row + diagonal in the last two axes, else 0 (tril); where column >= row + diagonal (triu). Any
 * dtype.
 * Dtypes: all of them.
 * Shape: that of x.
 * ATen: tril, triu.
 * ONNX: Trilu with upper=0, Trilu with upper=1. */
#define tc_tril(x, diagonal) tc_tril_at(TC_HERE, x, diagonal)
#define tc_triu(x, diagonal) tc_triu_at(TC_HERE, x, diagonal)
tc_tensor tc_tril_at(tc_site at, tc_tensor x, int diagonal);
tc_tensor tc_triu_at(tc_site at, tc_tensor x, int diagonal);

/* tc_pixel_shuffle(x, r): x[..., c*r*r, h, w] -> [..., c, h*r, w*r]; tc_pixel_unshuffle(x, r): back.
 * tc_depth_to_space(x, r), tc_space_to_depth(x, r): the same with channels r*r*c. tc_channel_shuffle(x, groups):
 * x[n, groups*c, ...], channel g*c + i goes to i*groups + g.
 * Dtypes: all of them.
 * Shape: as said of each.
 * ATen: pixel_shuffle, pixel_unshuffle, channel_shuffle.
 * ONNX: DepthToSpace, SpaceToDepth. */
#define tc_pixel_shuffle(x, factor) tc_pixel_shuffle_at(TC_HERE, x, factor)
#define tc_pixel_unshuffle(x, factor) tc_pixel_unshuffle_at(TC_HERE, x, factor)
#define tc_depth_to_space(x, factor) tc_depth_to_space_at(TC_HERE, x, factor)
#define tc_space_to_depth(x, factor) tc_space_to_depth_at(TC_HERE, x, factor)
#define tc_channel_shuffle(x, groups) tc_channel_shuffle_at(TC_HERE, x, groups)
tc_tensor tc_pixel_shuffle_at(tc_site at, tc_tensor x, int factor);
tc_tensor tc_pixel_unshuffle_at(tc_site at, tc_tensor x, int factor);
tc_tensor tc_depth_to_space_at(tc_site at, tc_tensor x, int factor);
tc_tensor tc_space_to_depth_at(tc_site at, tc_tensor x, int factor);
tc_tensor tc_channel_shuffle_at(tc_site at, tc_tensor x, int groups);

#endif
