/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: blocks that run side by side and read each other's shared memory (compute capability 9.0). A kernel that has
 * them says so by TC_CLUSTER in front of it and __cluster_dims__.
 */
#ifndef TC_CLUSTER_CUH
#define TC_CLUSTER_CUH

#ifdef __CUDACC__

#define TC_CLUSTER(symbol, blocks)

/* Waits for all threads of the cluster, whose memory is seen by all of them then. */
__device__ inline void tc_cluster_wait()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Waits for all threads of the cluster, so that no block ends, or writes its shared memory again, while another one
 * reads there. The barrier orders no accesses: what was read has arrived, since stores in front of the barrier needed
 * it. The stores themselves are not waited for: that took 0.5 us of a kernel (MEMBAR). */
__device__ inline void tc_cluster_leave()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* What lies at `own` in the shared memory of the block `rank` of the cluster. */
template <class T> __device__ inline const T *tc_cluster_place(const T *own, int rank)
{
    const T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
    return there;
}

#else /* the emulation of the tests */

#define tc_cluster_wait emulated_cluster_barrier
#define tc_cluster_leave emulated_cluster_barrier

template <class T> inline const T *tc_cluster_place(const T *own, int rank)
{
    return (const T *)(emulated_block_memory((unsigned)rank) + ((const unsigned char *)own - emulated_memory));
}

#endif

#endif
