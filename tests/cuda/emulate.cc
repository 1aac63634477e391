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

namespace
{

enum { STACK = 64 << 10 };

struct coroutine {
    ucontext_t state;
    std::vector<char> stack;
    bool done;
};

std::vector<coroutine> threads;
ucontext_t scheduler;
emulated_kernel *running;
const void *given;
unsigned current;

void start()
{
    running(given);
    threads[current].done = true;
    swapcontext(&threads[current].state, &scheduler);
}

void run_block(unsigned count, bool reverse)
{
    if (threads.size() < count)
        threads.resize(count);
    for (unsigned t = 0; t < count; ++t) {
        coroutine &c = threads[t];
        c.stack.resize(STACK);
        c.done = false;
        getcontext(&c.state);
        c.state.uc_stack.ss_sp = c.stack.data();
        c.state.uc_stack.ss_size = STACK;
        c.state.uc_link = nullptr;
        makecontext(&c.state, start, 0);
    }
    for (unsigned left = count; left > 0;) {
        for (unsigned i = 0; i < count; ++i) {
            current = reverse ? count - 1 - i : i;
            emulated_thread.x = current;
            swapcontext(&scheduler, &threads[current].state);
            left -= threads[current].done;
        }
        if (left != 0 && left != count) {
            fprintf(stderr, "emulation: %u threads wait at a barrier that %u never reach\n", left, count - left);
            abort();
        }
    }
}

} // namespace

void emulated_barrier(void)
{
    swapcontext(&threads[current].state, &scheduler);
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
