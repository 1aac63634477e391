/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files: valid headers and every way of being invalid, every shorter file, files of random changes, which must
 * be read or refused and never crash (run under sanitizers in the long suite), and what the writer refuses.
 */
#include <tensor_compile/safetensors.h>

#include "safetensors_cases.h"
#include "tap.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[4096]; /* of a file that the tests write */

/* `length` announced header bytes, the header and `data` zero bytes; malloc'd. */
static unsigned char *file_bytes(const char *header, uint64_t length, size_t data, size_t *size)
{
    const size_t n = strlen(header);
    *size = 8 + n + data;
    unsigned char *bytes = calloc(*size, 1);
    if (!bytes)
        exit(1);
    for (int i = 0; i < 8; ++i)
        bytes[i] = (unsigned char)(length >> 8 * i & 255);
    memcpy(bytes + 8, header, n);
    return bytes;
}

static int parses(const unsigned char *bytes, size_t length, tc_safetensors *file)
{
    unsigned char *exact = malloc(length + !length); /* so that a sanitizer sees a read behind it */
    if (!exact)
        exit(1);
    memcpy(exact, bytes, length);
    const int ok = tc_safetensors_parse(file, exact, length) == TC_STATUS_OK;
    for (size_t i = 0; i < file->count; ++i) {
        const unsigned char *data = file->tensors[i].data;
        if (file->tensors[i].bytes && (data < exact || data + file->tensors[i].bytes > exact + length))
            tc_ok(0, "tensor %zu lies in the file", i);
    }
    tc_safetensors_close(file);
    free(exact);
    return ok;
}

static void expect_error(const char *header, uint64_t length, size_t data, const char *message)
{
    size_t size;
    tc_safetensors file;
    unsigned char *bytes = file_bytes(header, length, data, &size);
    if (!tc_ok(!parses(bytes, size, &file) && strstr(file.message, message), "refused: %s", message))
        tc_note("got %s", file.message);
    free(bytes);
}

static void check_cases(void)
{
    enum { COUNT = sizeof safetensors_cases / sizeof *safetensors_cases };
    unsigned seed = 1, short_read = 0, inconsistent = 0;
    for (size_t i = 0; i < COUNT; ++i) {
        size_t size;
        tc_safetensors file;
        const char *header = safetensors_cases[i].header;
        unsigned char *bytes = file_bytes(header, strlen(header), safetensors_cases[i].data, &size);
        const int read = parses(bytes, size, &file);
        if (!tc_ok(read == safetensors_cases[i].valid && read == !*file.message, "%s: header %zu",
                   read ? "read" : "refused", i))
            tc_note("%s: %s", header, file.message);
        for (size_t n = 0; safetensors_cases[i].valid && n < size; ++n)
            short_read += (unsigned)parses(bytes, n, &file);
        for (int round = 0; round < 200; ++round) {
            seed = seed * 1664525u + 1013904223u;
            const size_t at = (seed >> 8) % size;
            const unsigned char old = bytes[at];
            bytes[at] = round % 2 ? (unsigned char)(seed >> 24) : (unsigned char)"{}[]\",:\\09ue"[(seed >> 24) % 12];
            inconsistent += (unsigned)(parses(bytes, size, &file) == (*file.message != '\0'));
            bytes[at] = old;
        }
        free(bytes);
    }
    tc_ok(short_read == 0, "no valid file is read when it was cut");
    tc_ok(inconsistent == 0, "a changed file is read, or refused with a message");
}

static void check_messages(void)
{
#define REFUSED(header, data, message) expect_error(header, strlen(header), data, message)
    expect_error("{}", 3, 0, "not a safetensors file, or truncated: a header of 3 bytes in a file of 10");
    expect_error("{}", UINT64_MAX, 0, "truncated");
    REFUSED("", 0, "'{' missing");
    REFUSED("[]", 0, "not a valid safetensors file: '{' missing at byte 0 of the header");
    REFUSED("{", 0, "'\"' missing");
    REFUSED("{} x", 0, "text after the object");
    REFUSED("{\"a", 0, "'\"' missing");
    REFUSED("{\"a\\q\":1}", 0, "a bad escape");
    REFUSED("{\"a\\u12\":1}", 0, "a bad \\u escape");
    REFUSED("{\"a\\ud800\":1}", 0, "a bad \\u escape");
    REFUSED("{\"a\n\":1}", 0, "a control character in a string");
    REFUSED("{\"a\xff\":1}", 0, "a string that is no UTF-8 at byte");
    REFUSED("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "not a valid safetensors file: dtype, shape or data_offsets of \"a\" missing");
    REFUSED("{\"a\":{\"layout\":\"x\"}}", 4, "not a valid safetensors file: unknown key \"layout\" of \"a\"");
    REFUSED("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "repeated key \"dtype\"");
    REFUSED("{" T("a", "F32", "[-1]", "[0,4]") "}", 4, "an unsigned integer missing");
    REFUSED("{" T("a", "F32", "[99999999999999999999]", "[0,4]") "}", 4, "a number beyond 63 bits");
    REFUSED("{" T("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, "\"a\" is larger than this machine counts");
    REFUSED("{" T("a", "F7", "[1]", "[0,4]") "}", 4, "\"a\" has the unknown dtype \"F7\"");
    REFUSED("{" T("a", "F32", "[2]", "[0,4]") "}", 4, "\"a\" needs 8 bytes, its data_offsets are 0..4");
    REFUSED("{" T("a", "F32", "[2]", "[0,8]") "}", 4, "truncated: \"a\" ends at byte 8 of the data, the file has 4");
    REFUSED("{" T("a", "F32", "[0]", "[0,0]") "," T("a", "F32", "[1]", "[0,4]") "}", 4, "two tensors named \"a\"");
    REFUSED("{" T("a", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 16 dims");
    REFUSED("{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[0,4]") "}", 4, "not a valid safetensors file: \"b\" overlaps another tensor");
    REFUSED("{" T("a", "F32", "[1]", "[4,8]") "}", 8, "\"a\" follows a gap");
    REFUSED("{" T("a", "F32", "[1]", "[0,4]") "}", 6, "2 bytes of data after the last tensor");
    tc_safetensors file;
    tc_ok(tc_safetensors_parse(&file, "abc", 3) == TC_STATUS_BAD_WEIGHTS && strstr(file.message, "3 bytes"),
          "refused: shorter than a length");
    tc_ok(tc_safetensors_open(&file, "/nonexistent/x") == TC_STATUS_SYSTEM && strstr(file.message, "cannot be opened"),
          "refused: no file");
    tc_ok(tc_safetensors_open(&file, path) == TC_STATUS_BAD_WEIGHTS &&
              !strcmp(file.message, "not a safetensors file: 0 bytes"),
          "refused: an empty file");
    tc_ok(tc_safetensors_open(&file, "/tmp") == TC_STATUS_BAD_WEIGHTS, "refused: a directory");
    remove(path);
    tc_ok(mkfifo(path, 0600) == 0 && tc_safetensors_open(&file, path) == TC_STATUS_BAD_WEIGHTS &&
              strstr(file.message, "not a regular file"),
          "refused: a FIFO, and nobody waits for its writer");
    remove(path);
}

/* What was written is read, in any order of dtypes, with names that JSON escapes. */
static void check_written(void)
{
    static const float f[6] = {1, -2, 3.5f, 0, 1e-30f, 6};
    static const int64_t wide[1] = {INT64_MIN};
    static const uint8_t flag[1] = {1};
    const tc_safetensor tensors[] = {
        {.name = "b\xc3\xa9\"\\\n", .dtype = TC_DTYPE_BOOL, .data = flag, .bytes = 1},
        {.name = "x", .dtype = TC_DTYPE_F32, .rank = 2, .shape = {2, 3}, .data = f, .bytes = sizeof f},
        {.name = "none", .dtype = TC_DTYPE_F16, .rank = 2, .shape = {0, 4}},
        {.name = "wide", .dtype = TC_DTYPE_I64, .rank = 1, .shape = {1}, .data = wide, .bytes = sizeof wide},
    };
    tc_safetensors file;
    float x[6];
    int64_t y[1];
    tc_ok(tc_safetensors_write(path, tensors, 4) == TC_STATUS_OK, "a file is written");
    tc_ok(tc_safetensors_open(&file, path) == TC_STATUS_OK && file.count == 4, "and read");
    const tc_safetensor *t = tc_safetensors_find(&file, "x");
    tc_ok(t && t->rank == 2 && t->shape[0] == 2 && t->shape[1] == 3 && !strcmp(t->dtype_name, "F32"), "shape and dtype");
    tc_ok(t && (uintptr_t)t->data % sizeof(float) == 0, "data is aligned");
    tc_ok(tc_safetensors_read(&file, "x", TC_DTYPE_F32, x, sizeof x) == TC_STATUS_OK && !memcmp(x, f, sizeof x), "floats");
    tc_ok(tc_safetensors_read(&file, "wide", TC_DTYPE_I64, y, sizeof y) == TC_STATUS_OK && y[0] == INT64_MIN, "an integer");
    tc_ok(tc_safetensors_read(&file, "none", TC_DTYPE_F16, NULL, 0) == TC_STATUS_OK, "a tensor of no element");
    tc_ok(tc_safetensors_find(&file, tensors[0].name) != NULL, "a name with escapes");
    tc_ok(tc_safetensors_read(&file, "z", TC_DTYPE_F32, x, 4) == TC_STATUS_BAD_ARGUMENT &&
              !strcmp(file.message, "no tensor \"z\""),
          "no such tensor");
    tc_ok(tc_safetensors_read(&file, "x", TC_DTYPE_F64, x, 24) == TC_STATUS_BAD_ARGUMENT &&
              !strcmp(file.message, "\"x\" is F32, not F64"),
          "another dtype");
    tc_ok(tc_safetensors_read(&file, "x", TC_DTYPE_F32, x, 4) == TC_STATUS_BAD_ARGUMENT &&
              !strcmp(file.message, "\"x\" has 24 bytes, not 4"),
          "another size");
    tc_safetensors_close(&file);
    tc_safetensors_close(&file);
    tc_ok(file.count == 0 && !tc_safetensors_find(&file, "x"), "a closed file has no tensors");
    tc_safetensors_close(NULL);
}

static void check_refused(void)
{
    static const float f[2] = {0};
    const tc_safetensor good = {.name = "x", .dtype = TC_DTYPE_F32, .rank = 1, .shape = {2}, .data = f, .bytes = sizeof f};
    const tc_safetensor twice[] = {good, good};
    tc_safetensor t = good;
    tc_ok(tc_safetensors_write(path, twice, 2) == TC_STATUS_BAD_ARGUMENT, "not written: two of one name");
    t.bytes = 4;
    tc_ok(tc_safetensors_write(path, &t, 1) == TC_STATUS_BAD_ARGUMENT, "not written: bytes of another shape");
    t = good, t.name = "\xff";
    tc_ok(tc_safetensors_write(path, &t, 1) == TC_STATUS_BAD_ARGUMENT, "not written: a name that is no UTF-8");
    t = good, t.dtype = TC_DTYPE_COUNT;
    tc_ok(tc_safetensors_write(path, &t, 1) == TC_STATUS_BAD_ARGUMENT, "not written: no dtype");
    t = good, t.data = NULL;
    tc_ok(tc_safetensors_write(path, &t, 1) == TC_STATUS_NULL_POINTER, "not written: no data");
    tc_ok(tc_safetensors_write("/nonexistent/x", &good, 1) == TC_STATUS_SYSTEM, "not written: no folder");
    tc_safetensors file;
    tc_ok(tc_safetensors_open(&file, path) == TC_STATUS_OK && file.count == 4, "the file that was there stays");
    tc_safetensors_close(&file);
}

static int same_content(const char *a, const char *b)
{
    char in_a[512], in_b[512];
    FILE *first = fopen(a, "rb"), *second = fopen(b, "rb");
    int same = first && second;
    if (same) {
        const size_t n = fread(in_a, 1, sizeof in_a, first), m = fread(in_b, 1, sizeof in_b, second);
        same = n && n == m && !memcmp(in_a, in_b, n);
    }
    if (first)
        fclose(first);
    if (second)
        fclose(second);
    return same;
}

/* What a FIFO is given comes to its reader, and it stays a FIFO; of a link the target is replaced, or made. */
static void check_places(void)
{
    static const float f[2] = {1, 2};
    const tc_safetensor t = {.name = "x", .dtype = TC_DTYPE_F32, .rank = 1, .shape = {2}, .data = f, .bytes = sizeof f};
    char pipe[4128], link[4128], far[4128], copy[4128];
    snprintf(pipe, sizeof pipe, "%s.pipe", path);
    snprintf(link, sizeof link, "%s.link", path);
    snprintf(far, sizeof far, "%s.far", path);
    snprintf(copy, sizeof copy, "%s.copy", path);
    struct stat at;
    tc_ok(tc_safetensors_write(path, &t, 1) == TC_STATUS_OK && mkfifo(pipe, 0600) == 0, "a file, and a FIFO");
    fflush(stdout);
    const pid_t reader = fork();
    if (reader == 0) {
        char bytes[512];
        FILE *in = fopen(pipe, "rb"), *out = fopen(copy, "wb");
        const size_t n = in && out ? fread(bytes, 1, sizeof bytes, in) : 0;
        _exit(!(n && fwrite(bytes, 1, n, out) == n && fclose(out) == 0));
    }
    int status = 1;
    tc_ok(tc_safetensors_write(pipe, &t, 1) == TC_STATUS_OK, "a FIFO is written");
    tc_ok(stat(pipe, &at) == 0 && S_ISFIFO(at.st_mode), "and stays one");
    if (!S_ISFIFO(at.st_mode))
        kill(reader, SIGKILL);
    tc_ok(waitpid(reader, &status, 0) == reader && status == 0 && same_content(path, copy), "its reader has the file");
    remove(copy);
    tc_ok(symlink(strrchr(copy, '/') + 1, far) == 0 && symlink(far, link) == 0, "a link to a link to no file");
    for (int turn = 0; turn < 2; ++turn) {
        tc_ok(tc_safetensors_write(link, &t, 1) == TC_STATUS_OK && same_content(path, copy),
              turn ? "its target is replaced" : "the file is made");
        tc_ok(lstat(link, &at) == 0 && S_ISLNK(at.st_mode) && lstat(far, &at) == 0 && S_ISLNK(at.st_mode) &&
                  lstat(copy, &at) == 0 && S_ISREG(at.st_mode),
              "the links stay");
        FILE *out = fopen(copy, "wb");
        if (out)
            fclose(out);
    }
    remove(far);
    tc_ok(symlink(link, far) == 0 && tc_safetensors_write(link, &t, 1) == TC_STATUS_SYSTEM, "links in a circle");
    remove(pipe);
    remove(link);
    remove(far);
    remove(copy);
}

int main(void)
{
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(path, sizeof path, "%s/tc_safetensors_XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = length < (int)sizeof path ? mkstemp(path) : -1;
    if (fd < 0)
        return 1;
    close(fd);
    check_cases();
    check_messages();
    check_written();
    check_refused();
    check_places();
    remove(path);
    return tc_done();
}
