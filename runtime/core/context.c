/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts.
 */
#include "internal.h"

static unsigned detect(void *user)
{
    (void)user;
    return tc_cpu_detect();
}

tc_status tc_context_init(tc_context *context, void *arena, size_t arena_bytes)
{
    return tc_context_init_with(context, arena, arena_bytes, detect, NULL);
}

tc_status tc_context_init_with(tc_context *context, void *arena, size_t arena_bytes, unsigned (*ask)(void *user),
                               void *user)
{
    if (!context)
        return TC_STATUS_NULL_POINTER;
    memset(context, 0, sizeof *context);
    if (!ask || (!arena && arena_bytes))
        return tc_refuse(context, TC_STATUS_NULL_POINTER, NULL, &(tc_detail){.subject = ask ? "arena" : "detect"},
                         "%s is NULL");
    context->arena = arena; /* one that is misaligned, too: a call then says so, where this status is not looked at */
    context->arena_bytes = arena_bytes;
    context->team.threads = 1;
    context->cpus = ask(user);
    return tc_aligned(arena, TC_ALIGNMENT)
               ? TC_STATUS_OK
               : tc_refuse(context, TC_STATUS_MISALIGNED, NULL,
                           &(tc_detail){.subject = "arena", .position = -1, .low = TC_ALIGNMENT, .high = TC_ALIGNMENT},
                           "arena is not aligned to %l bytes");
}

void tc_context_limit_cpu(tc_context *context, tc_cpu best)
{
    static const unsigned char order[] = {
#define TC_INSTRUCTION_SET(name, upper, ...) TC_CPU_##upper,
#include <tensor_compile/instruction_sets.def>
    };
    unsigned kept = 0;
    if (!context || (unsigned)best >= TC_CPU_COUNT)
        return;
    for (unsigned i = 0; !(kept >> best & 1); ++i)
        kept |= 1u << order[i];
    context->cpus &= kept;
}
