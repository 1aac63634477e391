/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files (the format of Hugging Face): named tensors to give to a model and those that it gave. A part of
 * the hosted runtime.
 *
 * The format: eight bytes, the little-endian length N of the header; N bytes of JSON, an object of "name": {"dtype":
 * "F32", "shape": [2, 3], "data_offsets": [begin, end]} and perhaps "__metadata__"; then the data, to which the offsets
 * are relative. Little-endian machines only.
 *
 * The reader maps the file and trusts nothing in it: lengths, offsets and shapes are checked against each other and
 * against the size of the file. Tensors cover the data exactly, without gap or overlap.
 */
#ifndef TENSOR_COMPILE_SAFETENSORS_H
#define TENSOR_COMPILE_SAFETENSORS_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TC_SAFETENSORS_MAX_RANK 16

/* A tensor of a file, or one that is to be written: dense, row-major. */
typedef struct tc_safetensor {
    const char *name; /* UTF-8 */
    tc_dtype dtype;   /* TC_DTYPE_COUNT: one that models do not have (an 8-bit float) */
    int rank;
    tc_index shape[TC_SAFETENSORS_MAX_RANK];
    const void *data; /* of a file that was read: not necessarily aligned for the dtype */
    size_t bytes;
    const char *dtype_name; /* as files name it, "F32"; static storage; ignored when written */
} tc_safetensor;

/* An open file. Starts as {0}. Tensors, names and data are valid until it is closed. */
typedef struct tc_safetensors {
    const tc_safetensor *tensors; /* in the order of the header */
    size_t count;
    char message[256]; /* what is wrong with the file, one line without its path; empty before a failure */
    /* the rest is the reader's */
    const tc_safetensor **sorted;
    void *names, *map;
    size_t map_bytes;
} tc_safetensors;

/* Maps the file at `path`. What *file was is overwritten: close it before. Behind a failure the file is closed, and its
 * message says why. TC_STATUS_NULL_POINTER, TC_STATUS_SYSTEM (errno says why), TC_STATUS_BAD_WEIGHTS: not a valid
 * file. */
tc_status tc_safetensors_open(tc_safetensors *file, const char *path);

/* The same of bytes in memory, which stay the caller's and must live until the file is closed. */
tc_status tc_safetensors_parse(tc_safetensors *file, const void *bytes, size_t length);

/* Closing twice, an empty one or NULL does nothing. */
void tc_safetensors_close(tc_safetensors *file);

/* NULL where there is none of that name. */
const tc_safetensor *tc_safetensors_find(const tc_safetensors *file, const char *name);

/* Copies the elements of a tensor, which must be of that dtype and of `bytes` bytes. TC_STATUS_NULL_POINTER,
 * TC_STATUS_BAD_ARGUMENT: no such tensor, another dtype or size; file->message says which. */
tc_status tc_safetensors_read(tc_safetensors *file, const char *name, tc_dtype dtype, void *to, size_t bytes);

/* Writes a file: beside `path`, then renamed, so that there is never half a file. Where `path` is a symbolic link, this
 * is done to the file that it leads to; a FIFO or a device is written in its place. Elements of larger dtypes come
 * first, so all data is aligned. TC_STATUS_NULL_POINTER; TC_STATUS_BAD_ARGUMENT: a dtype or rank that there is not, a
 * name that is no UTF-8, two of one name, or bytes that are not those of the shape; TC_STATUS_SYSTEM (errno says
 * why). */
tc_status tc_safetensors_write(const char *path, const tc_safetensor *tensors, size_t count);

#ifdef __cplusplus
}
#endif

#endif
