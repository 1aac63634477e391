/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads lines of "work barriers threads" and prints how many of so many threads, which are all awake, the core gives a call
 * of that work with so many barriers.
 */
#include "../../runtime/core/run.c" /* team_size, which is static */

#include <inttypes.h>
#include <stdio.h>

static uint64_t work;

static uint64_t work_said(const tc_index *dims)
{
    (void)dims;
    return work;
}

static void run_nothing(void *user, tc_index threads, tc_team_job *job, void *argument)
{
    (void)user, (void)threads, (void)job, (void)argument;
}

static tc_index all(void *user, tc_index threads, uint64_t operations)
{
    (void)user, (void)operations;
    return threads;
}

int main(void)
{
    unsigned barriers;
    long long threads;
    while (scanf("%" SCNu64 " %u %lld", &work, &barriers, &threads) == 3) {
        const tc_variant variant = {.work = work_said, .barriers = barriers};
        const tc_function function = {.max_threads = (tc_index)threads};
        tc_context context = {.team = {run_nothing, NULL, (tc_index)threads, all}};
        const long long fewer_of_team = (long long)team_size(&context, &function, &variant, NULL);
        context.team.threads = (tc_index)threads + 7;
        const long long fewer_of_target = (long long)team_size(&context, &function, &variant, NULL);
        printf("%lld\n", fewer_of_team == fewer_of_target ? fewer_of_team : -1);
    }
    return 0;
}
