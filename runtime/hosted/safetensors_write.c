/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files, written.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "safetensors_parts.h"
#include "utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool can_be_written(const tc_safetensor *t)
{
    const tc_safetensors_type *type = tc_safetensors_type_of(t->dtype);
    if (!type || t->rank < 0 || t->rank > TC_SAFETENSORS_MAX_RANK || !tc_is_utf8(t->name))
        return false;
    size_t bytes = type->bytes;
    for (int d = 0; d < t->rank; ++d)
        if (t->shape[d] < 0 || __builtin_mul_overflow(bytes, (size_t)t->shape[d], &bytes))
            return false;
    return bytes == t->bytes;
}

static tc_status check_all(const tc_safetensor *tensors, size_t count)
{
    const tc_safetensor *twice;
    for (size_t i = 0; i < count; ++i)
        if (!tensors[i].name || (!tensors[i].data && tensors[i].bytes))
            return TC_STATUS_NULL_POINTER;
        else if (!can_be_written(&tensors[i]))
            return TC_STATUS_BAD_ARGUMENT;
    const tc_safetensor **sorted = tc_safetensors_sorted(tensors, count, &twice);
    if (!sorted)
        return TC_STATUS_SYSTEM;
    free(sorted);
    return twice ? TC_STATUS_BAD_ARGUMENT : TC_STATUS_OK;
}

static void write_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; ++text)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            putc(*text, out);
    putc('"', out);
}

/* The JSON, filled up with spaces so that data begins at a multiple of eight bytes. The sizes 8, 4, 2, 1 in turn give
 * the data its order. */
static void write_header(FILE *out, const tc_safetensor *tensors, size_t count)
{
    size_t offset = 0;
    bool first = true;
    putc('{', out);
    for (size_t size = 8; size; size /= 2)
        for (size_t i = 0; i < count; ++i) {
            const tc_safetensor *t = &tensors[i];
            const tc_safetensors_type *type = tc_safetensors_type_of(t->dtype);
            if (type->bytes != size)
                continue;
            if (!first)
                putc(',', out);
            first = false;
            write_quoted(out, t->name);
            fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", type->name);
            for (int d = 0; d < t->rank; ++d)
                fprintf(out, d ? ",%lld" : "%lld", (long long)t->shape[d]);
            fprintf(out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + t->bytes);
            offset += t->bytes;
        }
    putc('}', out);
}

/* malloc'd, `length` bytes: what precedes the data. NULL: no memory. */
static char *header_of(const tc_safetensor *tensors, size_t count, size_t *length)
{
    char *header = NULL;
    FILE *out = open_memstream(&header, length);
    if (!out)
        return NULL;
    fputs("12345678", out); /* the place of its length */
    write_header(out, tensors, count);
    bool ok = fflush(out) == 0;
    for (size_t at = *length; at % 8; ++at)
        putc(' ', out);
    ok = !ferror(out) && ok;
    if (fclose(out) != 0 || !ok) {
        free(header);
        return NULL;
    }
    for (int i = 0; i < 8; ++i)
        header[i] = (char)((uint64_t)(*length - 8) >> 8 * i & 255);
    return header;
}

/* From front to end: a FIFO is not sought in. */
static bool write_file(FILE *out, const tc_safetensor *tensors, size_t count)
{
    size_t length = 0;
    char *header = header_of(tensors, count, &length);
    if (!header)
        return false;
    fwrite(header, 1, length, out);
    free(header);
    for (size_t size = 8; size; size /= 2)
        for (size_t i = 0; i < count; ++i)
            if (tc_safetensors_type_of(tensors[i].dtype)->bytes == size && tensors[i].bytes)
                fwrite(tensors[i].data, 1, tensors[i].bytes, out);
    return fflush(out) == 0 && !ferror(out);
}

/* The path that the link `path` holds, from where the link lies; malloc'd. NULL: no link, or errno says why. */
static char *link_target(const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    for (size_t room = 256;; room *= 2) {
        char *target = malloc(folder + room);
        if (!target)
            return NULL;
        memcpy(target, path, folder);
        const ssize_t length = readlink(path, target + folder, room);
        if (length < 0) {
            const int error = errno;
            free(target);
            errno = error;
            return NULL;
        }
        if ((size_t)length < room) {
            target[folder + (size_t)length] = 0;
            if (target[folder] == '/')
                memmove(target, target + folder, (size_t)length + 1);
            return target;
        }
        free(target);
    }
}

/* The file that `path` leads to over links, which need not exist; malloc'd. *direct: it is to be written in its place:
 * it is no regular file, or one without a name (/dev/stdout may lead to it). NULL: errno says why. */
static char *place_of(const char *path, bool *direct)
{
    struct stat at, found;
    const bool exists = stat(path, &at) == 0;
    if (!exists && errno != ENOENT)
        return NULL;
    *direct = exists && !S_ISREG(at.st_mode);
    char *place = malloc(strlen(path) + 1);
    if (!place || *direct)
        return place ? strcpy(place, path) : NULL;
    strcpy(place, path);
    for (char *next; (next = link_target(place));) { /* stat has told of links in a circle */
        free(place);
        place = next;
    }
    if (errno != EINVAL && errno != ENOENT) {
        free(place);
        return NULL;
    }
    if (exists && (stat(place, &found) != 0 || found.st_dev != at.st_dev || found.st_ino != at.st_ino)) {
        free(place);
        *direct = true;
        place = malloc(strlen(path) + 1);
        return place ? strcpy(place, path) : NULL;
    }
    return place;
}

tc_status tc_safetensors_write(const char *path, const tc_safetensor *tensors, size_t count)
{
    if (!path || (!tensors && count))
        return TC_STATUS_NULL_POINTER;
    const tc_status status = check_all(tensors, count);
    if (status != TC_STATUS_OK)
        return status;
    bool direct = false;
    char *place = place_of(path, &direct);
    if (!place)
        return TC_STATUS_SYSTEM;
    const size_t length = strlen(place) + 32;
    char *name = malloc(length);
    if (!name) {
        free(place);
        return TC_STATUS_SYSTEM;
    }
    snprintf(name, length, direct ? "%s" : "%s.%ld.tmp", place, (long)getpid());
    FILE *out = fopen(name, "wb");
    bool ok = out != NULL;
    int error = errno;
    if (out) {
        ok = write_file(out, tensors, count);
        error = errno;
        if (fclose(out) != 0 && ok) {
            ok = false;
            error = errno;
        }
        if (ok && !direct && rename(name, place) != 0) {
            ok = false;
            error = errno;
        }
        if (!ok && !direct)
            remove(name);
    }
    free(name);
    free(place);
    errno = error;
    return ok ? TC_STATUS_OK : TC_STATUS_SYSTEM;
}
