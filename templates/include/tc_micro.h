/* SPDX-License-Identifier: Apache-2.0
 *
 * How a contraction calls the micro-kernels that all contractions share (emit/contraction/micro.py makes them).
 *
 * A micro-kernel adds the products of `taps` x `terms` terms, in ascending order, to a tile of accumulators. Row r of
 * tap t begins at rows[t * rows_step + r] + a_tap[t], its terms are a_step apart; the columns of tap t begin at
 * b + b_tap[t], 16 of them side by side, b_piece from one 16 to the next, b_step from a term to the next one. What a
 * term and an element are depends on the product (loops/products.py): of integers a term is a group of them, side by side
 * in a word of 32 bits, and where the panels hold more than the operand and no half of a word is loaded without that, the
 * word behind a row is what its sums start from.
 */
#ifndef TC_MICRO_H
#define TC_MICRO_H

#include "tc_kernel.h"

struct tc_micro {
    const void *rows;   /* the address of pointers to elements, or words */
    const tc_index *a_tap, *b_tap;
    const void *b;
    void *acc;          /* the tile, row by row without gaps; 64-byte aligned */
    tc_index rows_step; /* pointers from a tap's rows to the next one's: 0 where a_tap tells them apart */
    tc_index taps, terms;
    tc_index a_step, b_step, b_piece; /* elements; steps count in micro-kernels of that name alone, else 1 and 16 */
    const void *fetch;                /* what micro-kernels of that name fetch meanwhile, */
    tc_index fetch_step;              /* so many elements further each term */
    int more;                         /* go on from what `acc` holds; otherwise from zeros */
    const int32_t *from;              /* what sums of tiles start from, a number a column; NULL: zeros */
    tc_index depth;                   /* words of a row that tiles multiply at a time */
};

typedef void tc_micro_kernel(const struct tc_micro *m);

/* The fetching of the panels that come next, in equal shares: at most one for each tile that is computed meanwhile, and
   of as many panels as there are tiles all. A processor has few places for lines on their way, so a burst of fetches
   would stop the loads beside it. */
struct tc_fetch {
    tc_index next, piece, panels; /* elements to the first panel, and from a panel to the next one; panels */
    tc_index terms, step;         /* terms of a panel, and elements of a share for each of them */
    tc_index shares, panel, share; /* shares of a panel; the share that is next */
};

static TC_INLINE struct tc_fetch tc_fetch_of(tc_index next, tc_index piece, tc_index panels, tc_index terms,
                                             tc_index tiles)
{
    struct tc_fetch f = {.next = next, .piece = piece, .panels = panels, .terms = terms};
    const tc_index shares = tc_max(1, tc_min(16, tiles / tc_max(panels, 1)));
    f.step = (16 + shares - 1) / shares;
    f.shares = (16 + f.step - 1) / f.step;
    return f;
}

/* Where the share of the next tile begins, and its step; 0 and 0 where there is no share. */
static TC_INLINE tc_index tc_fetch_share(struct tc_fetch *f, tc_index *step)
{
    *step = 0;
    if (f->panel >= f->panels)
        return 0;
    const tc_index at = f->next + f->panel * f->piece + tc_min(f->share * f->step, 16 - f->step) * f->terms;
    *step = f->step;
    if (++f->share == f->shares)
        f->share = 0, ++f->panel;
    return at;
}

/* Groups of columns, from `begin` to before `end`. */
struct tc_groups {
    tc_index begin, end;
};

/* Those from g0 to before g1 that have some of the tiles r0 to before r1 among the items from `first` to before `last`,
   which are `tiles` for each group. */
static TC_INLINE struct tc_groups tc_groups_of(tc_index first, tc_index last, tc_index tiles, tc_index r0, tc_index r1,
                                               tc_index g0, tc_index g1)
{
    return (struct tc_groups){tc_max(g0, (first + tiles - r1) / tiles), tc_min(g1, (last + tiles - 1 - r0) / tiles)};
}

/* What a thread reads soon, in this step and in the next one, as the driver tells its tiles, which fetch it meanwhile:
   soon[0]: the pace, in bytes for each term of 2^16 sums. soon[1]: what tiles have not fetched of it, in 2^-16 bytes for
   each term, so that fetches are never further ahead than they are meant to be. From soon[2] on: the addresses where runs
   of memory begin and end, of which the last is empty. From soon[10] on: those of the thread's own panels.
   Returns where the share of a tile of `sums` sums and `terms` terms begins, in elements of `size` bytes from `base`;
   *step: elements for each term. 0 and 0 where it has no share. */
static TC_INLINE tc_index tc_soon_share(tc_index *soon, tc_index sums, tc_index terms, tc_index size, const void *base,
                                        tc_index *step)
{
    enum { ONE = 1 << 16 };
    *step = 0;
    soon[1] += soon[0] * sums;
    for (; soon[2] != 0; soon[2] = soon[4], soon[3] = soon[5], soon[4] = soon[6], soon[5] = soon[7], soon[6] = soon[8],
                         soon[7] = soon[9], soon[8] = soon[9] = 0) {
        const tc_index due = tc_min(soon[1] / (ONE * size), 64 / size), left = (soon[3] - soon[2]) / (terms * size);
        if (due == 0)
            return 0;
        *step = tc_min(due, left); /* what exists alone; less than that is not worth a tile */
        if (*step > 0) {
            const tc_index at = soon[2];
            soon[1] -= *step * size * ONE;
            soon[2] += *step * terms * size;
            return (at - (tc_index)base) / size;
        }
    }
    return 0;
}

/* Whether the panels from `begin` to before `end` are the thread's own, or some of them: pieces of other threads' parts,
   which it takes later, are not what it was told of. */
static TC_INLINE int tc_soon_owns(const tc_index *soon, const void *begin, const void *end)
{
    int owns = 0;
    for (int i = 10; i < 16; i += 2)
        owns |= (tc_index)begin < soon[i + 1] && (tc_index)end > soon[i];
    return owns;
}

/* A width of the tiles of some rows. */
struct tc_width {
    tc_index columns;
    tc_micro_kernel *run;
};

#endif
