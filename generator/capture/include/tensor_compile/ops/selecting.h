/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements whose number is data: as many as there may be, and how many there are. What all of them share is said in
 * ../ops.h.
 */
#ifndef TENSOR_COMPILE_OPS_SELECTING_H
#define TENSOR_COMPILE_OPS_SELECTING_H

#include "../model.h"

/* tc_count_nonzero(x)
 * How many elements are not 0 (are true).
 * Dtypes: all of them; the result is i64.
 * Shape: rank 0.
 * ATen: count_nonzero.
 * ONNX: NonZero, its second size (the first: tc_transpose of tc_nonzero_static). */
#define tc_count_nonzero(x) tc_count_nonzero_at(TC_HERE, x)
tc_tensor tc_count_nonzero_at(tc_site at, tc_tensor x);

/* tc_compress(x, mask, axis, size, fill)
 * The first `size` slices of x along the axis where mask[n] is true, in their order; behind the last one, slices of the
 * operand fill. How many there are: tc_count_nonzero(mask). size is at most n, and n at most the axis's size. Of all
 * elements: of tc_reshape(x, -1).
 * Dtypes: all of them; a bool mask.
 * Shape: that of x with size along the axis.
 * ATen: masked_select, of which the first are taken.
 * ONNX: Compress. */
#define tc_compress(x, mask, axis, size, fill) tc_compress_at(TC_HERE, x, mask, axis, TC_DIM(size), TC_OPERAND(fill))
tc_tensor tc_compress_at(tc_site at, tc_tensor x, tc_tensor mask, int axis, tc_dim size, tc_operand fill);

/* tc_unique(x, .unsorted = true, .first = &f, .inverse = &i, .counts = &c, .count = &n)
 * tc_unique(x, .along = true, .axis = 1, TC_SIZES(16))
 *
 * Each different element of x once, ascending, or with .unsorted in the order in which they come first; with .along
 * each different slice along the axis, in lexicographic order. The first `size` of them (TC_SIZES; as many as there are
 * elements or slices if left out), then zeros. Into C variables: *first, the place of the first one of each (among all
 * elements in row-major order); *inverse, of each element of x (slice) the number of its equal; *counts, how often it
 * is there; *count, how many different ones there are, also beyond size. -0 equals +0, and a NaN any NaN (in slices a
 * NaN is unlike any).
 * Dtypes: all of them; i64 for the others.
 * Shape: [size], with .along x's with size along the axis; [size] for first and counts, [all elements (slices)] for
 * inverse, rank 0 for count.
 * Numerics: first and counts behind the last one are 0.
 * ATen: unique, unique_dim, with the number given.
 * ONNX: Unique. */
#define tc_unique(...) tc_unique_at(&(const tc_unique_args){__VA_ARGS__, .at = TC_HERE})
typedef struct tc_unique_args {
    tc_tensor x;
    bool along, unsorted;
    int axis, size_count;
    const tc_dim *size; /* NULL: all */
    tc_tensor *first, *inverse, *counts, *count; /* NULL: not wanted */
    tc_site at;
} tc_unique_args;
tc_tensor tc_unique_at(const tc_unique_args *args);

#endif
