/* SPDX-License-Identifier: Apache-2.0
 *
 * What exact contractions do with lines of shared memory that one warp of the block brought.
 */
#ifndef TC_LINES_CUH
#define TC_LINES_CUH

#include "tc_barrier.cuh"
#include "tc_tile.cuh"

/* A piece of several that are in shared memory, one after the other: its place, and the parity of its barrier. */
struct tc_line_place {
    int slot, parity;
};

template <int STAGES> __device__ inline void tc_line_next(tc_line_place &at)
{
    if (++at.slot == STAGES)
        at.slot = 0, at.parity ^= 1;
}

/* N columns of a term, in groups of 4, then what is left: `at` is where each group begins. */
template <int N> __device__ inline void tc_line_read(float (&to)[N], const float *line, const int (&at)[(N + 3) / 4])
{
#pragma unroll
    for (int i = 0; i < N / 4; ++i)
        tc_load4(to + i * 4, line + at[i]);
    if constexpr (N % 4 == 2) {
        const float2 two = *(const float2 *)(line + at[N / 4]);
        to[N - 2] = two.x, to[N - 1] = two.y;
    } else if constexpr (N % 4 != 0) {
        static_assert(N % 4 == 1, "threads have no 3 elements behind groups of 4");
        to[N - 1] = line[at[N / 4]];
    }
}

#endif
