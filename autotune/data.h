/* SPDX-License-Identifier: Apache-2.0
 *
 * Values for checking, and the comparison of docs/numerics.md.
 */
#ifndef TC_AUTOTUNE_DATA_H
#define TC_AUTOTUNE_DATA_H

#include "case.h"

/* TC_FILL_PLAIN: values of about 1 of both signs. TC_FILL_WIDE: exponents of all sizes, denormals and -0.
 * TC_FILL_EXTREME: also NaN and infinities where the parameter is not finite. */
typedef enum { TC_FILL_PLAIN, TC_FILL_WIDE, TC_FILL_EXTREME, TC_FILL_COUNT } tc_fill;

extern const char *const tc_fill_names[TC_FILL_COUNT];

size_t tc_data_size(tc_data_type type);

/* The same seed gives the same values everywhere. */
void tc_data_fill(void *values, const tc_param *param, tc_fill fill, uint64_t seed);

/* Number of the first element that differs (same bits, or both NaN, is equal); -1 where none does. */
tc_index tc_data_differ(const void *got, const void *want, const tc_param *param);

#endif
