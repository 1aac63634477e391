/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGN = 64 };

void *tc_memory_take(size_t size)
{
    char *const block = malloc(size + ALIGN + sizeof(void *));
    if (!block)
        return NULL;
    void **const at = (void **)(((uintptr_t)block + sizeof(void *) + ALIGN - 1) / ALIGN * ALIGN);
    at[-1] = block;
    return at;
}

void tc_memory_give(void *taken)
{
    if (taken)
        free(((void **)taken)[-1]);
}
