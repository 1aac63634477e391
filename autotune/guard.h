/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers between guard zones. Where the system has memory protection a zone is a page that cannot be touched, so that
 * a read beyond the end is seen too; elsewhere it is a pattern, so that a write is.
 */
#ifndef TC_AUTOTUNE_GUARD_H
#define TC_AUTOTUNE_GUARD_H

#include <stddef.h>

/* What buffer and zones hold at first. */
#define TC_GUARD_PATTERN 0xa5

typedef struct {
    void *data; /* size bytes */
    size_t size;
    unsigned char *base; /* the whole allocation */
    size_t total;
} tc_guard;

/* at_end: the buffer ends where the second zone begins (as nearly as `align` allows), else it begins where the first
 * ends. Returns 0 where memory is short. */
int tc_guard_init(tc_guard *guard, size_t size, size_t align, int at_end);

/* Whether every byte outside the buffer is as init left it. */
int tc_guard_intact(const tc_guard *guard);

void tc_guard_finish(tc_guard *guard);

#endif
