/* SPDX-License-Identifier: Apache-2.0
 *
 * The order `lanes` of sums (docs/numerics.md).
 */
#ifndef TCI_LANES_H
#define TCI_LANES_H

#include <stdint.h>

enum { TCI_LANES = 16, TCI_BLOCK = 4096 /* terms */ };

/* The body of a function that returns the sum, of type C, of n terms; 0 where there are none. FIRST: term i, with which
   a lane begins. NEXT: `sum` and term i added. ADD: a function of two sums. */
#define TCI_SUM_LANES(C, n, FIRST, NEXT, ADD)                                                                          \
    C total = 0;                                                                                                       \
    for (int64_t block = 0; block < n; block += TCI_BLOCK) {                                                           \
        const int64_t terms = n - block < TCI_BLOCK ? n - block : TCI_BLOCK;                                           \
        const int64_t used = terms < TCI_LANES ? terms : TCI_LANES;                                                    \
        C lane[TCI_LANES] = {0};                                                                                       \
        for (int64_t l = 0; l < used; l++) {                                                                           \
            int64_t i = block + l;                                                                                     \
            C sum = FIRST;                                                                                             \
            for (i += TCI_LANES; i < block + terms; i += TCI_LANES)                                                    \
                sum = NEXT;                                                                                            \
            lane[l] = sum;                                                                                             \
        }                                                                                                              \
        for (int64_t half = TCI_LANES / 2; half >= 1; half /= 2)                                                       \
            for (int64_t l = 0; l < half && l + half < used; l++)                                                      \
                lane[l] = ADD(lane[l], lane[l + half]);                                                                \
        total = block == 0 ? lane[0] : ADD(total, lane[0]);                                                            \
    }                                                                                                                  \
    return total;

#endif
