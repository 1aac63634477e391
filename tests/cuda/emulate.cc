/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of threads on one thread of the processor: the threads of a block are coroutines that run one after the other
 * up to the next barrier; so are those of all blocks of a cluster. A barrier that only some of them reach is an error.
 *
 * A coroutine gets its stack by makecontext(), once; later switches are _setjmp() and _longjmp(), as swapcontext() asks
 * the kernel for the mask of signals each time. Fortified longjmp() takes a switch of stacks for an error.
 */
#undef _FORTIFY_SOURCE
#include "emulate.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <vector>

emulated_index emulated_thread, emulated_block, emulated_grid;

namespace
{

enum { STACK = 64 << 10, MEMORY = 227 << 10, MOST_BLOCKS = 16 /* of a cluster */, LANES = 32, MOST_ROUNDS = 100000 };

/* Where a thread is: it runs, has ended, polls, or waits for the others of its warp, its block or its cluster. */
enum state { RUNS, POLLS, WAITS_FOR_WARP, WAITS_FOR_BLOCK, WAITS_FOR_CLUSTER, DONE };

struct coroutine {
    jmp_buf at; /* where it goes on */
    std::vector<char> stack; /* empty before its first kernel */
    state is;
};

/* The threads of a cluster, `count` a block: those of block b from b * count on. */
std::vector<coroutine> threads;
jmp_buf scheduler;
emulated_kernel *running;
const void *given;
unsigned current, count, first_block, block /* of the current thread, within its cluster */;
struct group_barrier {
    unsigned arrived, phase;
} groups[MOST_BLOCKS][8];
alignas(16) unsigned char slots[MOST_BLOCKS * 1024][32]; /* of shuffles */
alignas(1024) unsigned char memories[MOST_BLOCKS][(MEMORY + 1023) / 1024 * 1024];

void wait(state what)
{
    threads[current].is = what;
    if (!_setjmp(threads[current].at))
        _longjmp(scheduler, 1);
}

/* A coroutine: one kernel after the other. */
void start()
{
    for (;;) {
        running(given);
        wait(DONE);
    }
}

/* Lets the current thread run until it waits. */
void resume()
{
    coroutine &c = threads[current];
    if (_setjmp(scheduler))
        return;
    if (!c.stack.empty())
        _longjmp(c.at, 1);
    c.stack.resize(STACK);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = c.stack.data();
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, start, 0);
    setcontext(&context);
}

unsigned how_many(state what, unsigned begin, unsigned end)
{
    unsigned found = 0;
    for (unsigned i = begin; i < end; ++i)
        found += threads[i].is == what;
    return found;
}

/* Lets threads begin..end-1 go on that wait for each other; whether they did. */
bool release(state what, unsigned begin, unsigned end, const char *whom)
{
    const unsigned waiting = how_many(what, begin, end);
    if (!waiting || how_many(POLLS, begin, end))
        return false;
    if (waiting != end - begin) {
        fprintf(stderr, "emulation: %u threads wait for %u of their %s\n", waiting, end - begin - waiting, whom);
        abort();
    }
    for (unsigned i = begin; i < end; ++i)
        threads[i].is = RUNS;
    return true;
}

/* Runs the threads begin..end-1 until each waits for more than its warp or is done. */
void run_warp(unsigned begin, unsigned end, bool reverse)
{
    do {
        for (unsigned i = begin; i < end; ++i) {
            current = reverse ? end - 1 - (i - begin) : i;
            if (threads[current].is != RUNS)
                continue;
            block = current / count;
            emulated_thread.x = current - block * count;
            emulated_block.x = first_block + block;
            resume();
        }
    } while (release(WAITS_FOR_WARP, begin, end, "warp"));
}

/* Runs the threads of a block until each waits for its cluster or is done. */
void run_block(unsigned first, bool reverse)
{
    const unsigned warps = (count + LANES - 1) / LANES;
    do {
        for (unsigned i = 0; i < warps; ++i) {
            const unsigned begin = LANES * (reverse ? warps - 1 - i : i);
            run_warp(first + begin, first + (begin + LANES < count ? begin + LANES : count), reverse);
        }
    } while (release(WAITS_FOR_BLOCK, first, first + count, "block"));
}

void run_cluster(unsigned blocks, bool reverse)
{
    if (threads.size() < blocks * count)
        threads.resize(blocks * count);
    for (unsigned t = 0; t < blocks * count; ++t)
        threads[t].is = RUNS;
    for (unsigned rounds = 0; rounds < MOST_ROUNDS; ++rounds) {
        for (unsigned b = 0; b < blocks; ++b)
            run_block((reverse ? blocks - 1 - b : b) * count, reverse);
        if (how_many(DONE, 0, blocks * count) == blocks * count)
            return;
        release(WAITS_FOR_CLUSTER, 0, blocks * count, "cluster");
        for (unsigned t = 0; t < blocks * count; ++t)
            threads[t].is = threads[t].is == POLLS ? RUNS : threads[t].is;
    }
    fprintf(stderr, "emulation: a thread polls for what never comes\n");
    abort();
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

void emulated_cluster_barrier(void)
{
    wait(WAITS_FOR_CLUSTER);
}

void emulated_group_barrier(int group)
{
    group_barrier &own = groups[block][group];
    const unsigned phase = own.phase;
    if (++own.arrived == 4 * LANES)
        own.arrived = 0, ++own.phase;
    while (own.phase == phase)
        wait(POLLS);
}

void emulated_poll(void)
{
    wait(POLLS);
}

unsigned char *emulated_block_memory(unsigned rank)
{
    return memories[rank];
}

unsigned char *emulated_own_memory(void)
{
    return memories[block];
}

void *emulated_slot(unsigned lane)
{
    return slots[block * 1024 + emulated_thread.x / LANES * LANES + lane];
}

void emulated_launch(emulated_kernel *kernel, const void *arguments, unsigned blocks, unsigned cluster,
                     unsigned per_block, int reverse)
{
    running = kernel;
    given = arguments;
    count = per_block;
    emulated_grid.x = blocks;
    if (!cluster || cluster > MOST_BLOCKS || blocks % cluster) {
        fprintf(stderr, "emulation: %u blocks of clusters of %u\n", blocks, cluster);
        abort();
    }
    for (unsigned i = 0; i < blocks; i += cluster) {
        first_block = reverse ? blocks - cluster - i : i;
        run_cluster(cluster, reverse);
    }
}
