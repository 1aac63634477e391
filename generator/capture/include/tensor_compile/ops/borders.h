/* SPDX-License-Identifier: Apache-2.0
 *
 * Padding by elements of the tensor. What all operations share is said in ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_BORDERS_H
#define TENSOR_COMPILE_OPS_BORDERS_H

#include "../model.h"
#include "parts.h"

/* tc_pad_reflect(x, .low = {0, 0, 1, 1}, .high = {0, 0, 1, 1})
 * tc_pad_replicate(x, .low, .high), tc_pad_circular(x, .low, .high)
 *
 * Axis i gets low[i] elements before and high[i] behind: the mirror image without the border element itself, the border
 * element again, or the elements of the other end. Any dtype, any number of axes.
 * Dtypes: all of them.
 * Shape: that of x with low + high added along each axis.
 * Errors: more than size - 1 (reflect) or size (circular) elements; where the size is dynamic, a guard.
 * ATen: reflection_pad1d, reflection_pad2d, reflection_pad3d, replication_pad1d, replication_pad2d, replication_pad3d,
 * pad with mode='circular' (which count axes from the end).
 * ONNX: Pad (mode reflect, edge, wrap). */
#define tc_pad_reflect(...) tc_pad_reflect_at(&(const tc_pad_args){__VA_ARGS__, .at = TC_HERE})
#define tc_pad_replicate(...) tc_pad_replicate_at(&(const tc_pad_args){__VA_ARGS__, .at = TC_HERE})
#define tc_pad_circular(...) tc_pad_circular_at(&(const tc_pad_args){__VA_ARGS__, .at = TC_HERE})
tc_tensor tc_pad_reflect_at(const tc_pad_args *args);
tc_tensor tc_pad_replicate_at(const tc_pad_args *args);
tc_tensor tc_pad_circular_at(const tc_pad_args *args);

/* tc_center_crop_pad(x, axis, size)
 * The middle of the axis, of the given size: floor((n - size) / 2) elements are left out before it, or where it is
 * larger floor((size - n) / 2) zeros are put there.
 * Dtypes: all of them.
 * Shape: that of x with the size along the axis.
 * ATen: none.
 * ONNX: CenterCropPad, one axis after the other. */
#define tc_center_crop_pad(x, axis, size) tc_center_crop_pad_at(TC_HERE, x, axis, TC_DIM(size))
tc_tensor tc_center_crop_pad_at(tc_site at, tc_tensor x, int axis, tc_dim size);

#endif
