/* SPDX-License-Identifier: Apache-2.0
 *
 * What contractions do with tiles: a thread's part of a line of shared memory, 16 bytes at a time.
 */
#ifndef TC_TILE_CUH
#define TC_TILE_CUH

#include "tc_device.cuh"

/* Where element i of the N that thread number `at` of a line of LENGTH has lies: in groups of 4 neighbours, the groups of
 * all threads side by side. */
template <int N, int LENGTH> __device__ inline int tc_tile_place(int at, int i)
{
    constexpr int GROUP = N < 4 ? N : 4;
    return i / GROUP * (LENGTH / N * GROUP) + at * GROUP + i % GROUP;
}

/* Those N elements. */
template <int N, int LENGTH> __device__ inline void tc_tile_read(float (&to)[N], const float *line, int at)
{
    if constexpr (N % 4 == 0) {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            const float4 four = *(const float4 *)(line + tc_tile_place<N, LENGTH>(at, i));
            to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
        }
    } else if constexpr (N == 2) {
        const float2 two = *(const float2 *)(line + at * 2);
        to[0] = two.x, to[1] = two.y;
    } else {
        static_assert(N == 1, "threads have 1, 2 or a multiple of 4 elements of a line");
        to[0] = line[at];
    }
}

/* 4 neighbours in memory, aligned to 16 bytes. */
__device__ inline void tc_load4(float *to, const float *from)
{
    const float4 four = *(const float4 *)from;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

__device__ inline void tc_keep4(float *to, const float *from)
{
    *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
}

#endif
