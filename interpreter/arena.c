/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct tci_arena_block {
    struct tci_arena_block *next;
    size_t used, capacity;
    alignas(max_align_t) unsigned char bytes[];
};

void *tci_arena_alloc(tci_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    struct tci_arena_block *block = arena->blocks;
    if (block == NULL || block->capacity - block->used < bytes) {
        const size_t capacity = bytes > 65536 ? bytes : 65536;
        block = calloc(1, sizeof *block + capacity);
        if (block == NULL)
            return NULL;
        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *result = block->bytes + block->used;
    block->used += bytes;
    return result;
}

char *tci_arena_text(tci_arena *arena, const char *text, size_t length)
{
    char *copy = tci_arena_alloc(arena, length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

void *tci_arena_grow(tci_arena *arena, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    const size_t larger = *capacity == 0 ? 8 : *capacity * 2;
    void *copy = tci_arena_alloc(arena, larger, size);
    if (copy == NULL)
        return NULL;
    if (count != 0)
        memcpy(copy, array, count * size);
    *capacity = larger;
    return copy;
}

void tci_arena_finish(tci_arena *arena)
{
    while (arena->blocks != NULL) {
        struct tci_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
