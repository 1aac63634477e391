/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads stored inputs and expected outputs: tensors of the safetensors files that lie beside the tests. The files are
 * ours, so a damaged one only has to fail, not to be explained.
 */
#ifndef TC_TESTS_SAFETENSORS_H
#define TC_TESTS_SAFETENSORS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The data of tensor `name` in the file at `path`, which must be `bytes` long: malloc'd, the caller's. Prints what is
 * wrong and exits where it cannot be read. */
static void *tc_read_tensor(const char *path, const char *name, size_t bytes)
{
    unsigned char length_bytes[8];
    unsigned long length = 0, begin = 0, end = 0;
    char quoted[128];
    FILE *file = fopen(path, "rb");
    if (!file || fread(length_bytes, 1, 8, file) != 8) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    for (int i = 7; i >= 0; --i)
        length = length << 8 | length_bytes[i];
    char *header = calloc(1, length + 1);
    void *data = malloc(bytes);
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = header && fread(header, 1, length, file) == length ? strstr(header, quoted) : NULL;
    at = at ? strstr(at, "\"data_offsets\"") : NULL;
    if (!data || !at || sscanf(at, "\"data_offsets\":[%lu,%lu]", &begin, &end) != 2 || end - begin != bytes ||
        fseek(file, (long)(8 + length + begin), SEEK_SET) || fread(data, 1, bytes, file) != bytes) {
        fprintf(stderr, "%s: no tensor %s of %zu bytes\n", path, name, bytes);
        exit(1);
    }
    free(header);
    fclose(file);
    return data;
}

#endif
