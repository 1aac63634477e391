/* SPDX-License-Identifier: Apache-2.0 */
#include "copies.h"

#include <string.h>

#include "memory.h"

void tc_copies_init(tc_copies *copies, const tc_case *a_case)
{
    size_t lines = 0;
    *copies = (tc_copies){.count = 1};
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *const param = &a_case->params[i];
        copies->offsets[i] = lines * TC_MEMORY_LINE;
        if (param->constant)
            lines += (tc_data_size(param->type) * (size_t)param->elements + TC_MEMORY_LINE - 1) / TC_MEMORY_LINE;
    }
    if (!lines || !a_case->between)
        return;
    copies->stride = (lines | 1) * TC_MEMORY_LINE; /* of odd lines: copies lie in the sets of a cache differently */
    long count = (long)((a_case->between + copies->stride - 1) / copies->stride);
    for (; count > 1 && !copies->all; count = copies->all ? count : count / 2)
        copies->all = tc_memory_take((size_t)count * copies->stride);
    if (!copies->all)
        return;
    copies->count = count;
    for (int i = 0; i < a_case->param_count; ++i)
        if (a_case->params[i].constant)
            tc_data_fill(copies->all + copies->offsets[i], &a_case->params[i], TC_FILL_PLAIN, (uint64_t)i);
    for (long c = 1; c < count; ++c)
        memcpy(copies->all + (size_t)c * copies->stride, copies->all, lines * TC_MEMORY_LINE);
}

int tc_copies_hold(const tc_copies *copies, const tc_param *param)
{
    return copies->count > 1 && param->constant;
}

void tc_copies_turn(tc_copies *copies, const tc_case *a_case, void **buffers)
{
    if (copies->count == 1)
        return;
    unsigned char *const copy = copies->all + (size_t)copies->next * copies->stride;
    for (int i = 0; i < a_case->param_count; ++i)
        if (a_case->params[i].constant)
            buffers[i] = copy + copies->offsets[i];
    copies->next = copies->next + 1 < copies->count ? copies->next + 1 : 0;
}

void tc_copies_finish(tc_copies *copies)
{
    tc_memory_give(copies->all);
    copies->all = NULL;
}
