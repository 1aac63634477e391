/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights in huge pages. Those of Linux that need no privilege are memory of a process's own, while weights are pages of a
 * file, mapped or the program's: so they are copied, and the copy takes their place at the same addresses.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* madvise, mremap */
#endif
#include <tensor_compile/driver.h>
#include <tensor_compile/hosted.h>

#if defined(__linux__)

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { HEADER = 128 }; /* core/weights.c */

/* The bytes of a huge page; 0 where the system gives none to those that ask. */
static size_t huge_page(void)
{
    static const char enabled[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    static const char bytes[] = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    char line[80] = "";
    size_t size = 0;
    FILE *file = fopen(enabled, "r");
    const int given = file && fgets(line, sizeof line, file) && !strstr(line, "[never]");
    if (file)
        fclose(file);
    if (!given || !(file = fopen(bytes, "r")))
        return 0;
    if (fscanf(file, "%zu", &size) != 1 || size & (size - 1))
        size = 0;
    fclose(file);
    return size;
}

/* How many bytes of [begin, end) lie in huge pages, as the system counts them for mappings that have a part of it. */
static size_t counted(uintptr_t begin, uintptr_t end)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[4200];
    size_t bytes = 0;
    int inside = 0;
    while (file && fgets(line, sizeof line, file)) {
        uintptr_t from, to;
        size_t kilobytes;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            inside = from < end && to > begin;
        else if (inside && (sscanf(line, "AnonHugePages: %zu kB", &kilobytes) == 1 ||
                            sscanf(line, "FilePmdMapped: %zu kB", &kilobytes) == 1))
            bytes += 1024 * kilobytes;
    }
    if (file)
        fclose(file);
    return bytes < end - begin ? bytes : end - begin;
}

/* Puts a copy of [begin, end), whole huge pages, in its place. The copy is not kept where it has no huge page. */
static void move(uintptr_t begin, uintptr_t end, size_t page)
{
    const size_t bytes = end - begin;
    unsigned char *const room = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return;
    const size_t before = (page - (uintptr_t)room % page) % page;
    unsigned char *const copy = room + before;
    if (before)
        munmap(room, before);
    if (page > before)
        munmap(copy + bytes, page - before);
    if (madvise(copy, bytes, MADV_HUGEPAGE) == 0) {
        memcpy(copy, (const void *)begin, bytes);
        if (counted((uintptr_t)copy, (uintptr_t)copy + bytes) && mprotect(copy, bytes, PROT_READ) == 0 &&
            mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin) != MAP_FAILED)
            return;
    }
    munmap(copy, bytes);
}

size_t tc_weights_use_huge_pages(const tc_model *model, const void *weights)
{
    const unsigned char *const data = !model ? NULL : model->weights ? model->weights : weights;
    const size_t page = data ? huge_page() : 0;
    if (!page)
        return 0;
    const size_t bytes = (size_t)model->weights_bytes + (model->weights ? 0 : HEADER);
    const uintptr_t begin = ((uintptr_t)data + page - 1) / page * page, end = ((uintptr_t)data + bytes) / page * page;
    if (end <= begin)
        return 0;
    if (!counted(begin, end))
        move(begin, end, page);
    return counted(begin, end);
}

#else

size_t tc_weights_use_huge_pages(const tc_model *model, const void *weights)
{
    (void)model, (void)weights;
    return 0;
}

#endif
