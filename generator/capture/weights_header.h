/* SPDX-License-Identifier: Apache-2.0
 *
 * What a weights file holds: names, dtypes and shapes of its tensors. Elements are never read.
 */
#ifndef TC_CAPTURE_WEIGHTS_HEADER_H
#define TC_CAPTURE_WEIGHTS_HEADER_H

#include <stdint.h>

#include "memory.h"

enum { TC_WEIGHTS_MAX_RANK = 16 };

typedef struct tc_weights_entry {
    const char *name;
    const char *dtype; /* as in the file: "F32" */
    int rank;
    int64_t shape[TC_WEIGHTS_MAX_RANK];
} tc_weights_entry;

typedef struct tc_weights_header {
    int count;
    tc_weights_entry *entries; /* sorted by name */
} tc_weights_header;

/* NULL where the file cannot be read or is not valid: then *error says why, one line without the path. */
tc_weights_header *tc_weights_header_read(tc_arena *arena, const char *path, const char **error);
/* NULL where there is none of the name. */
const tc_weights_entry *tc_weights_header_find(const tc_weights_header *file, const char *name);

#endif
