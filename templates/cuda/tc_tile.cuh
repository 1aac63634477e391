/* SPDX-License-Identifier: Apache-2.0
 *
 * What contractions do with tiles: a thread's part of a line of shared memory, 16 bytes at a time.
 */
#ifndef TC_TILE_CUH
#define TC_TILE_CUH

#include "tc_device.cuh"

/* Where element i of the N that thread number `at` of a line of LENGTH has lies: in groups of 4 neighbours, the groups of
 * all threads side by side; behind them what is left of N. */
template <int N, int LENGTH> __device__ inline int tc_tile_place(int at, int i)
{
    constexpr int ALL = LENGTH / N, FOURS = N / 4 * 4, REST = N % 4;
    return i < FOURS ? i / 4 * (ALL * 4) + at * 4 + i % 4 : FOURS * ALL + at * REST + i - FOURS;
}

/* Those N elements. */
template <int N, int LENGTH> __device__ inline void tc_tile_read(float (&to)[N], const float *line, int at)
{
#pragma unroll
    for (int i = 0; i < N / 4 * 4; i += 4) {
        const float4 four = *(const float4 *)(line + tc_tile_place<N, LENGTH>(at, i));
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
    if constexpr (N % 4 == 2) {
        const float2 two = *(const float2 *)(line + tc_tile_place<N, LENGTH>(at, N - 2));
        to[N - 2] = two.x, to[N - 1] = two.y;
    } else if constexpr (N % 4 != 0) {
        static_assert(N % 4 == 1, "threads have no 3 elements behind groups of 4");
        to[N - 1] = line[tc_tile_place<N, LENGTH>(at, N - 1)];
    }
}

/* 4 neighbours in memory, aligned to 16 bytes. */
__device__ inline void tc_load4(float *to, const float *from)
{
    const float4 four = *(const float4 *)from;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/* Copies of N floats from global to shared memory, aligned to their size, that a thread does not wait for; zeros where not
 * `there`. commit ends a group of them; wait returns when all but the last N groups have arrived. */
#ifdef __CUDACC__

#define TC_BLOCK_MEMORY extern __shared__ __align__(1024) unsigned char block_memory[];

/* The address that instructions for shared memory take. */
__device__ inline unsigned tc_shared(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

template <int N> __device__ inline void tc_copy(float *to, const float *from, bool there)
{
    const unsigned place = tc_shared(to);
    const int bytes = there ? N * 4 : 0;
    if constexpr (N == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(bytes));
}

__device__ inline void tc_copy_commit()
{
    asm volatile("cp.async.commit_group;");
}

template <int N> __device__ inline void tc_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#else /* the emulation of the tests */

__device__ inline unsigned tc_shared(const void *p)
{
    return (unsigned)((const unsigned char *)p - emulated_memory);
}

#define TC_BLOCK_MEMORY unsigned char *const block_memory = emulated_memory;

template <int N> inline void tc_copy(float *to, const float *from, bool there)
{
    for (int i = 0; i < N; ++i)
        to[i] = there ? from[i] : 0.0f;
}

inline void tc_copy_commit()
{
}

template <int N> inline void tc_copy_wait()
{
}

#endif

#endif
