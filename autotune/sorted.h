/* SPDX-License-Identifier: Apache-2.0
 *
 * Times in ascending order.
 */
#ifndef TC_AUTOTUNE_SORTED_H
#define TC_AUTOTUNE_SORTED_H

/* Puts `value` into `count` sorted times, behind which there is room for one. */
static inline void tc_sorted_insert(double *sorted, int count, double value)
{
    for (; count > 0 && sorted[count - 1] > value; --count)
        sorted[count] = sorted[count - 1];
    sorted[count] = value;
}

#endif
