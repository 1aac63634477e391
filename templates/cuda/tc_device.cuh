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

/* The one parameter of a kernel: addresses of its buffers, then its dims. */
template <int POINTERS, int DIMS> struct tc_arguments {
    void *p[POINTERS];
    tc_index d[DIMS > 0 ? DIMS : 1];
};

#endif
