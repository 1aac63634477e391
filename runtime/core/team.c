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

/* A thread's part of a shared step is cut into at most as many pieces as there are threads, from 8 to 16: the more threads, the
 * likelier one of them is slow. */
enum { FEWEST_PIECES = 8, MOST_PIECES = 16 };
#endif

void tc_wait(tc_frame *frame, tc_arrival *arrival)
{
#if TC_TEAMS
    for (unsigned count = 0; tc_waits(frame, arrival); ++count) {
        if (count >= SPINS && frame->context->yield)
            frame->context->yield(frame->context->yield_user);
        else
            tc_pause();
    }
#else
    (void)frame, (void)arrival;
#endif
}

void tc_barrier(tc_frame *frame, tc_index thread, tc_index threads)
{
#if TC_TEAMS
    if (threads > 1) {
        tc_arrival arrival = tc_arrive(frame, thread, threads);
        tc_wait(frame, &arrival);
    }
#else
    (void)frame, (void)thread, (void)threads; /* one */
#endif
}

tc_pieces tc_pieces_of(tc_frame *frame, tc_index thread, tc_index threads, uint64_t work)
{
    tc_pieces pieces = {.thread = thread, .threads = threads, .count = threads, .piece = -1, .helped = -1};
#if TC_TEAMS
    const uint64_t fits = threads > 1 && frame->members ? work / TC_PIECE_WORK / (uint64_t)threads : 0;
    if (fits < 2)
        return pieces;
    uint64_t most = threads < FEWEST_PIECES ? FEWEST_PIECES : (uint64_t)threads;
    if (most > MOST_PIECES)
        most = MOST_PIECES;
    const unsigned each = (unsigned)(fits < most ? fits : most);
    unsigned *const own = &frame->members[thread].left;
    pieces.frame = frame;
    pieces.count = threads * (tc_index)each;
    pieces.round = ((__atomic_load_n(own, __ATOMIC_RELAXED) >> 16) + 1) & 0xffff;
    __atomic_store_n(own, pieces.round << 16 | each << 8, __ATOMIC_RELAXED);
#else
    (void)frame;
    (void)work;
#endif
    return pieces;
}

#if TC_TEAMS

/* Takes a piece of a thread's part, its first or its last; -1 where none is left, or the thread is at another step. */
static int take(const tc_pieces *pieces, tc_index of, int last)
{
    unsigned *const part = &pieces->frame->members[of].left;
    unsigned left = __atomic_load_n(part, __ATOMIC_RELAXED);
    for (;;) {
        const unsigned next = left & 0xff, end = left >> 8 & 0xff;
        if (left >> 16 != pieces->round || next >= end)
            return -1;
        if (__atomic_compare_exchange_n(part, &left, last ? left - 256 : left + 1, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return (int)(last ? end - 1 : next);
    }
}

/* The thread that has most pieces left; -1: none has any. The one whose piece was taken last counts twice: what its
 * pieces share, such as the panels of its columns, is in the second cache by now. */
static tc_index slowest(const tc_pieces *pieces)
{
    tc_index found = -1;
    unsigned most = 0;
    for (tc_index i = 1; i < pieces->threads; ++i) {
        const tc_index other = (pieces->thread + i) % pieces->threads;
        const unsigned left = __atomic_load_n(&pieces->frame->members[other].left, __ATOMIC_RELAXED);
        const unsigned next = left & 0xff, end = left >> 8 & 0xff;
        if (left >> 16 != pieces->round || end <= next)
            continue;
        const unsigned worth = (end - next) * (other == pieces->helped ? 2 : 1);
        if (worth > most) {
            most = worth;
            found = other;
        }
    }
    return found;
}
#endif

int tc_pieces_next(tc_pieces *pieces)
{
    if (!pieces->frame) {
        const int first = pieces->piece < 0;
        pieces->piece = pieces->thread;
        return first;
    }
#if TC_TEAMS
    const tc_index each = pieces->count / pieces->threads;
    tc_index of = pieces->thread;
    int piece = take(pieces, of, 0);
    while (piece < 0 && (of = slowest(pieces)) >= 0)
        piece = take(pieces, pieces->helped = of, 1);
    pieces->piece = of * each + piece;
    return piece >= 0;
#else
    return 0;
#endif
}

static void note(const tc_frame *frame, tc_index step, tc_index thread, int begin)
{
    const tc_context *context = frame->context;
    if (context->profile)
        context->profile(context->profile_user, frame->function->name, frame->variant->name,
                         frame->variant->steps[step], step, thread, begin);
}

static void log_step(const tc_frame *frame, tc_index step)
{
    const tc_context *context = frame->context;
    if (frame->logs & TC_LOG_KERNELS)
        context->log(context->log_user, TC_LOG_KERNELS, frame->variant->steps[step]);
}

/* A function of its own, so that steps of which nobody wants to know, on one thread, save no registers for it. */
__attribute__((noinline)) static void step_in_pieces(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p,
                                                     const tc_index *d, tc_index thread, tc_index threads,
                                                     uint64_t work)
{
    if (thread == 0)
        log_step(frame, step);
    note(frame, step, thread, 1);
    tc_pieces pieces = tc_pieces_of(frame, thread, threads, work);
    while (tc_pieces_next(&pieces))
        kernel(p, d, pieces.piece, pieces.count);
    note(frame, step, thread, 0);
}

static int watched(const tc_frame *frame)
{
    return frame->context->profile || frame->logs;
}

void tc_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
             tc_index threads)
{
    if (watched(frame))
        step_in_pieces(frame, step, kernel, p, d, thread, threads, 0);
    else
        kernel(p, d, thread, threads);
}

void tc_shared_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d,
                    tc_index thread, tc_index threads, uint64_t work)
{
    if (threads > 1 || watched(frame))
        step_in_pieces(frame, step, kernel, p, d, thread, threads, work);
    else
        kernel(p, d, 0, 1);
}

void tc_tile_step(tc_frame *frame, tc_index step, tc_kernel *kernel, void *const *p, const tc_index *d, tc_index thread,
                  tc_index tile)
{
    if (tile == 0)
        log_step(frame, step);
    note(frame, step, thread, 1);
    kernel(p, d, 0, 1);
    note(frame, step, thread, 0);
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

int tc_faulted(tc_frame *frame, int group, tc_index thread, tc_index threads)
{
    tc_barrier(frame, thread, threads);
    /* A faster thread may be at a later check already; groups ascend, so all threads answer alike. */
    const int fault = __atomic_load_n(&frame->fault, __ATOMIC_ACQUIRE);
    return fault != 0 && fault <= group;
}
