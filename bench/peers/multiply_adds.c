/* SPDX-License-Identifier: Apache-2.0
 *
 * A contender that computes no model: its call is so many floating-point operations of multiply-adds in registers alone,
 * shared by a team as our calls are (multiply_adds.py): multiply_adds THREADS OPERATIONS.
 */
#include "multiply_adds.h"
#include "server.h"

#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

static tc_context context;
static double operations;
static _Thread_local volatile float sink;

static void part(void *argument, tc_index thread, tc_index threads)
{
    (void)argument, (void)thread;
    const double turns = operations / 2 / MULTIPLY_ADDS / (double)threads;
    sink = multiply_adds((long)turns + ((double)(long)turns < turns));
}

static int call(void)
{
    if (context.team.run)
        context.team.run(context.team.user, context.team.threads, part, NULL);
    else
        part(NULL, 0, 1);
    return 0;
}

static int profile(long calls)
{
    (void)calls;
    return 1; /* there are no kernels */
}

int main(int argc, char **argv)
{
    static _Alignas(64) unsigned char arena[1 << 12];
    if (argc != 3)
        return 2;
    const int threads = atoi(argv[1]);
    operations = atof(argv[2]);
    if (threads < 1 || !(operations > 0))
        return 2;
    if (tc_context_init(&context, arena, sizeof arena) != TC_STATUS_OK)
        return 1;
    if (threads > 1) {
        tc_pool *const pool = tc_pool_create(threads);
        if (!pool)
            return 1;
        tc_context_use_pool(&context, pool);
    }
    return bench_serve(&(bench_model){.call = call, .fresh = call, .profile = profile});
}
