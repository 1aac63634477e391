/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "safetensors.h"

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[TC_ST_DTYPE_COUNT] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                               {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                               {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};

const char *tc_st_dtype_name(tc_st_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t tc_st_dtype_size(tc_st_dtype dtype)
{
    return dtypes[dtype].size;
}

/* -- the JSON of headers: objects of strings and of tensor descriptions -------------------------------------------- */
typedef struct reader {
    const char *path, *at, *end;
    tc_st_file *file;
    tci_diag *diag;
    size_t capacity;
} reader;

static bool corrupt(reader *r, const char *what)
{
    return tci_fail(r->diag, (tci_loc){r->path, 0}, "not a valid safetensors file: %s", what);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_space(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool expect(reader *r, char c)
{
    const char what[] = {'\'', c, '\'', ' ', 'i', 's', ' ', 'm', 'i', 's', 's', 'i', 'n', 'g', '\0'};
    return take(r, c) || corrupt(r, what);
}

static bool read_hex4(reader *r, uint32_t *value)
{
    *value = 0;
    if (r->end - r->at < 4)
        return corrupt(r, "a cut \\u escape");
    for (int i = 0; i < 4; i++) {
        const char c = *r->at++;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return corrupt(r, "a bad \\u escape");
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

static bool read_escape(reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *r->at++; /* there is one: read_string found the closing quote behind it */
    const char *simple = c == '\0' ? NULL : strchr(names, c);
    if (simple != NULL) {
        *(*out)++ = values[simple - names];
        return true;
    }
    uint32_t code, low;
    if (c != 'u' || !read_hex4(r, &code))
        return corrupt(r, "a bad escape");
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return corrupt(r, "half a surrogate pair");
        r->at += 2;
        if (!read_hex4(r, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return corrupt(r, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return corrupt(r, "half a surrogate pair");
    }
    if (code == 0)
        return corrupt(r, "a zero character in a name");
    /* UTF-8 is never longer than the escape that it replaces */
    if (code < 0x80) {
        *(*out)++ = (char)code;
    } else if (code < 0x800) {
        *(*out)++ = (char)(0xc0 | code >> 6);
        *(*out)++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *(*out)++ = (char)(0xe0 | code >> 12);
        *(*out)++ = (char)(0x80 | (code >> 6 & 0x3f));
        *(*out)++ = (char)(0x80 | (code & 0x3f));
    } else {
        *(*out)++ = (char)(0xf0 | code >> 18);
        *(*out)++ = (char)(0x80 | (code >> 12 & 0x3f));
        *(*out)++ = (char)(0x80 | (code >> 6 & 0x3f));
        *(*out)++ = (char)(0x80 | (code & 0x3f));
    }
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
        if (more < 0)
            return false;
        const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (more > 0 && (*p < low || *p > high))
            return false;
        for (int i = 0; i < more; i++)
            if ((*p++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static const char *read_string(reader *r)
{
    if (!expect(r, '"'))
        return NULL;
    const char *close = r->at;
    while (close < r->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= r->end) {
        corrupt(r, "a string without an end");
        return NULL;
    }
    char *text = tci_arena_text(&r->file->arena, r->at, (size_t)(close - r->at)), *out = text;
    if (text == NULL) {
        tci_fail(r->diag, (tci_loc){r->path, 0}, "out of memory");
        return NULL;
    }
    while (r->at < close) {
        const char c = *r->at++;
        if ((unsigned char)c < 0x20) {
            corrupt(r, "a control character in a string");
            return NULL;
        }
        if (c != '\\')
            *out++ = c;
        else if (!read_escape(r, &out))
            return NULL;
    }
    *out = '\0';
    if (!is_utf8(text)) {
        corrupt(r, "a string that is no UTF-8");
        return NULL;
    }
    r->at = close + 1;
    return text;
}

static bool read_number(reader *r, uint64_t *value)
{
    skip_space(r);
    const char *start = r->at;
    for (*value = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*r->at - '0'), value))
            return corrupt(r, "a number beyond 64 bits");
    return r->at > start || corrupt(r, "a number is missing");
}

static bool read_metadata(reader *r)
{
    if (!expect(r, '{'))
        return false;
    if (take(r, '}'))
        return true;
    do {
        if (read_string(r) == NULL || !expect(r, ':') || read_string(r) == NULL)
            return false;
    } while (take(r, ','));
    return expect(r, '}');
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, in any order; data is a file of data_bytes. */
static bool read_tensor(reader *r, tc_st_tensor *t, const unsigned char *data, size_t data_bytes)
{
    bool dtype = false, shape = false, offsets = false;
    uint64_t begin = 0, end = 0, elements = 1;
    if (!expect(r, '{'))
        return false;
    do {
        const char *key = read_string(r);
        if (key == NULL || !expect(r, ':'))
            return false;
        if (strcmp(key, "dtype") == 0 && !dtype) {
            const char *name = read_string(r);
            int i = 0;
            if (name == NULL)
                return false;
            while (i < TC_ST_DTYPE_COUNT && strcmp(dtypes[i].name, name) != 0)
                i++;
            if (i == TC_ST_DTYPE_COUNT)
                return tci_fail(r->diag, (tci_loc){r->path, 0}, "tensor \"%s\" has the unknown dtype %s", t->name,
                                name);
            t->dtype = (tc_st_dtype)i;
            dtype = true;
        } else if (strcmp(key, "shape") == 0 && !shape) {
            if (!expect(r, '['))
                return false;
            if (!take(r, ']')) {
                do {
                    uint64_t n;
                    if (!read_number(r, &n))
                        return false;
                    if (t->rank == TC_ST_MAX_RANK || n > INT64_MAX)
                        return corrupt(r, "a shape beyond what can be read");
                    t->shape[t->rank++] = (int64_t)n;
                } while (take(r, ','));
                if (!expect(r, ']'))
                    return false;
            }
            for (int d = 0; d < t->rank; d++)
                if (__builtin_mul_overflow(elements, (uint64_t)t->shape[d], &elements))
                    return corrupt(r, "a shape of more elements than 64 bits count");
            shape = true;
        } else if (strcmp(key, "data_offsets") == 0 && !offsets) {
            if (!expect(r, '[') || !read_number(r, &begin) || !expect(r, ',') || !read_number(r, &end) ||
                !expect(r, ']'))
                return false;
            offsets = true;
        } else {
            return corrupt(r, "an unknown or repeated key of a tensor");
        }
    } while (take(r, ','));
    if (!expect(r, '}'))
        return false;
    if (!dtype || !shape || !offsets)
        return corrupt(r, "a tensor without dtype, shape or data_offsets");
    if (begin > end || end > data_bytes)
        return tci_fail(r->diag, (tci_loc){r->path, 0}, "tensor \"%s\" lies beyond the end of the file (cut short?)",
                        t->name);
    uint64_t bytes;
    if (__builtin_mul_overflow(elements, (uint64_t)dtypes[t->dtype].size, &bytes) || bytes != end - begin)
        return tci_fail(r->diag, (tci_loc){r->path, 0}, "tensor \"%s\": its shape and its size in the file differ",
                        t->name);
    t->data = data + begin;
    t->bytes = (size_t)bytes;
    return true;
}

static int by_data(const void *a, const void *b)
{
    const tc_st_tensor *x = *(const tc_st_tensor *const *)a, *y = *(const tc_st_tensor *const *)b;
    if (x->data != y->data)
        return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const tc_st_tensor *const *)a)->name, (*(const tc_st_tensor *const *)b)->name);
}

/* Names are unique, and tensors in the order of their data cover it without gap or overlap. */
static bool check_layout(reader *r, const unsigned char *data, size_t data_bytes)
{
    const size_t count = r->file->count;
    const tc_st_tensor **sorted = tci_arena_alloc(&r->file->arena, count + 1, sizeof *sorted);
    if (sorted == NULL)
        return tci_fail(r->diag, (tci_loc){r->path, 0}, "out of memory");
    for (size_t i = 0; i < count; i++)
        sorted[i] = &r->file->tensors[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return tci_fail(r->diag, (tci_loc){r->path, 0}, "tensor \"%s\" is there twice", sorted[i]->name);
    qsort(sorted, count, sizeof *sorted, by_data);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t at = (size_t)((const unsigned char *)sorted[i]->data - data);
        if (at != used)
            return tci_fail(r->diag, (tci_loc){r->path, 0}, "not a valid safetensors file: tensor \"%s\" %s",
                            sorted[i]->name, at < used ? "overlaps another" : "follows a gap");
        used += sorted[i]->bytes;
    }
    return used == data_bytes || corrupt(r, "data after the last tensor");
}

static bool parse(reader *r, const unsigned char *bytes, size_t length)
{
    if (length < 8)
        return corrupt(r, "shorter than 8 bytes");
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | bytes[i];
    if (header > length - 8)
        return corrupt(r, "the header is longer than the file (cut short?)");
    r->at = (const char *)bytes + 8;
    r->end = r->at + header;
    const unsigned char *data = bytes + 8 + header;
    const size_t data_bytes = length - 8 - (size_t)header;
    if (!expect(r, '{'))
        return false;
    if (!take(r, '}')) {
        do {
            tc_st_tensor t = {.name = read_string(r)};
            if (t.name == NULL || !expect(r, ':'))
                return false;
            if (strcmp(t.name, "__metadata__") == 0) {
                if (!read_metadata(r))
                    return false;
                continue;
            }
            if (!read_tensor(r, &t, data, data_bytes))
                return false;
            tc_st_file *f = r->file;
            tc_st_tensor *larger = tci_arena_grow(&f->arena, f->tensors, f->count, &r->capacity, sizeof *f->tensors);
            if (larger == NULL)
                return tci_fail(r->diag, (tci_loc){r->path, 0}, "out of memory");
            f->tensors = larger;
            f->tensors[f->count++] = t;
        } while (take(r, ','));
        if (!expect(r, '}'))
            return false;
    }
    skip_space(r);
    if (r->at != r->end)
        return corrupt(r, "text after the header");
    return check_layout(r, data, data_bytes);
}

bool tc_st_parse(tc_st_file *file, const char *path, const void *bytes, size_t length, tci_diag *diag)
{
    reader r = {.path = path, .file = file, .diag = diag};
    if (parse(&r, bytes, length))
        return true;
    tc_st_close(file);
    return false;
}

bool tc_st_open(tc_st_file *file, const char *path, tci_diag *diag)
{
    const tci_loc loc = {path, 0};
    *file = (tc_st_file){0};
    /* of a FIFO, it does not wait for a writer */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tci_fail(diag, loc, "cannot be opened: %s", strerror(errno));
    struct stat info;
    void *map = NULL;
    bool ok = true;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        ok = tci_fail(diag, loc, "is not a regular file");
    else if (info.st_size > 0)
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        ok = tci_fail(diag, loc, "cannot be mapped: %s", strerror(errno));
    close(fd);
    if (!ok)
        return false;
    file->map = map;
    file->map_bytes = (size_t)info.st_size;
    return tc_st_parse(file, path, map, file->map_bytes, diag);
}

void tc_st_close(tc_st_file *file)
{
    tci_arena_finish(&file->arena);
    if (file->map != NULL)
        munmap(file->map, file->map_bytes);
    *file = (tc_st_file){0};
}

const tc_st_tensor *tc_st_find(const tc_st_file *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

/* -- writing ------------------------------------------------------------------------------------------------------- */
static void write_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* The JSON header; the sizes 8, 4, 2, 1 in turn give the data its order. */
static void write_header(FILE *out, const tc_st_tensor *tensors, size_t count)
{
    size_t offset = 0;
    bool first = true;
    fputc('{', out);
    for (size_t size = 8; size != 0; size /= 2) {
        for (size_t i = 0; i < count; i++) {
            const tc_st_tensor *t = &tensors[i];
            if (dtypes[t->dtype].size != size)
                continue;
            if (!first)
                fputc(',', out);
            first = false;
            write_quoted(out, t->name);
            fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[t->dtype].name);
            for (int d = 0; d < t->rank; d++)
                fprintf(out, "%s%lld", d == 0 ? "" : ",", (long long)t->shape[d]);
            fprintf(out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + t->bytes);
            offset += t->bytes;
        }
    }
    fputc('}', out);
}

bool tc_st_write(const char *path, const tc_st_tensor *tensors, size_t count, tci_diag *diag)
{
    char *header = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&header, &length);
    if (memory == NULL)
        return tci_fail(diag, (tci_loc){path, 0}, "out of memory");
    write_header(memory, tensors, count);
    fflush(memory);
    for (size_t pad = (8 - length % 8) % 8; pad != 0; pad--)
        fputc(' ', memory);
    const bool complete = !ferror(memory);
    if (fclose(memory) != 0 || !complete) {
        free(header);
        return tci_fail(diag, (tci_loc){path, 0}, "out of memory");
    }
    tci_output output;
    bool ok = tci_output_open(&output, path, diag);
    if (ok) {
        for (int i = 0; i < 8; i++)
            fputc((int)((uint64_t)length >> (8 * i) & 0xff), output.file);
        fwrite(header, 1, length, output.file);
        for (size_t size = 8; size != 0; size /= 2)
            for (size_t i = 0; i < count; i++)
                if (dtypes[tensors[i].dtype].size == size && tensors[i].bytes != 0)
                    fwrite(tensors[i].data, 1, tensors[i].bytes, output.file);
        ok = tci_output_commit(&output, diag);
    }
    free(header);
    return ok;
}
