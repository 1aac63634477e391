/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions by the threads of a block. The orders are those of docs/numerics.md, so nothing depends on the number of
 * threads: sums of floats are made of shared memory by as many threads as the order has lanes; what is associative by a
 * tree over all. Every thread of the block calls each function, and gets the result.
 */
#ifndef TC_BLOCK_CUH
#define TC_BLOCK_CUH

#include "tc_device.cuh"

/* Adds the terms of one pass to the lane of each of the first LANES threads, in ascending order: add(lane, i) is the
 * lane with the term i of the pass, which is in shared memory. */
template <int THREADS, int LANES, class T, class F> __device__ inline void tc_block_add(T &lane, F add)
{
    __syncthreads();
    if (threadIdx.x < LANES)
#pragma unroll 16
        for (int i = (int)threadIdx.x; i < THREADS; i += LANES)
            lane = add(lane, i);
    __syncthreads();
}

/* The sum of a block of the order `lanes`: sum(shared) is the tree over 16 lanes. */
template <class T, class F> __device__ inline T tc_block_lanes(T lane, T *shared, F sum)
{
    __syncthreads();
    if (threadIdx.x < 16)
        shared[threadIdx.x] = lane;
    __syncthreads();
    const T result = sum(shared);
    __syncthreads();
    return result;
}

/* What thread 0 has. */
template <class T> __device__ inline T tc_block_first(T value, T *shared)
{
    __syncthreads();
    if (threadIdx.x == 0)
        shared[0] = value;
    __syncthreads();
    const T result = shared[0];
    __syncthreads();
    return result;
}

/* All values by an operation that is associative and commutative. */
template <int THREADS, class T, class F> __device__ inline T tc_block_reduce(T value, T *shared, F combine)
{
    __syncthreads();
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    const T result = shared[0];
    __syncthreads();
    return result;
}

/* The position of the first extreme. `where` is -1 in threads that met no value; better(a, b): whether a, met after b,
 * takes its place. */
template <int THREADS, class T, class F>
__device__ inline int64_t tc_block_position(T best, int64_t where, T *values, int64_t *positions, F better)
{
    __syncthreads();
    values[threadIdx.x] = best;
    positions[threadIdx.x] = where;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const int a = (int)threadIdx.x, b = a + half;
            const bool ordered = positions[a] < positions[b]; /* of the two, which was met first */
            const bool take = positions[b] < 0   ? false
                              : positions[a] < 0 ? true
                              : ordered          ? better(values[b], values[a])
                                                 : !better(values[a], values[b]);
            if (take) {
                values[a] = values[b];
                positions[a] = positions[b];
            }
        }
        __syncthreads();
    }
    const int64_t result = positions[0];
    __syncthreads();
    return result;
}

#endif
