/* SPDX-License-Identifier: Apache-2.0
 *
 * A team whose threads take turns on one processor: each is a context with a stack of its own, and gives way where it
 * waits for the others. So what each needs of every step can be timed for teams larger than the machine. Threads do not
 * take pieces of each other's parts.
 */
#ifndef TC_BENCH_TURNS_H
#define TC_BENCH_TURNS_H
#include <stdlib.h>
#include <ucontext.h>

#include <tensor_compile/driver.h>

enum { TURNS_MOST = 256, TURNS_STACK = 1 << 20 };

static struct {
    ucontext_t caller, threads[TURNS_MOST];
    int ended[TURNS_MOST];
    tc_index now, count, first;
    tc_team_job *job;
    void *argument;
} turns;

static void turns_thread(void)
{
    const tc_index thread = turns.now;
    turns.job(turns.argument, thread, turns.count);
    turns.ended[thread] = 1;
}

/* The yield callback: the caller goes on, which starts the next thread. */
static void turns_yield(void *user)
{
    (void)user;
    swapcontext(&turns.threads[turns.now], &turns.caller);
}

/* Puts thread number i before its beginning, with a stack of TURNS_STACK bytes. */
static void turns_begin(tc_index i, char *stack)
{
    ucontext_t *const thread = &turns.threads[i];
    turns.ended[i] = 0;
    if (getcontext(thread) != 0)
        abort();
    thread->uc_stack.ss_sp = stack;
    thread->uc_stack.ss_size = TURNS_STACK;
    thread->uc_link = &turns.caller;
    makecontext(thread, turns_thread, 0);
}

/* The run callback of a team. user: TURNS_STACK bytes for each thread. */
static void turns_run(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    tc_frame *const frame = argument;
    frame->members = NULL; /* no pieces: the first thread would take all of them */
    turns.job = job, turns.argument = argument, turns.count = threads;
    for (tc_index i = 0; i < threads; ++i)
        turns_begin(i, (char *)user + (size_t)i * TURNS_STACK);
    turns.first = (turns.first + 1) % threads; /* the first one finds cold caches: another thread in each call */
    turns.now = turns.first;
    for (tc_index left = threads; left > 0; turns.now = (turns.now + 1) % threads)
        if (!turns.ended[turns.now]) {
            swapcontext(&turns.caller, &turns.threads[turns.now]);
            left -= turns.ended[turns.now];
        }
}
#endif
