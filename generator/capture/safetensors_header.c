/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "safetensors_header.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_HEADER = 100 << 20 }; /* the limit of the format's reference implementation */

typedef struct reader {
    tc_arena *arena;
    const char *text;
    size_t at, size;
    const char *error; /* the first one; everything after does nothing */
} reader;

static bool fail(reader *r, const char *what)
{
    if (!r->error)
        r->error = tc_arena_format(r->arena, "%s at byte %zu of the header", what, r->at);
    return false;
}

static void skip_space(reader *r)
{
    while (r->at < r->size && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at])
        ++r->at;
}

static bool peek(reader *r, char c)
{
    skip_space(r);
    return r->at < r->size && r->text[r->at] == c;
}

static bool take(reader *r, char c)
{
    if (peek(r, c)) {
        ++r->at;
        return true;
    }
    return fail(r, tc_arena_format(r->arena, "'%c' missing", c));
}

/* Whether another element of an object or array follows. */
static bool another(reader *r)
{
    return !r->error && peek(r, ',') && take(r, ',');
}

static size_t put_utf8(char *out, unsigned c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; --i, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

static bool hex4(reader *r, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; ++i, ++r->at) {
        const char *digits = "0123456789abcdefABCDEF";
        const char *d = r->at < r->size && r->text[r->at] ? strchr(digits, r->text[r->at]) : NULL;
        if (!d)
            return fail(r, "a bad \\u escape");
        *out = *out * 16 + (unsigned)(d - digits - (d - digits > 15 ? 6 : 0));
    }
    return true;
}

static const char *string(reader *r)
{
    if (!take(r, '"'))
        return "";
    size_t n = 0, room = strcspn(r->text + r->at, "\"") + 8;
    char *out = tc_arena_alloc(r->arena, room);
    while (r->at < r->size && r->text[r->at] != '"') {
        unsigned char c = (unsigned char)r->text[r->at++];
        if (n + 5 > room) { /* an escaped quote made the string longer than the first one was */
            char *wider = tc_arena_alloc(r->arena, room * 2);
            memcpy(wider, out, n);
            out = wider;
            room *= 2;
        }
        if (c < 0x20) {
            fail(r, "a control character in a string");
            return "";
        }
        if (c != '\\') {
            out[n++] = (char)c;
            continue;
        }
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        char escape = r->at < r->size ? r->text[r->at++] : 0;
        const char *found = escape ? strchr(from, escape) : NULL;
        if (found) {
            out[n++] = to[found - from];
        } else if (escape == 'u') {
            unsigned high, low;
            if (!hex4(r, &high))
                return "";
            if (high >= 0xd800 && high < 0xdc00 && r->at + 2 <= r->size && r->text[r->at] == '\\' &&
                r->text[r->at + 1] == 'u') {
                r->at += 2;
                if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff) {
                    fail(r, "a bad \\u escape");
                    return "";
                }
                high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            }
            if (!high || (high >= 0xd800 && high < 0xe000)) {
                fail(r, "a bad \\u escape");
                return "";
            }
            n += put_utf8(out + n, high);
        } else {
            fail(r, "a bad escape in a string");
            return "";
        }
    }
    take(r, '"');
    out[n] = 0;
    if (!tc_is_utf8(out))
        fail(r, "a string that is no UTF-8");
    return out;
}

static uint64_t integer(reader *r)
{
    skip_space(r);
    uint64_t out = 0;
    size_t start = r->at;
    for (; r->at < r->size && r->text[r->at] >= '0' && r->text[r->at] <= '9'; ++r->at) {
        uint64_t digit = (uint64_t)(r->text[r->at] - '0');
        if (out > (INT64_MAX - digit) / 10) {
            fail(r, "a number beyond 63 bits");
            return 0;
        }
        out = out * 10 + digit;
    }
    if (r->at == start)
        fail(r, "an unsigned integer missing");
    return out;
}

static bool metadata(reader *r)
{
    take(r, '{');
    if (!peek(r, '}'))
        do {
            string(r);
            take(r, ':');
            string(r);
        } while (another(r));
    return take(r, '}');
}

static bool entry(reader *r, tc_safetensors_entry *e)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    int seen = 0;
    take(r, '{');
    do {
        const char *key = string(r);
        const int part = !strcmp(key, "dtype")          ? DTYPE
                         : !strcmp(key, "shape")        ? SHAPE
                         : !strcmp(key, "data_offsets") ? OFFSETS
                                                        : 0;
        if (r->error)
            return false;
        if (!part || (seen & part))
            return fail(r, tc_arena_format(r->arena, "%s key \"%s\"", part ? "repeated" : "unknown", key));
        seen |= part;
        take(r, ':');
        if (part == DTYPE) {
            e->dtype = string(r);
            continue;
        }
        take(r, '[');
        if (part == OFFSETS) {
            e->begin = integer(r);
            take(r, ',');
            e->end = integer(r);
        } else if (!peek(r, ']')) {
            do {
                if (e->rank == TC_SAFETENSORS_MAX_RANK)
                    return fail(r, "more than 16 dims");
                e->shape[e->rank++] = (int64_t)integer(r);
            } while (another(r));
        }
        take(r, ']');
    } while (another(r));
    take(r, '}');
    if (!r->error && seen != ALL)
        return fail(r, tc_arena_format(r->arena, "dtype, shape or data_offsets of \"%s\" missing", e->name));
    return !r->error;
}

static int bits_of(const char *dtype)
{
    static const struct {
        const char *name;
        int bits;
    } known[] = {{"BOOL", 8}, {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
                 {"U16", 16}, {"I16", 16}, {"F16", 16}, {"BF16", 16},   {"U32", 32},
                 {"I32", 32}, {"F32", 32}, {"U64", 64}, {"I64", 64},    {"F64", 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (!strcmp(known[i].name, dtype))
            return known[i].bits;
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const tc_safetensors_entry *x = *(const tc_safetensors_entry *const *)a,
                               *y = *(const tc_safetensors_entry *const *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Tensors cover the data, without gap and overlap. */
static const char *check_layout(tc_arena *arena, const tc_safetensors *file, uint64_t data_bytes)
{
    uint64_t used = 0;
    const tc_safetensors_entry **sorted = tc_arena_alloc(arena, ((size_t)file->count + 1) * sizeof *sorted);
    for (int i = 0; i < file->count; ++i)
        sorted[i] = &file->entries[i];
    qsort(sorted, (size_t)file->count, sizeof *sorted, by_begin);
    for (int i = 0; i < file->count; ++i) {
        if (sorted[i]->begin != used)
            return tc_arena_format(arena, "no valid safetensors file: \"%s\" %s", sorted[i]->name,
                                   sorted[i]->begin < used ? "overlaps another tensor" : "follows a gap in the data");
        used = sorted[i]->end;
    }
    if (used != data_bytes)
        return tc_arena_format(arena, "no valid safetensors file: %llu bytes of data after the last tensor",
                               (unsigned long long)(data_bytes - used));
    return NULL;
}

/* Reports the first entry whose bytes do not fit its type or the file. */
static const char *check(tc_arena *arena, const tc_safetensors *file, uint64_t data_bytes)
{
    for (int i = 0; i < file->count; ++i) {
        const tc_safetensors_entry *e = &file->entries[i];
        int bits = bits_of(e->dtype);
        if (!bits)
            return tc_arena_format(arena, "\"%s\" has the unknown dtype \"%s\"", e->name, e->dtype);
        uint64_t bytes = 1; /* elements first, as the format's reference implementation has it */
        bool fits = true;
        for (int d = 0; d < e->rank; ++d)
            fits = fits && !__builtin_mul_overflow(bytes, (uint64_t)e->shape[d], &bytes);
        if (!fits || __builtin_mul_overflow(bytes, (uint64_t)bits / 8, &bytes))
            return tc_arena_format(arena, "\"%s\" is larger than 64 bits count", e->name);
        if (e->begin > e->end || e->end - e->begin != bytes)
            return tc_arena_format(arena, "\"%s\" needs %llu bytes, its data_offsets are %llu..%llu", e->name,
                                   (unsigned long long)bytes, (unsigned long long)e->begin, (unsigned long long)e->end);
        if (e->end > data_bytes)
            return tc_arena_format(arena, "truncated: \"%s\" ends at byte %llu of the data, the file has %llu", e->name,
                                   (unsigned long long)e->end, (unsigned long long)data_bytes);
        if (i > 0 && !strcmp(e->name, e[-1].name))
            return tc_arena_format(arena, "two tensors named \"%s\"", e->name);
    }
    return check_layout(arena, file, data_bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tc_safetensors_entry *)a)->name, ((const tc_safetensors_entry *)b)->name);
}

static tc_safetensors *parse(reader *r)
{
    tc_safetensors *file = tc_arena_alloc(r->arena, sizeof *file);
    int room = 0;
    take(r, '{');
    bool more = !peek(r, '}');
    while (more) {
        if (file->count == room) {
            room = room ? 2 * room : 64;
            tc_safetensors_entry *wider = tc_arena_alloc(r->arena, (size_t)room * sizeof *wider);
            if (file->count)
                memcpy(wider, file->entries, (size_t)file->count * sizeof *wider);
            file->entries = wider;
        }
        tc_safetensors_entry *e = &file->entries[file->count];
        e->name = string(r);
        take(r, ':');
        if (!strcmp(e->name, "__metadata__"))
            metadata(r);
        else if (entry(r, e))
            ++file->count;
        more = another(r);
    }
    take(r, '}');
    skip_space(r);
    if (!r->error && r->at < r->size)
        fail(r, "text after the object");
    return file;
}

static tc_safetensors *read_stream(tc_arena *arena, FILE *in, const char **error)
{
    unsigned char length_bytes[8];
    if (fseek(in, 0, SEEK_END) != 0) {
        *error = tc_arena_format(arena, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    long end = ftell(in);
    rewind(in);
    if (end < 8 || fread(length_bytes, 1, 8, in) != 8) {
        *error = tc_arena_format(arena, "no safetensors file: %ld bytes", end);
        return NULL;
    }
    uint64_t length = 0, rest = (uint64_t)end - 8;
    for (int i = 7; i >= 0; --i)
        length = length << 8 | length_bytes[i];
    if (length > MAX_HEADER || length > rest) {
        *error = tc_arena_format(arena, "no safetensors file, or truncated: a header of %llu bytes in a file of %ld",
                                 (unsigned long long)length, end);
        return NULL;
    }
    char *text = tc_arena_alloc(arena, (size_t)length + 1);
    if (fread(text, 1, (size_t)length, in) != length) {
        *error = "cannot be read";
        return NULL;
    }
    reader r = {.arena = arena, .text = text, .size = (size_t)length};
    tc_safetensors *file = parse(&r);
    if (r.error) {
        *error = tc_arena_format(arena, "no valid safetensors header: %s", r.error);
        return NULL;
    }
    if (file->count)
        qsort(file->entries, (size_t)file->count, sizeof *file->entries, by_name);
    *error = check(arena, file, rest - length);
    return *error ? NULL : file;
}

tc_safetensors *tc_safetensors_read(tc_arena *arena, const char *path, const char **error)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* to open a FIFO is to wait for its writer */
        *error = "not a regular file";
        return NULL;
    }
    FILE *in = fopen(path, "rb");
    if (!in) {
        *error = tc_arena_format(arena, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    tc_safetensors *file = read_stream(arena, in, error);
    fclose(in);
    return file;
}

const tc_safetensors_entry *tc_safetensors_find(const tc_safetensors *file, const char *name)
{
    if (!file->count)
        return NULL;
    return bsearch(&(tc_safetensors_entry){.name = name}, file->entries, (size_t)file->count, sizeof *file->entries,
                   by_name);
}
