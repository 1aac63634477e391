/* SPDX-License-Identifier: Apache-2.0
 *
 * Views made of the ones in views.h, any dtype. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_SHAPES_H
#define TENSOR_COMPILE_OPS_SHAPES_H

#include "../model.h"

/* tc_squeeze_axes(x, axis...): removes axes of size 1. tc_flatten_range(x, first, last): joins the axes first..last.
 * tc_unflatten(x, axis, dim...): splits one axis, one size may be -1. tc_movedim(x, from, to): moves one axis, the others
 * keep their order. tc_swapaxes(x, a, b): tc_transpose. tc_expand_as(x, like), tc_reshape_as(x, like): to the shape of
 * another tensor.
 * Dtypes: all of them.
 * Shape: as said of each.
 * ATen: squeeze, flatten, unflatten, movedim, moveaxis, swapaxes, swapdims, expand_as, view_as, reshape_as. */
#define tc_squeeze_axes(x, ...) tc_squeeze_axes_at(TC_HERE, x, TC_INT_LIST(__VA_ARGS__))
#define tc_flatten_range(x, first, last) tc_flatten_range_at(TC_HERE, x, first, last)
#define tc_unflatten(x, axis, ...) tc_unflatten_at(TC_HERE, x, axis, TC_DIM_LIST(__VA_ARGS__))
#define tc_movedim(x, from, to) tc_movedim_at(TC_HERE, x, from, to)
#define tc_swapaxes(x, a, b) tc_transpose_at(TC_HERE, x, a, b)
#define tc_expand_as(x, like) tc_expand_as_at(TC_HERE, x, like)
#define tc_reshape_as(x, like) tc_reshape_as_at(TC_HERE, x, like)
tc_tensor tc_squeeze_axes_at(tc_site at, tc_tensor x, int count, const int *axes);
tc_tensor tc_flatten_range_at(tc_site at, tc_tensor x, int first, int last);
tc_tensor tc_unflatten_at(tc_site at, tc_tensor x, int axis, int count, const tc_dim *sizes);
tc_tensor tc_movedim_at(tc_site at, tc_tensor x, int from, int to);
tc_tensor tc_expand_as_at(tc_site at, tc_tensor x, tc_tensor like);
tc_tensor tc_reshape_as_at(tc_site at, tc_tensor x, tc_tensor like);

/* tc_narrow(x, axis, start, length): the slice start..start + length. tc_chunk(x, axis, count, parts): slices of
 * ceil(size / count) elements, the last one shorter, into parts[0..]; their number, which may be below count.
 * tc_split_every(x, axis, size, most, parts): slices of `size`, at most `most` of them.
 * Dtypes: all of them.
 * Shape: chunk and split_every need a constant axis (tc_split and tc_split_sizes do not).
 * ATen: narrow, chunk, split with one size. */
#define tc_narrow(x, axis, start, length) tc_narrow_at(TC_HERE, x, axis, TC_DIM(start), TC_DIM(length))
#define tc_chunk(x, axis, count, parts) tc_chunk_at(TC_HERE, x, axis, count, parts)
#define tc_split_every(x, axis, size, most, parts) tc_split_every_at(TC_HERE, x, axis, size, most, parts)
tc_tensor tc_narrow_at(tc_site at, tc_tensor x, int axis, tc_dim start, tc_dim length);
int tc_chunk_at(tc_site at, tc_tensor x, int axis, int count, tc_tensor *parts);
int tc_split_every_at(tc_site at, tc_tensor x, int axis, int64_t size, int most, tc_tensor *parts);

/* tc_sliding(x, axis, size, step): windows of `size` elements, one every `step`, as a new last axis; the axis counts them.
 * Dtypes: all of them.
 * Shape: x with the number of windows along the axis, and a last axis of `size`.
 * ATen: unfold (of a tensor). */
#define tc_sliding(x, axis, size, step) tc_sliding_at(TC_HERE, x, axis, size, step)
tc_tensor tc_sliding_at(tc_site at, tc_tensor x, int axis, int size, int step);

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
