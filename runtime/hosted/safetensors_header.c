/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files: the JSON of headers, objects of strings and of descriptions of tensors.
 */
#include "safetensors_parts.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

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

static bool bad(reader *r, const char *what)
{
    return tc_safetensors_fail(r->file, "not a valid safetensors file: %s at byte %zu of the header", what, r->at);
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
    if (!tc_is_utf8(text)) {
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
    const tc_safetensors_type *type = word ? tc_safetensors_type_named(word) : NULL;
    if (!type)
        return word && tc_safetensors_fail(r->file, "\"%s\" has the unknown dtype \"%s\"", t->name, word);
    t->dtype_name = type->name;
    t->dtype = type->dtype;
    *size = type->bytes;
    return true;
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
            return tc_safetensors_fail(r->file, "\"%s\" is larger than this machine counts", t->name);
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
            return tc_safetensors_fail(r->file, "not a valid safetensors file: %s key \"%s\" of \"%s\"",
                                       part ? "repeated" : "unknown", key, t->name);
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
        return tc_safetensors_fail(r->file,
                                   "not a valid safetensors file: dtype, shape or data_offsets of \"%s\" missing",
                                   t->name);
    if (__builtin_mul_overflow(elements, size, &bytes) || bytes > PTRDIFF_MAX)
        return tc_safetensors_fail(r->file, "\"%s\" is larger than this machine counts", t->name);
    if (begin > end || end - begin != bytes)
        return tc_safetensors_fail(r->file, "\"%s\" needs %llu bytes, its data_offsets are %llu..%llu", t->name,
                                   (unsigned long long)bytes, (unsigned long long)begin, (unsigned long long)end);
    if (end > r->data_bytes)
        return tc_safetensors_fail(r->file, "truncated: \"%s\" ends at byte %llu of the data, the file has %llu",
                                   t->name, (unsigned long long)end, (unsigned long long)r->data_bytes);
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
            return tc_safetensors_fail(r->file, "out of memory");
        r->tensors = wider;
    }
    r->tensors[r->file->count++] = *t;
    return true;
}

static bool read_tensors(reader *r)
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

bool tc_safetensors_read_header(tc_safetensors *file, const char *text, size_t size, const void *data,
                                uint64_t data_bytes)
{
    char *names = malloc(size + 1);
    if (!names)
        return tc_safetensors_fail(file, "out of memory");
    reader r = {.file = file, .text = text, .size = size, .data = data, .data_bytes = data_bytes, .names = names};
    file->names = names;
    const bool ok = read_tensors(&r);
    file->tensors = r.tensors;
    return ok;
}
