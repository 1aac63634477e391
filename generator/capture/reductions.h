/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of axes, and the reductions over them that other operations are made of. x is no poison; nothing here narrows
 * or widens: the result has x's dtype.
 */
#ifndef TC_CAPTURE_REDUCTIONS_H
#define TC_CAPTURE_REDUCTIONS_H

#include "internal.h"

/* Axes of a tensor, ascending. */
typedef struct tc_axes {
    int count, list[TC_MAX_RANK];
} tc_axes;

/* The user's list counted from the front, in its order; reported and false where one is wrong or named twice. */
bool tc_axes_in_order(tc_graph *g, int rank, int count, const int *list, int *out);
/* Of the user's list, none meaning all; reported as above. */
bool tc_axes_read(tc_graph *g, int rank, int count, const int *list, tc_axes *out);
/* Puts size 1 where the axes of `like` were reduced. */
tc_tensor tc_axes_keep(tc_graph *g, tc_tensor reduced, const tc_type *like, const tc_axes *a);
/* Repeats a reduced tensor along the axes of `like` that it lost. */
tc_tensor tc_axes_spread(tc_graph *g, tc_tensor reduced, const tc_type *like, const tc_axes *a);

/* The predicate `where` with x's shape; reported and NULL where it is no bool, or does not broadcast to x. */
tc_tensor tc_predicate_of(tc_graph *g, tc_tensor x, tc_tensor where);

/* The softmax of the last axis of floats of f32 or f64, where a row that is -inf throughout becomes zeros, not NaN. */
tc_tensor tc_softmax_or_zeros(tc_site at, tc_tensor x);

/* x divided by a size, by its value at run time where it is dynamic. */
tc_tensor tc_divide_by_size(tc_graph *g, tc_site at, tc_tensor x, const tc_expr *size);
/* The sum over the axes divided by their count less `correction`, at least 0; the axes vanish. */
tc_tensor tc_mean_of(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, int correction);
/* That mean of (x - mean)^2; the mean in *mean and x - mean in *centered (NULL: not wanted). */
tc_tensor tc_variance_of(tc_graph *g, tc_site at, tc_tensor x, const tc_axes *a, int correction, tc_tensor *mean,
                         tc_tensor *centered);
/* (sum of |x|^p)^(1/p) as tc_norm has it; reports a p that is NaN. */
tc_tensor tc_norm_of(tc_graph *g, tc_site at, tc_tensor x, double p, const tc_axes *a);
/* x, 0 where it is infinite or NaN: a maximum that may be subtracted. */
tc_tensor tc_or_zero(tc_site at, tc_tensor x);

#endif
