/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of windows along the last axes of a tensor: what convolutions, pooling and unfolding share.
 */
#ifndef TC_CAPTURE_WINDOWS_H
#define TC_CAPTURE_WINDOWS_H

#include "internal.h"

enum { TC_MAX_WINDOW = 3 }; /* windowed axes */

/* Of each windowed axis. `low` and `high` are the elements of padding before and after it. */
typedef struct tc_windows {
    int dims;
    int size[TC_MAX_WINDOW], stride[TC_MAX_WINDOW], low[TC_MAX_WINDOW], high[TC_MAX_WINDOW], dilation[TC_MAX_WINDOW];
} tc_windows;

/* What a call gives, `dims` numbers each: 0 where left out, NULL where the call has no such option. */
typedef struct tc_window_options {
    const int *stride, *padding, *low, *high, *dilation;
} tc_window_options;

/* Fills in all but `size`, which holds `dims` sizes already and is the stride's default where `stride_is_size`.
 * Reports what is no window. */
bool tc_windows_read(tc_graph *g, const tc_window_options *options, bool stride_is_size, tc_windows *out);

/* What `values` stand for, one of each axis: where a call gave one number without braces (detail.h), it is every
 * axis'. */
const int *tc_windows_each(tc_graph *g, int dims, const int *values);

/* out[i] is values[i] or, where none is given, its default; all or none, and positive: reported. */
bool tc_windows_positive(tc_graph *g, const char *name, int dims, const int *values, const int *defaults, int *out);
/* Reported where one is negative. */
bool tc_windows_not_negative(tc_graph *g, const char *name, int dims, const int *values);

/* Elements of padding as an int: reported where they are too many. */
bool tc_windows_padding(tc_graph *g, int64_t elements, int *out);

/* The elements from a window's first to its last along axis i. */
int64_t tc_windows_extent(const tc_windows *w, int i);
/* Padding of axis i, before and behind, that makes ceil(size / stride) windows of an axis of `size`; where it is odd
 * there is one more behind, or before for TC_SAME_LOWER. Reported where a dynamic size has windows shorter than the
 * stride. */
bool tc_windows_pad_same(tc_graph *g, const tc_windows *w, int i, const tc_expr *size, tc_same same,
                         const tc_expr **low, const tc_expr **high);
/* Reported where there is padding beside .same. */
bool tc_windows_check_same(tc_graph *g, const tc_windows *w);
/* The positions of a window along axis i of an axis of `size`, which it fits into at least once: reported, NULL. */
const tc_expr *tc_windows_count(tc_graph *g, const tc_windows *w, int i, const tc_expr *size);
/* "{2, 3}" */
const char *tc_windows_text(tc_graph *g, int count, const int *values);
extern const int tc_windows_ones[TC_MAX_WINDOW];

/* Reported where x has not the rank `dims` + 2. */
bool tc_windows_check_rank(tc_graph *g, const tc_type *x, int dims);

/* y + bias[o], the bias along axis 1; y itself without one; reported where it does not fit. */
tc_tensor tc_add_channel_bias(tc_graph *g, tc_site at, tc_tensor y, tc_tensor bias);

/* One phase of a transposed convolution, [n, o, ...] of `shape`: x convolved with the weight [o, c/groups, ...] of its
 * taps; without any (NULL) there is nothing to convolve. */
typedef struct tc_phase {
    tc_tensor x, weight;
    int groups;
    const int *low, *high, *dilation;
    const tc_expr *shape[TC_MAX_RANK];
} tc_phase;
typedef tc_tensor tc_phase_function(tc_graph *g, const tc_phase *phase, const void *context);

/* The transposed convolution without a bias, whose phases the function computes. */
tc_tensor tc_conv_transpose_by(tc_graph *g, const tc_conv_transpose2d_args *args, tc_phase_function *by,
                               const void *context);

/* `count` elements along the axis: first, first + step, ... ; step may be negative, or 0: one element repeated. */
tc_tensor tc_take_every(tc_graph *g, tc_site at, tc_tensor x, int axis, int count, const tc_expr *first, int step);

/* tap*dilation + window*stride, i64[size, count]: where the elements of windows are. Lowering sees through
 * it, so a gather at it costs what a slice does. */
tc_tensor tc_index_windows(tc_graph *g, tc_site at, int size, int dilation, const tc_expr *count, int stride);

#endif
