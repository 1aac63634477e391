/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: memory that is freed all at once. Where memory ends, what works with the arena is left by its `escape`: a
 * capture has nothing to save. Without one that is abort().
 */
#ifndef TC_CAPTURE_MEMORY_H
#define TC_CAPTURE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define TC_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define TC_PRINTF(text, first)
#endif

typedef struct tc_arena {
    struct tc_arena_block *blocks;
    jmp_buf *escape; /* gets TC_NO_MEMORY */
} tc_arena;

enum { TC_NO_MEMORY = 1 };

/* Zeroed memory of `size` bytes, aligned to 16. */
void *tc_arena_alloc(tc_arena *arena, size_t size);
char *tc_arena_copy(tc_arena *arena, const char *text);
char *tc_arena_format(tc_arena *arena, const char *format, ...) TC_PRINTF(2, 3);
char *tc_arena_vformat(tc_arena *arena, const char *format, va_list args);
/* Whether `size` bytes at p are the arena's; p is only compared. */
bool tc_arena_holds(const tc_arena *arena, const void *p, size_t size);
void tc_arena_free(tc_arena *arena);

#endif
