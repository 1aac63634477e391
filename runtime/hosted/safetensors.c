/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files: the JSON of a header, its checks, and the writer. The only C that knows the format.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <tensor_compile/safetensors.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADER = 100 << 20 }; /* the limit of the format's reference implementation */

static const struct {
    const char *name;
    tc_dtype dtype;
    size_t size;
} dtypes[] = {{"F32", TC_DTYPE_F32, 4},   {"F64", TC_DTYPE_F64, 8},       {"F16", TC_DTYPE_F16, 2},
              {"BF16", TC_DTYPE_BF16, 2}, {"I8", TC_DTYPE_I8, 1},         {"I16", TC_DTYPE_I16, 2},
              {"I32", TC_DTYPE_I32, 4},   {"I64", TC_DTYPE_I64, 8},       {"U8", TC_DTYPE_U8, 1},
              {"U16", TC_DTYPE_U16, 2},   {"U32", TC_DTYPE_U32, 4},       {"U64", TC_DTYPE_U64, 8},
              {"BOOL", TC_DTYPE_BOOL, 1}, {"F8_E4M3", TC_DTYPE_COUNT, 1}, {"F8_E5M2", TC_DTYPE_COUNT, 1}};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* -- the JSON of headers: objects of strings and of descriptions of tensors ---------------------------------------- */

typedef struct reader {
    tc_safetensors *file;
    const char *text; /* of the header */
    size_t at, size;
    const unsigned char *data; /* behind the header */
    uint64_t data_bytes;
    char *names; /* where the next name goes: unescaped, all of them are shorter than the header */
    tc_safetensor *tensors;
    size_t room;
} reader;

__attribute__((format(printf, 2, 3))) static bool fail(tc_safetensors *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file->message, sizeof file->message, format, arguments);
    va_end(arguments);
    return false;
}

static bool bad(reader *r, const char *what)
{
    return fail(r->file, "not a valid safetensors file: %s at byte %zu of the header", what, r->at);
}

static bool peek(reader *r, char c)
{
    while (r->at < r->size && memchr(" \t\r\n", r->text[r->at], 4))
        ++r->at;
    return r->at < r->size && r->text[r->at] == c;
}

static bool take(reader *r, char c)
{
    return peek(r, c) && ++r->at;
}

static bool expect(reader *r, char c)
{
    const char what[] = {'\'', c, '\'', ' ', 'm', 'i', 's', 's', 'i', 'n', 'g', '\0'};
    return take(r, c) || bad(r, what);
}

static bool read_hex4(reader *r, unsigned *value)
{
    *value = 0;
    for (int i = 0; i < 4; ++i, ++r->at) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = r->at < r->size && r->text[r->at] ? strchr(digits, r->text[r->at]) : NULL;
        if (!digit)
            return bad(r, "a bad \\u escape");
        *value = *value * 16 + (unsigned)(digit - digits - (digit - digits > 15 ? 6 : 0));
    }
    return true;
}

static char *put_utf8(char *out, unsigned c)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; --i, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[length] | c);
    return out + length;
}

/* Behind a backslash. */
static bool read_escape(reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = r->at < r->size ? r->text[r->at++] : '\0';
    const char *simple = c ? strchr(names, c) : NULL;
    unsigned code, low;
    if (simple) {
        *(*out)++ = values[simple - names];
        return true;
    }
    if (c != 'u')
        return bad(r, "a bad escape");
    if (!read_hex4(r, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && r->size - r->at >= 2 && !memcmp(r->text + r->at, "\\u", 2)) {
        r->at += 2;
        if (!read_hex4(r, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return bad(r, "a bad \\u escape");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (!code || (code >= 0xd800 && code < 0xe000))
        return bad(r, "a bad \\u escape");
    *out = put_utf8(*out, code);
    return true;
}

/* No cut, overlong or surrogate sequence, nothing beyond U+10FFFF. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const unsigned first = *p++;
        const int more = first < 0x80   ? 0
                         : first < 0xc2 ? -1
                         : first < 0xe0 ? 1
                         : first < 0xf0 ? 2
                         : first < 0xf5 ? 3
                                        : -1;
        const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (more < 0 || (more > 0 && (*p < low || *p > high)))
            return false;
        for (int i = 0; i < more; ++i)
            if ((*p++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static const char *read_string(reader *r)
{
    char *const text = r->names, *out = text;
    if (!expect(r, '"'))
        return NULL;
    while (r->at < r->size && r->text[r->at] != '"') {
        const char c = r->text[r->at++];
        if ((unsigned char)c < 0x20) {
            bad(r, "a control character in a string");
            return NULL;
        }
        if (c != '\\')
            *out++ = c;
        else if (!read_escape(r, &out))
            return NULL;
    }
    if (!expect(r, '"'))
        return NULL;
    *out++ = '\0';
    if (!is_utf8(text)) {
        bad(r, "a string that is no UTF-8");
        return NULL;
    }
    r->names = out;
    return text;
}

static bool read_number(reader *r, uint64_t *value)
{
    *value = 0;
    if (!peek(r, '0') && !(r->at < r->size && r->text[r->at] >= '1' && r->text[r->at] <= '9'))
        return bad(r, "an unsigned integer missing");
    for (; r->at < r->size && r->text[r->at] >= '0' && r->text[r->at] <= '9'; ++r->at) {
        const uint64_t digit = (uint64_t)(r->text[r->at] - '0');
        if (*value > (INT64_MAX - digit) / 10)
            return bad(r, "a number beyond 63 bits");
        *value = *value * 10 + digit;
    }
    return true;
}

static bool read_metadata(reader *r)
{
    if (!expect(r, '{'))
        return false;
    if (take(r, '}'))
        return true;
    do {
        if (!read_string(r) || !expect(r, ':') || !read_string(r))
            return false;
    } while (take(r, ','));
    return expect(r, '}');
}

static bool read_dtype(reader *r, tc_safetensor *t, size_t *size)
{
    char *const names = r->names; /* the word is not kept */
    const char *word = read_string(r);
    r->names = names;
    for (int i = 0; word && i < DTYPES; ++i)
        if (!strcmp(dtypes[i].name, word)) {
            t->dtype_name = dtypes[i].name;
            t->dtype = dtypes[i].dtype;
            *size = dtypes[i].size;
            return true;
        }
    return word && fail(r->file, "\"%s\" has the unknown dtype \"%s\"", t->name, word);
}

/* A product beyond 64 bits is an error, even where a later size is zero: as the format's reference implementation has
 * it. */
static bool read_shape(reader *r, tc_safetensor *t, uint64_t *elements)
{
    *elements = 1;
    if (!expect(r, '['))
        return false;
    if (take(r, ']'))
        return true;
    do {
        uint64_t n;
        if (t->rank == TC_SAFETENSORS_MAX_RANK)
            return bad(r, "more than 16 dims");
        if (!read_number(r, &n))
            return false;
        if (n > PTRDIFF_MAX || __builtin_mul_overflow(*elements, n, elements))
            return fail(r->file, "\"%s\" is larger than this machine counts", t->name);
        t->shape[t->rank++] = (tc_index)n;
    } while (take(r, ','));
    return expect(r, ']');
}

static bool read_offsets(reader *r, uint64_t *begin, uint64_t *end)
{
    return expect(r, '[') && read_number(r, begin) && expect(r, ',') && read_number(r, end) && expect(r, ']');
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, in any order. */
static bool read_tensor(reader *r, tc_safetensor *t)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    int seen = 0;
    size_t size = 0;
    uint64_t begin = 0, end = 0, elements = 0, bytes;
    if (!expect(r, '{'))
        return false;
    do {
        char *const names = r->names;
        const char *key = read_string(r);
        if (!key)
            return false;
        const int part = !strcmp(key, "dtype")          ? DTYPE
                         : !strcmp(key, "shape")        ? SHAPE
                         : !strcmp(key, "data_offsets") ? OFFSETS
                                                        : 0;
        if (!part || (seen & part))
            return fail(r->file, "not a valid safetensors file: %s key \"%s\" of \"%s\"", part ? "repeated" : "unknown",
                        key, t->name);
        r->names = names;
        seen |= part;
        if (!expect(r, ':') || !(part == DTYPE   ? read_dtype(r, t, &size)
                                 : part == SHAPE ? read_shape(r, t, &elements)
                                                 : read_offsets(r, &begin, &end)))
            return false;
    } while (take(r, ','));
    if (!expect(r, '}'))
        return false;
    if (seen != ALL)
        return fail(r->file, "not a valid safetensors file: dtype, shape or data_offsets of \"%s\" missing", t->name);
    if (__builtin_mul_overflow(elements, size, &bytes) || bytes > PTRDIFF_MAX)
        return fail(r->file, "\"%s\" is larger than this machine counts", t->name);
    if (begin > end || end - begin != bytes)
        return fail(r->file, "\"%s\" needs %llu bytes, its data_offsets are %llu..%llu", t->name,
                    (unsigned long long)bytes, (unsigned long long)begin, (unsigned long long)end);
    if (end > r->data_bytes)
        return fail(r->file, "truncated: \"%s\" ends at byte %llu of the data, the file has %llu", t->name,
                    (unsigned long long)end, (unsigned long long)r->data_bytes);
    t->data = r->data + begin;
    t->bytes = (size_t)bytes;
    return true;
}

static bool add(reader *r, const tc_safetensor *t)
{
    if (r->file->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        tc_safetensor *wider = realloc(r->tensors, r->room * sizeof *wider);
        if (!wider)
            return fail(r->file, "out of memory");
        r->tensors = wider;
    }
    r->tensors[r->file->count++] = *t;
    return true;
}

static bool read_header(reader *r)
{
    if (!expect(r, '{'))
        return false;
    if (!take(r, '}')) {
        do {
            tc_safetensor t = {.name = read_string(r)};
            if (!t.name || !expect(r, ':'))
                return false;
            if (!strcmp(t.name, "__metadata__") ? !read_metadata(r) : !read_tensor(r, &t) || !add(r, &t))
                return false;
        } while (take(r, ','));
        if (!expect(r, '}'))
            return false;
    }
    peek(r, ' ');
    return r->at == r->size || bad(r, "text after the object");
}

/* -- what holds of all tensors ------------------------------------------------------------------------------------- */

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

/* The tensors sorted by name, malloc'd; NULL without memory. *twice: the first of those that share a name. */
static const tc_safetensor **sort_by_name(const tc_safetensor *tensors, size_t count, const tc_safetensor **twice)
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
static bool check_layout(reader *r)
{
    tc_safetensors *file = r->file;
    const tc_safetensor *twice;
    uint64_t used = 0;
    file->sorted = sort_by_name(r->tensors, file->count, &twice);
    if (!file->sorted)
        return fail(file, "out of memory");
    if (twice)
        return fail(file, "two tensors named \"%s\"", twice->name);
    qsort(file->sorted, file->count, sizeof *file->sorted, by_data);
    for (size_t i = 0; i < file->count; ++i) {
        const tc_safetensor *t = file->sorted[i];
        const uint64_t at = (uint64_t)((const unsigned char *)t->data - r->data);
        if (at != used)
            return fail(file, "not a valid safetensors file: \"%s\" %s", t->name,
                        at < used ? "overlaps another tensor" : "follows a gap in the data");
        used += t->bytes;
    }
    if (used != r->data_bytes)
        return fail(file, "not a valid safetensors file: %llu bytes of data after the last tensor",
                    (unsigned long long)(r->data_bytes - used));
    qsort(file->sorted, file->count, sizeof *file->sorted, by_name);
    return true;
}

static bool parse(tc_safetensors *file, const unsigned char *bytes, size_t length)
{
    uint64_t header = 0;
    if (length < 8)
        return fail(file, "not a safetensors file: %zu bytes", length);
    for (int i = 7; i >= 0; --i)
        header = header << 8 | bytes[i];
    if (header > MAX_HEADER || header > length - 8)
        return fail(file, "not a safetensors file, or truncated: a header of %llu bytes in a file of %zu",
                    (unsigned long long)header, length);
    char *names = malloc((size_t)header + 1);
    if (!names)
        return fail(file, "out of memory");
    const unsigned char *data = bytes + 8 + header;
    reader r = {.file = file,
                .text = (const char *)bytes + 8,
                .size = (size_t)header,
                .data = data,
                .data_bytes = length - 8 - header,
                .names = names};
    file->names = names;
    const bool ok = read_header(&r) && check_layout(&r);
    file->tensors = r.tensors;
    return ok;
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
        fail(file, "cannot be opened: %s", strerror(error));
        if (fd >= 0)
            close(fd);
        errno = error;
        return TC_STATUS_SYSTEM;
    }
    tc_status status = TC_STATUS_OK;
    void *map = NULL;
    if (!S_ISREG(info.st_mode) || (uintmax_t)info.st_size > PTRDIFF_MAX) {
        fail(file, "is not a regular file");
        status = TC_STATUS_BAD_WEIGHTS;
    } else if (info.st_size == 0) {
        fail(file, "not a safetensors file: 0 bytes");
        status = TC_STATUS_BAD_WEIGHTS;
    } else if ((map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
        fail(file, "cannot be mapped: %s", strerror(errno));
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

static const char *name_of(tc_dtype dtype)
{
    for (int i = 0; i < DTYPES; ++i)
        if (dtypes[i].dtype == dtype && dtype != TC_DTYPE_COUNT)
            return dtypes[i].name;
    return NULL;
}

tc_status tc_safetensors_read(tc_safetensors *file, const char *name, tc_dtype dtype, void *to, size_t bytes)
{
    if (!file || !name || (!to && bytes))
        return TC_STATUS_NULL_POINTER;
    const tc_safetensor *t = tc_safetensors_find(file, name);
    if (!t)
        fail(file, "no tensor \"%s\"", name);
    else if (t->dtype != dtype)
        fail(file, "\"%s\" is %s, not %s", name, t->dtype_name, name_of(dtype) ? name_of(dtype) : "a dtype");
    else if (t->bytes != bytes)
        fail(file, "\"%s\" has %zu bytes, not %zu", name, t->bytes, bytes);
    else if (bytes)
        memcpy(to, t->data, bytes);
    return t && t->dtype == dtype && t->bytes == bytes ? TC_STATUS_OK : TC_STATUS_BAD_ARGUMENT;
}

/* -- writing ------------------------------------------------------------------------------------------------------- */

/* 0 of what cannot be written. */
static size_t element_bytes(tc_dtype dtype)
{
    for (int i = 0; i < DTYPES; ++i)
        if (dtypes[i].dtype == dtype && dtype != TC_DTYPE_COUNT)
            return dtypes[i].size;
    return 0;
}

static bool can_be_written(const tc_safetensor *t)
{
    size_t bytes = element_bytes(t->dtype);
    if (!bytes || t->rank < 0 || t->rank > TC_SAFETENSORS_MAX_RANK || !is_utf8(t->name))
        return false;
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
    const tc_safetensor **sorted = sort_by_name(tensors, count, &twice);
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
            if (element_bytes(t->dtype) != size)
                continue;
            if (!first)
                putc(',', out);
            first = false;
            write_quoted(out, t->name);
            fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", name_of(t->dtype));
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
            if (element_bytes(tensors[i].dtype) == size && tensors[i].bytes)
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
