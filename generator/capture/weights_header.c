/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of a weights file, by the runtime's reader, whose types and those of model.h do not go into one file.
 */
#include "weights_header.h"

#include <stdlib.h>
#include <string.h>

#include <tensor_compile/safetensors.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tc_weights_entry *)a)->name, ((const tc_weights_entry *)b)->name);
}

static void copy_entry(tc_arena *arena, const tc_safetensor *from, tc_weights_entry *to)
{
    *to = (tc_weights_entry){.name = tc_arena_copy(arena, from->name), .dtype = from->dtype_name, .rank = from->rank};
    for (int d = 0; d < from->rank; ++d)
        to->shape[d] = from->shape[d];
}

tc_weights_header *tc_weights_header_read(tc_arena *arena, const char *path, const char **error)
{
    tc_safetensors file;
    if (tc_safetensors_open(&file, path) != TC_STATUS_OK) {
        *error = tc_arena_copy(arena, file.message);
        return NULL;
    }
    tc_weights_header *header = tc_arena_alloc(arena, sizeof *header);
    header->count = (int)file.count;
    header->entries = tc_arena_alloc(arena, (file.count + 1) * sizeof *header->entries);
    for (size_t i = 0; i < file.count; ++i)
        copy_entry(arena, &file.tensors[i], &header->entries[i]);
    qsort(header->entries, file.count, sizeof *header->entries, by_name);
    tc_safetensors_close(&file);
    return header;
}

const tc_weights_entry *tc_weights_header_find(const tc_weights_header *file, const char *name)
{
    const tc_weights_entry key = {.name = name};
    return bsearch(&key, file->entries, (size_t)file->count, sizeof *file->entries, by_name);
}
