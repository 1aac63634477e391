/* SPDX-License-Identifier: Apache-2.0
 *
 * The team on OpenMP's threads. Inside a parallel region of the program's own, OpenMP gives one thread.
 */
#include <tensor_compile/hosted.h>

#include "forks.h"

#include <omp.h>
#include <sched.h>

static void run(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    (void)user;
    /* GCC's OpenMP keeps its threads, and behind fork() waits for those that the child has not */
    static unsigned started; /* tc_forks() + 1 when a team was asked for first, 0 before */
    const unsigned here = tc_forks() + 1;
    unsigned before = 0;
    if (!__atomic_compare_exchange_n(&started, &before, here, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        before != here) {
        job(argument, 0, 1);
        return;
    }
#pragma omp parallel num_threads((int)threads)
    job(argument, omp_get_thread_num(), omp_get_num_threads());
}

static void yield(void *user)
{
    (void)user;
    sched_yield();
}

void tc_context_use_openmp(tc_context *context, tc_index threads)
{
    if (!context)
        return;
    context->team = (tc_team){run, NULL, threads < 1 ? omp_get_max_threads() : threads, NULL};
    context->yield = yield;
    context->yield_user = NULL;
}
