/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__unix__)
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#endif
#include "guard.h"

#include <string.h>

#include "memory.h"

#define ZONE 512 /* bytes of pattern where there is no protection */

static size_t page(void)
{
#if defined(__unix__)
    return (size_t)sysconf(_SC_PAGESIZE);
#else
    return ZONE;
#endif
}

int tc_guard_init(tc_guard *guard, size_t size, size_t align, int at_end)
{
    const size_t zone = page(), room = (size + zone - 1) / zone * zone;
    guard->size = size;
    guard->total = room + 2 * zone;
#if defined(__unix__)
    guard->base = mmap(NULL, guard->total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guard->base == MAP_FAILED)
        return 0;
#else
    guard->base = tc_memory_take(guard->total);
    if (guard->base == NULL)
        return 0;
#endif
    memset(guard->base, TC_GUARD_PATTERN, guard->total);
    guard->data = guard->base + zone + (at_end ? (room - size) / align * align : 0);
#if defined(__unix__)
    mprotect(guard->base, zone, PROT_NONE);
    mprotect(guard->base + zone + room, zone, PROT_NONE);
#endif
    return 1;
}

static int untouched(const unsigned char *begin, const unsigned char *end)
{
    while (begin < end && *begin == TC_GUARD_PATTERN)
        ++begin;
    return begin >= end;
}

int tc_guard_intact(const tc_guard *guard)
{
    const unsigned char *data = guard->data, *begin = guard->base, *end = guard->base + guard->total;
#if defined(__unix__)
    begin += page();
    end -= page();
#endif
    return untouched(begin, data) && untouched(data + guard->size, end);
}

void tc_guard_finish(tc_guard *guard)
{
#if defined(__unix__)
    if (guard->base)
        munmap(guard->base, guard->total);
#else
    tc_memory_give(guard->base);
#endif
    guard->base = NULL;
}
