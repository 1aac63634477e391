/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers in shared memory (compute capability 9.0) that tell when all have arrived and all bytes that were told of have
 * come. Such a barrier counts phases; who waits says the parity of the phase.
 */
#ifndef TC_BARRIER_CUH
#define TC_BARRIER_CUH

#include "tc_tile.cuh"

#ifdef __CUDACC__

__device__ inline void tc_full_init(uint64_t *full, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(tc_shared(full)), "r"(arrivals) : "memory");
}

/* Behind the last init, by the thread that made them. */
__device__ inline void tc_full_publish()
{
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}

/* An arrival; the phase ends when so many bytes have come, too. */
__device__ inline void tc_full_expect(uint64_t *full, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tc_shared(full)), "r"(bytes) : "memory");
}

__device__ inline void tc_full_wait(uint64_t *full, int parity)
{
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(
                     tc_shared(full)),
                 "r"(parity)
                 : "memory");
}

/* The thread's group has done with what `empty` tells of. Nothing that it wrote has to be seen by then. */
__device__ inline void tc_empty_arrive(uint64_t *empty)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(tc_shared(empty)) : "memory");
}

/* An arrival when what the thread asked for by tc_copy has come. */
__device__ inline void tc_full_copied(uint64_t *full)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(tc_shared(full)) : "memory");
}

#else /* the emulation of the tests */

#define tc_full_init emulated_barrier_init
#define tc_full_publish() ((void)0)
#define tc_full_expect emulated_expect
#define tc_full_wait emulated_full_wait
#define tc_empty_arrive emulated_arrive
#define tc_full_copied emulated_arrive

#endif

#endif
