/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels of the processor include when threads of a grid run them: they are C and find their buffers in an array of
 * void *.
 */
#ifndef TC_TEAM_CUH
#define TC_TEAM_CUH

#include "tc_device.cuh"

#define restrict __restrict__

#pragma push_macro("inline")
#define inline inline __device__
#include "tc_sort.h"
#pragma pop_macro("inline")

/* A void * that becomes any pointer, as in C. */
struct tc_team_pointer {
    void *p;
    template <class T> __device__ operator T *() const
    {
        return static_cast<T *>(p);
    }
};

struct tc_team_pointers {
    void *const *all;
    __device__ tc_team_pointer operator[](int i) const
    {
        return {all[i]};
    }
};

#endif
