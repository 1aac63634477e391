/* SPDX-License-Identifier: Apache-2.0
 *
 * Contractions of 16-bit operands. A piece of an operand in shared memory is lines of 128 bytes, 64 elements; the eight
 * vectors of 16 bytes of a line change places by its number, so that eight lines' vectors at one place lie in eight groups
 * of banks. That is the 128-byte swizzle that wgmma and the bulk copies know, and ldmatrix reads it without conflicts.
 *
 * Lines are rows (columns of the second operand) of 64 terms each; or, where columns of the second operand are
 * neighbours in memory, 64 terms with 64 columns each, one such panel behind the other.
 */
#ifndef TC_HALF_CUH
#define TC_HALF_CUH

#include "tc_mma.cuh"

/* Where the vector `vector` of a line lies, in bytes. */
__device__ inline int tc_half_place(int line, int vector)
{
    return line * 128 + ((vector ^ (line & 7)) << 4);
}

/* A float as 16 bits, rounded to nearest even. */
__device__ inline uint16_t tc_half_bf16(float x)
{
    return (uint16_t)tc_pair_bf16(x, 0.0f);
}

__device__ inline uint16_t tc_half_f16(float x)
{
    return (uint16_t)tc_pair_f16(x, 0.0f);
}

/* Eight elements of 16 bits, as one access. */
struct __align__(16) tc_half8 {
    uint16_t at[8];
};

struct __align__(16) tc_float4 {
    float at[4];
};

__device__ inline void tc_load8(uint16_t (&to)[8], const uint16_t *from)
{
    const tc_half8 all = *(const tc_half8 *)from;
#pragma unroll
    for (int i = 0; i < 8; ++i)
        to[i] = all.at[i];
}

__device__ inline void tc_load8(float (&to)[8], const float *from)
{
    const tc_float4 low = *(const tc_float4 *)from, high = *(const tc_float4 *)(from + 4);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        to[i] = low.at[i], to[i + 4] = high.at[i];
}

__device__ inline void tc_store8(uint16_t *to, const uint16_t (&from)[8])
{
    tc_half8 all;
#pragma unroll
    for (int i = 0; i < 8; ++i)
        all.at[i] = from[i];
    *(tc_half8 *)to = all;
}

__device__ inline void tc_store8(float *to, const float (&from)[8])
{
    tc_float4 low, high;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        low.at[i] = from[i], high.at[i] = from[i + 4];
    *(tc_float4 *)to = low, *(tc_float4 *)(to + 4) = high;
}

#ifdef __CUDACC__

/* 16 bytes from global to shared memory, that a thread does not wait for; zeros where not `there`. */
__device__ inline void tc_copy16(void *to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tc_shared(to)), "l"(from), "r"(there ? 16 : 0));
}

/* Four matrices of 8 x 8 elements: thread t gives the address of line t % 8 of matrix t / 8, and gets two neighbours of
 * each, of line t / 4. Turned: of column t / 4. */
__device__ inline void tc_matrix(unsigned (&to)[4], const void *from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(tc_shared(from))
                 : "memory");
}

__device__ inline void tc_matrix_turned(unsigned (&to)[4], const void *from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(tc_shared(from))
                 : "memory");
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TC_WGMMA 1
#endif

#else /* the emulation of the tests */

__device__ inline void tc_copy16(void *to, const void *from, bool there)
{
    memset(to, 0, 16);
    if (there)
        memcpy(to, from, 16);
}

#define tc_matrix(to, from) emulated_matrix(to, from, false)
#define tc_matrix_turned(to, from) emulated_matrix(to, from, true)

#if defined(EMULATE_H) && !defined(TC_PORTABLE)
#define TC_WGMMA 1
#endif

#endif

#ifdef TC_WGMMA

/* A piece for wgmma: swizzled lines of 128 bytes; 1024 bytes are 8 lines. wide: bytes to the next 64 columns, of a piece
 * whose lines are terms. */
__device__ inline uint64_t tc_wgmma_operand(const void *tile, int wide)
{
    return (uint64_t)(tc_shared(tile) >> 4 & 0x3fff) | (uint64_t)(wide >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#ifdef __CUDACC__

__device__ inline void tc_wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void tc_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> __device__ inline void tc_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* What the threads wrote to shared memory is seen by wgmma behind the next barrier. */
__device__ inline void tc_wgmma_publish()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#else

#define tc_wgmma_begin() ((void)0)
#define tc_wgmma_commit() ((void)0)
#define tc_wgmma_publish() ((void)0)
template <int N> inline void tc_wgmma_wait()
{
}

#endif

#endif

#include "tc_relaxed.cuh"

#endif
