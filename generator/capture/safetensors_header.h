/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of a safetensors file: names, dtypes and shapes, checked against the file's size. Elements are never read.
 *
 * Format: eight bytes, the little-endian length N of the header; N bytes of JSON, an object of
 * "name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]} and perhaps "__metadata__"; then the data, to
 * which the offsets are relative.
 */
#ifndef TC_CAPTURE_SAFETENSORS_HEADER_H
#define TC_CAPTURE_SAFETENSORS_HEADER_H

#include <stdint.h>

#include "memory.h"

enum { TC_SAFETENSORS_MAX_RANK = 16 };

typedef struct tc_safetensors_entry {
    const char *name;
    const char *dtype; /* as in the file: "F32" */
    int rank;
    int64_t shape[TC_SAFETENSORS_MAX_RANK];
    uint64_t begin, end; /* bytes from the start of the data */
} tc_safetensors_entry;

typedef struct tc_safetensors {
    int count;
    tc_safetensors_entry *entries; /* sorted by name */
} tc_safetensors;

/* NULL where the file cannot be read or is not valid: then *error says why, one line without the path. */
tc_safetensors *tc_safetensors_read(tc_arena *arena, const char *path, const char **error);
/* NULL where there is none of the name. */
const tc_safetensors_entry *tc_safetensors_find(const tc_safetensors *file, const char *name);

#endif
