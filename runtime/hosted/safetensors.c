/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files, read: what their dtypes are, what holds of all tensors, and the functions of a program.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "safetensors_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADER = 100 << 20 }; /* the limit of the format's reference implementation */

static const tc_safetensors_type types[] = {{"F32", TC_DTYPE_F32, 4},      {"F64", TC_DTYPE_F64, 8},
                                            {"F16", TC_DTYPE_F16, 2},      {"BF16", TC_DTYPE_BF16, 2},
                                            {"I8", TC_DTYPE_I8, 1},        {"I16", TC_DTYPE_I16, 2},
                                            {"I32", TC_DTYPE_I32, 4},      {"I64", TC_DTYPE_I64, 8},
                                            {"U8", TC_DTYPE_U8, 1},        {"U16", TC_DTYPE_U16, 2},
                                            {"U32", TC_DTYPE_U32, 4},      {"U64", TC_DTYPE_U64, 8},
                                            {"BOOL", TC_DTYPE_BOOL, 1},    {"F8_E4M3", TC_DTYPE_COUNT, 1},
                                            {"F8_E5M2", TC_DTYPE_COUNT, 1}};

enum { TYPES = sizeof types / sizeof *types };

const tc_safetensors_type *tc_safetensors_type_named(const char *name)
{
    for (int i = 0; i < TYPES; ++i)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

const tc_safetensors_type *tc_safetensors_type_of(tc_dtype dtype)
{
    for (int i = 0; i < TYPES; ++i)
        if (types[i].dtype == dtype && dtype != TC_DTYPE_COUNT)
            return &types[i];
    return NULL;
}

bool tc_safetensors_fail(tc_safetensors *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file->message, sizeof file->message, format, arguments);
    va_end(arguments);
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const tc_safetensor *const *)a)->name, (*(const tc_safetensor *const *)b)->name);
}

static int by_data(const void *a, const void *b)
{
    const tc_safetensor *x = *(const tc_safetensor *const *)a, *y = *(const tc_safetensor *const *)b;
    if (x->data != y->data)
        return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

const tc_safetensor **tc_safetensors_sorted(const tc_safetensor *tensors, size_t count, const tc_safetensor **twice)
{
    const tc_safetensor **sorted = malloc((count + 1) * sizeof *sorted);
    *twice = NULL;
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < count; ++i)
        sorted[i] = &tensors[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count && !*twice; ++i)
        if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
            *twice = sorted[i];
    return sorted;
}

/* No two tensors have one name, and they cover the data without gap and overlap. */
static bool check_layout(tc_safetensors *file, const unsigned char *data, uint64_t data_bytes)
{
    const tc_safetensor *twice;
    uint64_t used = 0;
    file->sorted = tc_safetensors_sorted(file->tensors, file->count, &twice);
    if (!file->sorted)
        return tc_safetensors_fail(file, "out of memory");
    if (twice)
        return tc_safetensors_fail(file, "two tensors named \"%s\"", twice->name);
    qsort(file->sorted, file->count, sizeof *file->sorted, by_data);
    for (size_t i = 0; i < file->count; ++i) {
        const tc_safetensor *t = file->sorted[i];
        const uint64_t at = (uint64_t)((const unsigned char *)t->data - data);
        if (at != used)
            return tc_safetensors_fail(file, "not a valid safetensors file: \"%s\" %s", t->name,
                                       at < used ? "overlaps another tensor" : "follows a gap in the data");
        used += t->bytes;
    }
    if (used != data_bytes)
        return tc_safetensors_fail(file, "not a valid safetensors file: %llu bytes of data after the last tensor",
                                   (unsigned long long)(data_bytes - used));
    qsort(file->sorted, file->count, sizeof *file->sorted, by_name);
    return true;
}

static bool parse(tc_safetensors *file, const unsigned char *bytes, size_t length)
{
    uint64_t header = 0;
    if (length < 8)
        return tc_safetensors_fail(file, "not a safetensors file: %zu bytes", length);
    for (int i = 7; i >= 0; --i)
        header = header << 8 | bytes[i];
    if (header > MAX_HEADER || header > length - 8)
        return tc_safetensors_fail(file,
                                   "not a safetensors file, or truncated: a header of %llu bytes in a file of %zu",
                                   (unsigned long long)header, length);
    const unsigned char *data = bytes + 8 + header;
    const uint64_t data_bytes = length - 8 - header;
    return tc_safetensors_read_header(file, (const char *)bytes + 8, (size_t)header, data, data_bytes) &&
           check_layout(file, data, data_bytes);
}

tc_status tc_safetensors_parse(tc_safetensors *file, const void *bytes, size_t length)
{
    if (!file)
        return TC_STATUS_NULL_POINTER;
    *file = (tc_safetensors){0};
    if (!bytes)
        return TC_STATUS_NULL_POINTER;
    if (parse(file, bytes, length))
        return TC_STATUS_OK;
    tc_safetensors_close(file);
    return TC_STATUS_BAD_WEIGHTS;
}

tc_status tc_safetensors_open(tc_safetensors *file, const char *path)
{
    if (!file)
        return TC_STATUS_NULL_POINTER;
    *file = (tc_safetensors){0};
    if (!path)
        return TC_STATUS_NULL_POINTER;
    /* of a FIFO, it does not wait for a writer */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        const int error = errno;
        tc_safetensors_fail(file, "cannot be opened: %s", strerror(error));
        if (fd >= 0)
            close(fd);
        errno = error;
        return TC_STATUS_SYSTEM;
    }
    tc_status status = TC_STATUS_OK;
    void *map = NULL;
    if (!S_ISREG(info.st_mode) || (uintmax_t)info.st_size > PTRDIFF_MAX) {
        tc_safetensors_fail(file, "is not a regular file");
        status = TC_STATUS_BAD_WEIGHTS;
    } else if (info.st_size == 0) {
        tc_safetensors_fail(file, "not a safetensors file: 0 bytes");
        status = TC_STATUS_BAD_WEIGHTS;
    } else if ((map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
        tc_safetensors_fail(file, "cannot be mapped: %s", strerror(errno));
        status = TC_STATUS_SYSTEM;
    }
    const int error = errno;
    close(fd);
    errno = error;
    if (status != TC_STATUS_OK)
        return status;
    file->map = map;
    file->map_bytes = (size_t)info.st_size;
    if (parse(file, map, file->map_bytes))
        return TC_STATUS_OK;
    tc_safetensors_close(file);
    return TC_STATUS_BAD_WEIGHTS;
}

/* The message stays. */
void tc_safetensors_close(tc_safetensors *file)
{
    if (!file)
        return;
    free((void *)(uintptr_t)file->tensors);
    free(file->sorted);
    free(file->names);
    if (file->map)
        munmap(file->map, file->map_bytes);
    file->tensors = NULL;
    file->sorted = NULL;
    file->count = 0;
    file->names = file->map = NULL;
    file->map_bytes = 0;
}

const tc_safetensor *tc_safetensors_find(const tc_safetensors *file, const char *name)
{
    const tc_safetensor wanted = {.name = name}, *key = &wanted;
    const tc_safetensor *const *found = NULL;
    if (file && file->count && name)
        found = bsearch(&key, file->sorted, file->count, sizeof *file->sorted, by_name);
    return found ? *found : NULL;
}

tc_status tc_safetensors_read(tc_safetensors *file, const char *name, tc_dtype dtype, void *to, size_t bytes)
{
    if (!file || !name || (!to && bytes))
        return TC_STATUS_NULL_POINTER;
    const tc_safetensor *t = tc_safetensors_find(file, name);
    const tc_safetensors_type *wanted = tc_safetensors_type_of(dtype);
    if (!t)
        tc_safetensors_fail(file, "no tensor \"%s\"", name);
    else if (t->dtype != dtype)
        tc_safetensors_fail(file, "\"%s\" is %s, not %s", name, t->dtype_name, wanted ? wanted->name : "a dtype");
    else if (t->bytes != bytes)
        tc_safetensors_fail(file, "\"%s\" has %zu bytes, not %zu", name, t->bytes, bytes);
    else if (bytes)
        memcpy(to, t->data, bytes);
    return t && t->dtype == dtype && t->bytes == bytes ? TC_STATUS_OK : TC_STATUS_BAD_ARGUMENT;
}
