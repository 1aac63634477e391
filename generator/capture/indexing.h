/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear indices of several axes: what gathers and scatters at indices of one axis and of many share.
 */
#ifndef TC_CAPTURE_INDEXING_H
#define TC_CAPTURE_INDEXING_H

#include "internal.h"

/* Reported where it is neither i32 nor i64. */
bool tc_index_check(tc_graph *g, tc_tensor index);
/* Joins `count` axes of x from `first` on. */
tc_tensor tc_index_joined(tc_graph *g, tc_tensor x, int first, int count);
/* Adds the place in an axis of `size` to a linear index: linear*size + place. NULL stands for 0. */
tc_tensor tc_index_further(tc_graph *g, tc_site at, tc_tensor linear, const tc_expr *size, tc_tensor place);
/* 0 <= place < size. */
tc_tensor tc_index_within(tc_graph *g, tc_site at, tc_tensor place, const tc_expr *size);

#endif
