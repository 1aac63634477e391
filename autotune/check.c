/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <tensor_compile/runtime.h>

#include "data.h"
#include "guard.h"
#include "memory.h"

int tc_isa_runs(const char *isa)
{
    for (int cpu = 0; cpu < TC_CPU_COUNT; ++cpu)
        if (strcmp(isa, tc_cpu_name((tc_cpu)cpu)) == 0)
            return tc_cpu_detect() >> cpu & 1;
    return 0;
}

#define LONG_CALL 5e8 /* operations */

static size_t bytes(const tc_param *param)
{
    return tc_data_size(param->type) * (size_t)param->elements;
}

int tc_expectation_init(tc_expectation *expectation, const tc_case *a_case, tc_fill fill)
{
    *expectation = (tc_expectation){.fill = fill};
    if (a_case->param_count > TC_MOST_PARAMS)
        return 0;
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        void *input = expectation->inputs[i] = tc_memory_take(bytes(param));
        void *result = expectation->results[i] = tc_memory_take(bytes(param));
        if (!input || !result)
            return 0;
        tc_data_fill(input, param, fill, (uint64_t)(100 * (int)fill + i));
        memcpy(result, input, bytes(param));
    }
    a_case->reference(expectation->results, a_case->dims, 0, 1);
    return 1;
}

void tc_expectation_finish(tc_expectation *expectation, const tc_case *a_case)
{
    for (int i = 0; i < a_case->param_count && i < TC_MOST_PARAMS; ++i) {
        tc_memory_give(expectation->inputs[i]);
        tc_memory_give(expectation->results[i]);
    }
}

/* One call with a team of `threads`, buffers at one side of their rooms. */
static int check_call(const tc_case *a_case, const tc_candidate *candidate, const tc_expectation *expectation,
                      int threads, int at_end, char *why, size_t why_size)
{
    tc_guard guards[TC_MOST_PARAMS] = {{0}};
    void *buffers[TC_MOST_PARAMS];
    int right = 0;
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        if (!tc_guard_init(&guards[i], bytes(param), param->aligned ? 64 : tc_data_size(param->type), at_end)) {
            snprintf(why, why_size, "no memory");
            goto finish;
        }
        buffers[i] = guards[i].data;
        memcpy(buffers[i], expectation->inputs[i], bytes(param));
    }
    for (int thread = threads - 1; thread >= 0; --thread)
        candidate->run(buffers, a_case->dims, thread, threads);
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        const tc_index at = param->scratch ? -1 : tc_data_differ(buffers[i], expectation->results[i], param);
        if (at >= 0) {
            const size_t offset = tc_data_size(param->type) * (size_t)at;
            uint32_t got = 0, want = 0;
            memcpy(&got, (char *)buffers[i] + offset, tc_data_size(param->type) < 4 ? 1 : 4);
            memcpy(&want, (char *)expectation->results[i] + offset, tc_data_size(param->type) < 4 ? 1 : 4);
            snprintf(why, why_size, "%s[%ld] is 0x%08lx instead of 0x%08lx (%s data, team of %d)", param->name,
                     (long)at, (unsigned long)got, (unsigned long)want, tc_fill_names[expectation->fill], threads);
            goto finish;
        }
        if (!tc_guard_intact(&guards[i])) {
            snprintf(why, why_size, "writes beside %s (%s data, team of %d)", param->name,
                     tc_fill_names[expectation->fill], threads);
            goto finish;
        }
    }
    right = 1;
finish:
    for (int i = 0; i < a_case->param_count; ++i)
        tc_guard_finish(&guards[i]);
    return right;
}

int tc_check(const tc_case *a_case, const tc_candidate *candidate, const tc_expectation *expectation, char *why,
             size_t why_size)
{
    static const int teams[] = {1, 5, 23};     /* threads, and pieces of their parts */
    const int all = a_case->flops < LONG_CALL; /* else one of them for each kind of data */
    for (int t = 0; t < 3; ++t)
        if ((all || t == (int)expectation->fill % 3) &&
            !check_call(a_case, candidate, expectation, teams[t], ((int)expectation->fill + t) % 2 == 0, why, why_size))
            return 0;
    return 1;
}
