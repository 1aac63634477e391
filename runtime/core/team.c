/* SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of a call do together: steps, the barrier, faults.
 */
#include "internal.h"

#if TC_TEAMS
/* Iterations of waiting before the yield callback is asked: about ten microseconds (a pause takes some 40 ns on newer Intel
 * processors, less elsewhere), the length of a short step. Where there are more threads than processors, it is what each
 * wait costs before the thread that is waited for can run. */
enum { SPINS = 256 };

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
#endif

void tc_barrier(tc_frame *frame, tc_index threads)
{
#if TC_TEAMS
    if (threads == 1)
        return;
    const unsigned phase = __atomic_load_n(&frame->phase, __ATOMIC_RELAXED); /* cannot change before we arrive */
    if (__atomic_add_fetch(&frame->arrived, 1u, __ATOMIC_ACQ_REL) == (unsigned)threads) {
        __atomic_store_n(&frame->arrived, 0u, __ATOMIC_RELAXED);
        __atomic_store_n(&frame->phase, phase + 1, __ATOMIC_RELEASE);
        return;
    }
    for (unsigned count = 0; __atomic_load_n(&frame->phase, __ATOMIC_ACQUIRE) == phase; ++count) {
        if (count >= SPINS && frame->context->yield)
            frame->context->yield(frame->context->yield_user);
        else
            pause_cpu();
    }
#else
    (void)frame;
    (void)threads; /* one */
#endif
}

/* member, team: who the kernel is told that it is; thread: who it is. */
static void run_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d,
                     tc_index thread, tc_index member, tc_index team, int logged)
{
    const tc_context *context = frame->context;
    const char *name = frame->variant->steps[step];
    if (logged && (frame->logs & TC_LOG_KERNELS))
        context->log(context->log_user, TC_LOG_KERNELS, name);
    if (!context->profile) {
        kernel(p, d, member, team);
        return;
    }
    const char *function = frame->function->name, *variant = frame->variant->name;
    context->profile(context->profile_user, function, variant, name, step, thread, 1);
    kernel(p, d, member, team);
    context->profile(context->profile_user, function, variant, name, step, thread, 0);
}

void tc_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
             tc_index threads)
{
    run_step(frame, step, kernel, p, d, thread, thread, threads, thread == 0);
}

void tc_tile_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
                  tc_index tile)
{
    run_step(frame, step, kernel, p, d, thread, 0, 1, tile == 0);
}

void tc_fault(tc_frame *frame, int group, const char *name, const void *data, tc_dtype dtype, int64_t n, int64_t bound)
{
#if TC_TEAMS
    int none = 0;
    if (!__atomic_compare_exchange_n(&frame->fault, &none, group, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return; /* one fault is reported; the others' threads find it set */
#else
    if (frame->fault)
        return;
    frame->fault = group;
#endif
    frame->fault_name = name;
    frame->fault_bound = bound;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t value = dtype == TC_DTYPE_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
        if (value < 0 || value >= bound) {
            frame->fault_position = i;
            frame->fault_value = value;
            return;
        }
    }
}

int tc_faulted(tc_frame *frame, int group, tc_index threads)
{
    tc_barrier(frame, threads);
    /* A faster thread may be at a later check already; groups ascend, so all threads answer alike. */
    const int fault = __atomic_load_n(&frame->fault, __ATOMIC_ACQUIRE);
    return fault != 0 && fault <= group;
}
