/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that begins at a multiple of 64 bytes, on what every C library has.
 */
#ifndef TC_AUTOTUNE_MEMORY_H
#define TC_AUTOTUNE_MEMORY_H

#include <stddef.h>

#define TC_MEMORY_LINE ((size_t)64)

/* NULL where memory is short. */
void *tc_memory_take(size_t size);

/* The same, behind so many bytes more (a multiple of a line): elsewhere in the caches. */
void *tc_memory_take_behind(size_t size, size_t skipped);

void tc_memory_give(void *taken);

#endif
