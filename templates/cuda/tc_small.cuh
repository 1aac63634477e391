/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions as ints, for a kernel whose positions all fit in one: division by 64 bits is slow. Included behind all other
 * headers; what they have keeps the wide positions.
 */
#ifndef TC_SMALL_CUH
#define TC_SMALL_CUH

#include "tc_device.cuh"

static __device__ inline int tc_small_floordiv(int a, int b)
{
    return a / b - (a % b < 0);
}

static __device__ inline int tc_small_min(int a, int b)
{
    return a < b ? a : b;
}

static __device__ inline int tc_small_max(int a, int b)
{
    return a > b ? a : b;
}

#endif

#define tc_index int
#define tc_floordiv tc_small_floordiv
#define tc_min tc_small_min
#define tc_max tc_small_max
