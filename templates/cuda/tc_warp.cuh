/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions by the threads of a warp, in the orders of docs/numerics.md. Every thread calls each function, and gets the
 * result.
 */
#ifndef TC_WARP_CUH
#define TC_WARP_CUH

#include "tc_device.cuh"

#define TC_WARP 0xffffffffu

/* Adds the 32 terms of a pass to the 16 lanes, which the first 16 threads hold: add(lane, term). */
template <class T, class F> __device__ inline void tc_warp_add16(T &lane, T term, F add)
{
    const T second = __shfl_down_sync(TC_WARP, term, 16);
    lane = add(add(lane, term), second);
}

/* The same with terms that are pairs: add(lane, a, b). */
template <class T, class F> __device__ inline void tc_warp_add16(T &lane, T a, T b, F add)
{
    const T second_a = __shfl_down_sync(TC_WARP, a, 16), second_b = __shfl_down_sync(TC_WARP, b, 16);
    lane = add(add(lane, a, b), second_a, second_b);
}

/* Adds them one after the other. */
template <class T, class F> __device__ inline void tc_warp_add1(T &lane, T term, F add)
{
    for (int i = 0; i < 32; ++i)
        lane = add(lane, __shfl_sync(TC_WARP, term, i));
}

template <class T, class F> __device__ inline void tc_warp_add1(T &lane, T a, T b, F add)
{
    for (int i = 0; i < 32; ++i)
        lane = add(lane, __shfl_sync(TC_WARP, a, i), __shfl_sync(TC_WARP, b, i));
}

/* The tree over 16 lanes. */
template <class T, class F> __device__ inline T tc_warp_lanes(T lane, F add)
{
    for (int half = 8; half > 0; half /= 2)
        lane = add(lane, __shfl_down_sync(TC_WARP, lane, half));
    return __shfl_sync(TC_WARP, lane, 0);
}

/* All values by an operation that is associative and commutative. */
template <class T, class F> __device__ inline T tc_warp_reduce(T value, F combine)
{
    for (int half = 16; half > 0; half /= 2)
        value = combine(value, __shfl_xor_sync(TC_WARP, value, half));
    return __shfl_sync(TC_WARP, value, 0);
}

/* As tc_block_position. */
template <class T, class F> __device__ inline int64_t tc_warp_position(T best, int64_t where, F better)
{
    for (int half = 16; half > 0; half /= 2) {
        const T other = __shfl_down_sync(TC_WARP, best, half);
        const int64_t there = __shfl_down_sync(TC_WARP, where, half);
        const bool take = there < 0        ? false
                          : where < 0      ? true
                          : where < there ? better(other, best)
                                           : !better(best, other);
        if (take) {
            best = other;
            where = there;
        }
    }
    return __shfl_sync(TC_WARP, where, 0);
}

#endif
