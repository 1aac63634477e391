/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

void *tc_memory_take_behind(size_t size, size_t skipped)
{
    char *const block = malloc(size + skipped + TC_MEMORY_LINE + sizeof(void *));
    if (!block)
        return NULL;
    const uintptr_t first = (uintptr_t)block + sizeof(void *) + TC_MEMORY_LINE - 1;
    void **const at = (void **)(first / TC_MEMORY_LINE * TC_MEMORY_LINE + skipped);
    at[-1] = block;
    return at;
}

void *tc_memory_take(size_t size)
{
    return tc_memory_take_behind(size, 0);
}

void tc_memory_give(void *taken)
{
    if (taken)
        free(((void **)taken)[-1]);
}
