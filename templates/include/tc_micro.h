/* SPDX-License-Identifier: Apache-2.0
 *
 * How a contraction calls the micro-kernels that all contractions share (emit/micro.py makes them).
 *
 * A micro-kernel adds the products of `taps` x `terms` terms, in ascending order, to a tile of accumulators. Row r of
 * tap t begins at rows[t * rows_step + r] + a_tap[t], its terms are a_step apart; the columns of tap t begin at
 * b + b_tap[t], 16 of them side by side, b_piece from one 16 to the next, b_step from a term to the next one.
 */
#ifndef TC_MICRO_H
#define TC_MICRO_H

#include "tc_kernel.h"

struct tc_micro {
    const float *const *rows;
    const tc_index *a_tap, *b_tap;
    const float *b;
    float *acc;         /* the tile, row by row without gaps; 64-byte aligned */
    tc_index rows_step; /* pointers from a tap's rows to the next one's: 0 where a_tap tells them apart */
    tc_index taps, terms;
    tc_index a_step, b_step, b_piece; /* elements; steps count in micro-kernels of that name alone, else 1 and 16 */
    tc_index ahead;                   /* elements from b to what is fetched meanwhile */
    int more;                         /* go on from what `acc` holds; otherwise from zeros */
};

typedef void tc_micro_kernel(const struct tc_micro *m);

/* A width of the tiles of some rows. */
struct tc_width {
    tc_index columns;
    tc_micro_kernel *run;
};

#endif
