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
    for (long at = ftell(out); at % 8; ++at)
        putc(' ', out);
}

static bool write_file(FILE *out, const tc_safetensor *tensors, size_t count)
{
    static const char place[8] = {0};
    fwrite(place, 1, sizeof place, out);
    write_header(out, tensors, count);
    const long end = ftell(out);
    if (end < 8)
        return false;
    for (size_t size = 8; size; size /= 2)
        for (size_t i = 0; i < count; ++i)
            if (tc_safetensors_type_of(tensors[i].dtype)->bytes == size && tensors[i].bytes)
                fwrite(tensors[i].data, 1, tensors[i].bytes, out);
    if (fseek(out, 0, SEEK_SET) != 0)
        return false;
    for (int i = 0; i < 8; ++i)
        putc((int)((uint64_t)(end - 8) >> 8 * i & 255), out);
    return fflush(out) == 0 && !ferror(out);
}

tc_status tc_safetensors_write(const char *path, const tc_safetensor *tensors, size_t count)
{
    if (!path || (!tensors && count))
        return TC_STATUS_NULL_POINTER;
    const tc_status status = check_all(tensors, count);
    if (status != TC_STATUS_OK)
        return status;
    const size_t length = strlen(path) + 32;
    char *temporary = malloc(length);
    if (!temporary)
        return TC_STATUS_SYSTEM;
    snprintf(temporary, length, "%s.%ld.tmp", path, (long)getpid());
    FILE *out = fopen(temporary, "wb");
    bool ok = out != NULL;
    int error = errno;
    if (out) {
        ok = write_file(out, tensors, count);
        error = errno;
        if (fclose(out) != 0 && ok) {
            ok = false;
            error = errno;
        }
        if (ok && rename(temporary, path) != 0) {
            ok = false;
            error = errno;
        }
        if (!ok)
            remove(temporary);
    }
    free(temporary);
    errno = error;
    return ok ? TC_STATUS_OK : TC_STATUS_SYSTEM;
}
