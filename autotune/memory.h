/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that begins at a multiple of 64 bytes, on what every C library has.
 */
#ifndef TC_AUTOTUNE_MEMORY_H
#define TC_AUTOTUNE_MEMORY_H

#include <stddef.h>

/* NULL where memory is short. */
void *tc_memory_take(size_t size);

void tc_memory_give(void *taken);

#endif
