/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of threads on one thread of the processor: the threads of a block are coroutines that run one after the other
 * up to the next barrier. A barrier that only some of them reach is an error.
 */
#include "emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <vector>

emulated_index emulated_thread, emulated_block, emulated_grid;
alignas(1024) unsigned char emulated_memory[227 << 10];

namespace
{

enum { STACK = 64 << 10 };

/* Where a thread is: it runs, has ended, or waits for the others of its warp or of its block. */
enum state { RUNS, WAITS_FOR_WARP, WAITS_FOR_BLOCK, DONE };

struct coroutine {
    ucontext_t context;
    std::vector<char> stack;
    state is;
};

std::vector<coroutine> threads;
ucontext_t scheduler;
emulated_kernel *running;
const void *given;
unsigned current;
alignas(16) unsigned char slots[1024][32]; /* of shuffles */

void start()
{
    running(given);
    threads[current].is = DONE;
    swapcontext(&threads[current].context, &scheduler);
}

void wait(state what)
{
    threads[current].is = what;
    swapcontext(&threads[current].context, &scheduler);
}

/* Runs the threads begin..end-1 until each waits for the block or is done. */
void run_warp(unsigned begin, unsigned end, bool reverse)
{
    for (;;) {
        for (unsigned i = begin; i < end; ++i) {
            current = reverse ? end - 1 - (i - begin) : i;
            if (threads[current].is != RUNS)
                continue;
            emulated_thread.x = current;
            swapcontext(&scheduler, &threads[current].context);
        }
        unsigned waiting = 0;
        for (unsigned i = begin; i < end; ++i)
            waiting += threads[i].is == WAITS_FOR_WARP;
        if (!waiting)
            return;
        if (waiting != end - begin) {
            fprintf(stderr, "emulation: %u threads wait for %u of their warp\n", waiting, end - begin - waiting);
            abort();
        }
        for (unsigned i = begin; i < end; ++i)
            threads[i].is = RUNS;
    }
}

void run_block(unsigned count, bool reverse)
{
    if (threads.size() < count)
        threads.resize(count);
    for (unsigned t = 0; t < count; ++t) {
        coroutine &c = threads[t];
        c.stack.resize(STACK);
        c.is = RUNS;
        getcontext(&c.context);
        c.context.uc_stack.ss_sp = c.stack.data();
        c.context.uc_stack.ss_size = STACK;
        c.context.uc_link = nullptr;
        makecontext(&c.context, start, 0);
    }
    for (;;) {
        const unsigned warps = (count + 31) / 32;
        for (unsigned i = 0; i < warps; ++i) {
            const unsigned begin = 32 * (reverse ? warps - 1 - i : i);
            run_warp(begin, begin + 32 < count ? begin + 32 : count, reverse);
        }
        unsigned waiting = 0;
        for (unsigned t = 0; t < count; ++t)
            waiting += threads[t].is == WAITS_FOR_BLOCK;
        if (!waiting)
            return;
        if (waiting != count) {
            fprintf(stderr, "emulation: %u threads wait at a barrier that %u never reach\n", waiting, count - waiting);
            abort();
        }
        for (unsigned t = 0; t < count; ++t)
            threads[t].is = RUNS;
    }
}

} // namespace

void emulated_barrier(void)
{
    wait(WAITS_FOR_BLOCK);
}

void emulated_warp_barrier(void)
{
    wait(WAITS_FOR_WARP);
}

void *emulated_slot(unsigned lane)
{
    return slots[current / 32 * 32 + lane];
}

void emulated_launch(emulated_kernel *kernel, const void *arguments, unsigned blocks, unsigned count, int reverse)
{
    running = kernel;
    given = arguments;
    emulated_grid.x = blocks;
    for (unsigned i = 0; i < blocks; ++i) {
        emulated_block.x = reverse ? blocks - 1 - i : i;
        run_block(count, reverse);
    }
}
