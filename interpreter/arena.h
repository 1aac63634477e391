/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for what lives as long as a parsed text: allocated in pieces, freed at once.
 */
#ifndef TCI_ARENA_H
#define TCI_ARENA_H

#include <stddef.h>

struct tci_arena_block;

typedef struct tci_arena {
    struct tci_arena_block *blocks;
} tci_arena; /* starts as {0} */

/* count elements of size bytes, zeroed, aligned for any type; NULL where memory is out or the size overflows. */
void *tci_arena_alloc(tci_arena *arena, size_t count, size_t size);

/* A copy of length bytes with a final NUL; NULL where memory is out. */
char *tci_arena_text(tci_arena *arena, const char *text, size_t length);

/* An array of *capacity elements with room for one more than count: the same array, or a larger copy; NULL: no
 * memory. */
void *tci_arena_grow(tci_arena *arena, void *array, size_t count, size_t *capacity, size_t size);

void tci_arena_finish(tci_arena *arena);

#endif
