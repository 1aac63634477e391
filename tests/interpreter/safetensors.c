/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter's reader of safetensors files: the headers that capture's reader is tested with, every shorter file,
 * and files of random changes, which must be read or refused and never crash (run under sanitizers in the long suite).
 */
#include "safetensors.h"

#include "safetensors_cases.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static unsigned char *file_bytes(size_t number, size_t *length)
{
    const char *header = safetensors_cases[number].header;
    const size_t n = strlen(header);
    *length = 8 + n + safetensors_cases[number].data;
    unsigned char *bytes = calloc(*length, 1);
    if (!bytes)
        exit(1);
    bytes[0] = (unsigned char)(n & 255), bytes[1] = (unsigned char)(n >> 8);
    memcpy(bytes + 8, header, n);
    return bytes;
}

static int parses(const unsigned char *bytes, size_t length, tci_diag *diag)
{
    tc_st_file file = {0};
    unsigned char *exact = malloc(length + !length); /* so that a sanitizer sees a read behind it */
    if (!exact)
        exit(1);
    memcpy(exact, bytes, length);
    *diag = (tci_diag){0};
    const int ok = tc_st_parse(&file, "x.safetensors", exact, length, diag);
    for (size_t i = 0; ok && i < file.count; ++i) {
        const unsigned char *data = file.tensors[i].data;
        if (file.tensors[i].bytes && (data < exact || data + file.tensors[i].bytes > exact + length))
            tc_ok(0, "tensor %zu lies in the file", i);
    }
    if (ok)
        tc_st_close(&file);
    free(exact);
    return ok;
}

int main(void)
{
    enum { COUNT = sizeof safetensors_cases / sizeof *safetensors_cases };
    tci_diag diag;
    for (size_t i = 0; i < COUNT; ++i) {
        size_t length;
        unsigned char *bytes = file_bytes(i, &length);
        const int read = parses(bytes, length, &diag);
        if (!tc_ok(read == safetensors_cases[i].valid && read == !diag.failed, "%s: header %zu",
                   read ? "read" : "refused", i))
            tc_note("%s: %s", safetensors_cases[i].header, diag.text);
        free(bytes);
    }
    unsigned seed = 1, short_read = 0, inconsistent = 0;
    for (size_t i = 0; i < COUNT; ++i) {
        size_t length;
        unsigned char *bytes = file_bytes(i, &length);
        for (size_t n = 0; safetensors_cases[i].valid && n < length; ++n)
            short_read += (unsigned)parses(bytes, n, &diag);
        for (int round = 0; round < 200; ++round) {
            seed = seed * 1664525u + 1013904223u;
            const size_t at = (seed >> 8) % length;
            const unsigned char old = bytes[at];
            bytes[at] = round % 2 ? (unsigned char)(seed >> 24) : (unsigned char)"{}[]\",:\\09ue"[(seed >> 24) % 12];
            inconsistent += (unsigned)(parses(bytes, length, &diag) == diag.failed);
            bytes[at] = old;
        }
        free(bytes);
    }
    tc_ok(short_read == 0, "no valid file is read when it was cut");
    tc_ok(inconsistent == 0, "a changed file is read, or refused with a message");
    return tc_done();
}
