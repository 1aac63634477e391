/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk copy engine (compute capability 9.0): one thread asks for a piece of an operand that a tensor map describes,
 * and a barrier in shared memory tells when all of it is there.
 */
#ifndef TC_BULK_CUH
#define TC_BULK_CUH

#include "tc_barrier.cuh"
#include "tc_half.cuh"

struct __align__(64) tc_tensor_map {
    uint64_t words[16];
};

/* The one parameter of a kernel with such maps. */
template <int MAPS, int POINTERS, int DIMS> struct tc_mapped_arguments {
    tc_tensor_map maps[MAPS];
    void *p[POINTERS];
    tc_dim d[DIMS > 0 ? DIMS : 1];
};

#ifdef TC_WGMMA
#ifdef __CUDACC__

/* A map that copies will ask for. */
__device__ inline void tc_map_soon(const tc_tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/* 64 terms from `term` on of a box of lines from `line` on. */
__device__ inline void tc_bulk_copy(void *to, const tc_tensor_map &map, int term, int line, uint64_t *full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     tc_shared(to)),
                 "l"(&map), "r"(term), "r"(line), "r"(tc_shared(full))
                 : "memory");
}

/* A group of four warps gives registers back, or takes some of those: each thread has N of them then. */
template <int N> __device__ inline void tc_fewer_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N> __device__ inline void tc_more_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

/* All but the last N multiplications of a group have ended. */
template <int N> __device__ inline void tc_wgmma_done(int)
{
    tc_wgmma_wait<N>();
}

#else /* the emulation of the tests */

#define tc_map_soon(map) ((void)0)
#define tc_bulk_copy(to, map, term, line, full)                                                                        \
    emulated_bulk_copy((unsigned char *)(to), (map).words, term, line, full, tc_half_place)
template <int N> inline void tc_fewer_registers()
{
}

template <int N> inline void tc_more_registers()
{
}

template <int N> inline void tc_wgmma_done(int group)
{
    emulated_group_barrier(group);
}

#endif

#endif

#ifdef __CUDACC__

/* Waits for the 128 threads of a group. */
__device__ inline void tc_group_wait(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

#else

#define tc_group_wait emulated_group_barrier

#endif

/* Four threads side by side have two neighbours each of four times eight columns: after it, all eight of one of them. */
__device__ inline void tc_turn_four(float (&at)[8])
{
    const int lane = (int)threadIdx.x;
#pragma unroll
    for (int step = 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (!(i & step))
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    float &low = at[i * 2 + e], &high = at[(i + step) * 2 + e];
                    const float given = lane & step ? low : high;
                    const float got = __shfl_xor_sync(0xffffffffu, given, step);
                    (lane & step ? low : high) = got;
                }
}

/* What wgmma does, by instructions of every chip: the products of a piece, 16 rows of which are a warp's. */
template <int SUMS, int EIGHTS, class F>
__device__ inline void tc_group_multiply(float (&acc)[SUMS][EIGHTS][4], const unsigned char *a_tile,
                                         const unsigned char *b_tile, F multiply)
{
    const int lane = (int)threadIdx.x % 32, down = (int)threadIdx.x / 32 * 16;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        unsigned x[4];
        tc_matrix(x, a_tile + tc_half_place(down + lane % 16, k * 2 + lane / 16));
#pragma unroll
        for (int s = 0; s < SUMS; ++s)
#pragma unroll
            for (int j = 0; j < EIGHTS; j += 2) {
                unsigned four[4];
                tc_matrix(four, b_tile + s * (EIGHTS * 8 * 128) +
                                    tc_half_place(j * 8 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
                const unsigned low[2] = {four[0], four[1]}, high[2] = {four[2], four[3]};
                multiply(acc[s][j], x, low);
                multiply(acc[s][j + 1], x, high);
            }
    }
}

#endif
