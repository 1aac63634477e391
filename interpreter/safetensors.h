/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing of safetensors files: 8 bytes of header length (little-endian), a JSON header, the data.
 *
 * The reader maps the file and trusts nothing in it: lengths, offsets and shapes are checked against each other and
 * against the file's size, tensors must cover the data exactly, without overlap. Little-endian hosts only.
 */
#ifndef TC_SAFETENSORS_H
#define TC_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"

enum { TC_ST_MAX_RANK = 16 };

typedef enum tc_st_dtype {
    TC_ST_BOOL,
    TC_ST_U8,
    TC_ST_I8,
    TC_ST_F8_E5M2,
    TC_ST_F8_E4M3,
    TC_ST_I16,
    TC_ST_U16,
    TC_ST_F16,
    TC_ST_BF16,
    TC_ST_I32,
    TC_ST_U32,
    TC_ST_F32,
    TC_ST_I64,
    TC_ST_U64,
    TC_ST_F64,
    TC_ST_DTYPE_COUNT
} tc_st_dtype;

/* data: dense, row-major, bytes long; not necessarily aligned for the dtype. name is UTF-8. */
typedef struct tc_st_tensor {
    const char *name;
    tc_st_dtype dtype;
    int rank;
    int64_t shape[TC_ST_MAX_RANK];
    const void *data;
    size_t bytes;
} tc_st_tensor;

/* An open file; names and data are valid until close. Starts as {0}. */
typedef struct tc_st_file {
    tc_st_tensor *tensors; /* in the order of the header */
    size_t count;
    tci_arena arena;
    void *map;
    size_t map_bytes;
} tc_st_file;

/* Errors name the path. After a failure the file is closed. */
bool tc_st_open(tc_st_file *file, const char *path, tci_diag *diag);
void tc_st_close(tc_st_file *file);

/* Checks and parses bytes in memory, as open does (path is for messages); the bytes are borrowed until close. */
bool tc_st_parse(tc_st_file *file, const char *path, const void *bytes, size_t length, tci_diag *diag);

/* NULL where there is none of that name. */
const tc_st_tensor *tc_st_find(const tc_st_file *file, const char *name);

/* Writes beside `path` and renames. Elements of larger dtypes come first, so all data is aligned. */
bool tc_st_write(const char *path, const tc_st_tensor *tensors, size_t count, tci_diag *diag);

const char *tc_st_dtype_name(tc_st_dtype dtype);
size_t tc_st_dtype_size(tc_st_dtype dtype);

#endif
