/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored inputs and expected outputs of tests: tensors of safetensors files that are ours, so what is wrong with one only has
 * to end the test.
 */
#ifndef TC_TESTS_SAFETENSORS_H
#define TC_TESTS_SAFETENSORS_H

#include <tensor_compile/safetensors.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The data of tensor `name` in the file at `path`, which must be `bytes` long: malloc'd, the caller's. Prints what is
 * wrong and exits where it cannot be read. */
static void *tc_read_tensor(const char *path, const char *name, size_t bytes)
{
    tc_safetensors file;
    void *data = malloc(bytes + 1);
    const tc_safetensor *t = tc_safetensors_open(&file, path) == TC_STATUS_OK ? tc_safetensors_find(&file, name) : NULL;
    if (!data || !t || t->bytes != bytes) {
        fprintf(stderr, "%s: no tensor %s of %zu bytes %s\n", path, name, bytes, file.message);
        exit(1);
    }
    memcpy(data, t->data, bytes);
    tc_safetensors_close(&file);
    return data;
}

#endif
