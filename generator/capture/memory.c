/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 18 };

struct tc_arena_block {
    struct tc_arena_block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

void *tc_arena_alloc(tc_arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct tc_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = calloc(1, sizeof *block + room);
        if (!block) {
            if (arena->escape)
                longjmp(*arena->escape, TC_NO_MEMORY);
            abort();
        }
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *p = block->bytes + block->used;
    block->used += size;
    return p;
}

char *tc_arena_copy(tc_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(tc_arena_alloc(arena, n), text, n);
}

char *tc_arena_vformat(tc_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = tc_arena_alloc(arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

char *tc_arena_format(tc_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = tc_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

bool tc_arena_holds(const tc_arena *arena, const void *p, size_t size)
{
    const uintptr_t at = (uintptr_t)p;
    for (const struct tc_arena_block *block = arena->blocks; block; block = block->next) {
        const uintptr_t first = (uintptr_t)block->bytes;
        if (at >= first && at - first <= block->used && size <= block->used - (at - first))
            return true;
    }
    return false;
}

void tc_arena_free(tc_arena *arena)
{
    while (arena->blocks) {
        struct tc_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
