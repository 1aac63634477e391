/* SPDX-License-Identifier: Apache-2.0
 *
 * What every CUDA kernel includes: the scalar operations of the processor's kernels, compiled for the device, and how
 * arguments arrive. Contraction is off (nvcc -fmad=false) and division and square root are correctly rounded, so the
 * bits are those of docs/numerics.md.
 */
#ifndef TC_DEVICE_CUH
#define TC_DEVICE_CUH

#include <stddef.h>
#include <stdint.h>

/* Their functions are `static inline`: here they are the device's. */
#pragma push_macro("inline")
#define inline inline __device__
#include "tc_kernel.h"
#include "tc_scalar.h"
#pragma pop_macro("inline")

/* A dim. A kernel whose positions are ints reads its low half alone: of two values that were read whole, cut, compared and
 * made whole again, ptxas for sm_90 (12.9 to 13.5) keeps 16 bits of the larger one. */
struct tc_dim {
    union {
        ptrdiff_t whole;
        int low;
    };

    __device__ operator ptrdiff_t() const
    {
        return whole;
    }

    __device__ operator int() const
    {
        return low;
    }
};

/* The one parameter of a kernel: addresses of its buffers, then its dims. */
template <int POINTERS, int DIMS> struct tc_arguments {
    void *p[POINTERS];
    tc_dim d[DIMS > 0 ? DIMS : 1];
};

/* The next kernel may be brought to the multiprocessors meanwhile, where it waits for this one to end; so may the one behind
 * it, if the next kernel asks before it waits. That is of use where there are few blocks, as kernels behind them read
 * constants early; many blocks that wait take the room of others, so they ask when they have waited. Kernels whose
 * operands have 32 bits do not ask: blocks that lie beside waiting ones are spread unevenly, and multiplications take as
 * long as the multiprocessor with the most blocks. Then the next kernel comes as this one ends. */
static __device__ inline void tc_begin_others()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* What runs in front of it may still be running, and has ended when this returns. Only constants may be read before. */
static __device__ inline void tc_begin_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ inline void tc_begin()
{
    tc_begin_wait();
    tc_begin_others();
}

/* Of kernels of few blocks. */
static __device__ inline void tc_begin_first()
{
    tc_begin_others();
    tc_begin_wait();
}

/* The address of a buffer of the caller's. In a recorded call it is where the address lies, marked by the highest bit. */
static __device__ inline void *tc_external(void *p)
{
    const uint64_t bits = (uint64_t)p;
    return bits >> 63 ? *(void *const *)(bits << 1 >> 1) : p;
}

/* What a check leaves in the device's cell: tc_device_fault of driver.h. */
struct tc_fault {
    unsigned long long position;
    int64_t value, bound;
    void *index;
};

/* An index that is data, within what there is. */
static __device__ inline tc_index tc_within(int64_t value, int64_t least, int64_t most)
{
    return (tc_index)(value < least ? least : value > most ? most : value);
}

#endif
