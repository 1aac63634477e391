/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of safetensors headers: valid ones, and every way of being invalid.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors_cases.h"
#include "safetensors_header.h"
#include "tap.h"

static char path[] = "/tmp/tc_safetensors_XXXXXX";

/* A file of `length` announced header bytes, the header and `data` zero bytes. */
static void write_file(const char *header, uint64_t length, size_t data)
{
    FILE *out = fopen(path, "wb");
    for (int i = 0; i < 8; ++i)
        putc((int)(length >> 8 * i & 255), out);
    fputs(header, out);
    for (size_t i = 0; i < data; ++i)
        putc(0, out);
    fclose(out);
}

static void expect_error(const char *header, size_t data, const char *message)
{
    tc_arena arena = {0};
    const char *error = NULL;
    write_file(header, strlen(header), data);
    tc_safetensors *file = tc_safetensors_read(&arena, path, &error);
    if (!tc_ok(!file && error && strstr(error, message), "refused: %s", message))
        tc_note("got %s", error ? error : "no error");
    tc_arena_free(&arena);
}

static void expect_length_error(uint64_t length, const char *message)
{
    tc_arena arena = {0};
    const char *error = NULL;
    write_file("{}", length, 0);
    tc_safetensors *file = tc_safetensors_read(&arena, path, &error);
    tc_ok(!file && error && strstr(error, message), "refused: header of %llu bytes", (unsigned long long)length);
    tc_arena_free(&arena);
}

static void check_cases(void)
{
    for (size_t i = 0; i < sizeof safetensors_cases / sizeof *safetensors_cases; ++i) {
        tc_arena arena = {0};
        const char *error = NULL, *header = safetensors_cases[i].header;
        write_file(header, strlen(header), safetensors_cases[i].data);
        const int read = tc_safetensors_read(&arena, path, &error) != NULL;
        if (!tc_ok(read == safetensors_cases[i].valid && read == !error, "%s: header %zu", read ? "read" : "refused", i))
            tc_note("%s: %s", header, error ? error : "no error");
        tc_arena_free(&arena);
    }
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    tc_arena arena = {0};
    const char *error = NULL;
    const char *good = " {\"__metadata__\":{\"format\":\"pt\"}, " T("b\\u00e9\\\"", "F32", "[2, 3]", "[0,24]") ","
                       T("a", "BOOL", "[]", "[24,25]") "," T("empty", "I64", "[0,4]", "[25,25]") "}   ";
    write_file(good, strlen(good), 25);
    tc_safetensors *file = tc_safetensors_read(&arena, path, &error);
    tc_ok(file && file->count == 3, "a valid file is read");
    if (file) {
        const tc_safetensors_entry *b = tc_safetensors_find(file, "b\xc3\xa9\"");
        tc_ok(b && b->rank == 2 && b->shape[0] == 2 && b->shape[1] == 3 && !strcmp(b->dtype, "F32"), "escapes in names");
        const tc_safetensors_entry *a = tc_safetensors_find(file, "a");
        tc_ok(a && a->rank == 0 && a->begin == 24 && a->end == 25, "a scalar");
        tc_ok(tc_safetensors_find(file, "empty") && !tc_safetensors_find(file, "c"), "names are found");
    } else {
        tc_note("%s", error);
    }
    write_file("{}", 2, 0);
    file = tc_safetensors_read(&arena, path, &error);
    tc_ok(file && file->count == 0, "no tensors");
    tc_arena_free(&arena);

    expect_length_error(3, "truncated");
    expect_length_error(UINT64_MAX, "truncated");
    expect_error("", 0, "'{' missing");
    expect_error("[]", 0, "'{' missing");
    expect_error("{", 0, "'\"' missing");
    expect_error("{} x", 0, "text after the object");
    expect_error("{\"a", 0, "'\"' missing");
    expect_error("{\"a\\q\":1}", 0, "a bad escape");
    expect_error("{\"a\\u12\":1}", 0, "a bad \\u escape");
    expect_error("{\"a\\ud800\":1}", 0, "a bad \\u escape");
    expect_error("{\"a\n\":1}", 0, "a control character");
    expect_error("{\"a\xff\":1}", 0, "a string that is no UTF-8 at byte");
    expect_error("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "dtype, shape or data_offsets of \"a\" missing");
    expect_error("{\"a\":{\"layout\":\"x\"}}", 4, "unknown key \"layout\"");
    expect_error("{" T("a", "F32", "[-1]", "[0,4]") "}", 4, "an unsigned integer missing");
    expect_error("{" T("a", "F32", "[99999999999999999999]", "[0,4]") "}", 4, "a number beyond 63 bits");
    expect_error("{" T("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, "larger than 64 bits");
    expect_error("{" T("a", "F7", "[1]", "[0,4]") "}", 4, "the unknown dtype \"F7\"");
    expect_error("{" T("a", "F32", "[2]", "[0,4]") "}", 4, "\"a\" needs 8 bytes, its data_offsets are 0..4");
    expect_error("{" T("a", "F32", "[1]", "[4,0]") "}", 4, "\"a\" needs 4 bytes");
    expect_error("{" T("a", "F32", "[2]", "[0,8]") "}", 4, "truncated: \"a\" ends at byte 8 of the data, the file has 4");
    expect_error("{" T("a", "F32", "[1]", "[0,4]") "," T("a", "F32", "[1]", "[0,4]") "}", 4, "two tensors named \"a\"");
    expect_error("{" T("a", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 16 dims");

    expect_error("{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[0,4]") "}", 4, "\"b\" overlaps another");
    expect_error("{" T("a", "F32", "[1]", "[4,8]") "}", 8, "\"a\" follows a gap");
    expect_error("{" T("a", "F32", "[1]", "[0,4]") "}", 6, "2 bytes of data after the last tensor");
    expect_error("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "repeated key \"dtype\"");
    check_cases();

    FILE *out = fopen(path, "wb");
    fputs("abc", out);
    fclose(out);
    tc_ok(!tc_safetensors_read(&arena, path, &error) && strstr(error, "3 bytes"), "refused: shorter than a length");
    tc_ok(!tc_safetensors_read(&arena, "/nonexistent/x", &error) && strstr(error, "cannot be opened"), "refused: no file");
    tc_ok(!tc_safetensors_read(&arena, "/tmp", &error), "refused: a directory");
    remove(path);
    tc_ok(mkfifo(path, 0600) == 0 && !tc_safetensors_read(&arena, path, &error) && strstr(error, "not a regular file"),
          "refused: a FIFO, and nobody waits for its writer");
    tc_arena_free(&arena);
    remove(path);
    return tc_done();
}
