/* SPDX-License-Identifier: Apache-2.0
 *
 * The team on OpenMP's threads. Inside a parallel region of the program's own, OpenMP gives one thread.
 */
#include <tensor_compile/hosted.h>

#include <omp.h>
#include <sched.h>

static void run(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    (void)user;
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
    context->team = (tc_team){run, NULL, threads < 1 ? omp_get_max_threads() : threads};
    context->yield = yield;
    context->yield_user = NULL;
}
