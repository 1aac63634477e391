/* SPDX-License-Identifier: Apache-2.0
 *
 * Safetensors files: what the files of their reader and writer call of each other.
 */
#ifndef TENSOR_COMPILE_SAFETENSORS_PARTS_H
#define TENSOR_COMPILE_SAFETENSORS_PARTS_H

#include <tensor_compile/safetensors.h>

#include <stdbool.h>

typedef struct tc_safetensors_type {
    const char *name; /* as files have it */
    tc_dtype dtype;   /* TC_DTYPE_COUNT: models have none */
    size_t bytes;     /* of an element */
} tc_safetensors_type;

/* NULL where there is none. */
const tc_safetensors_type *tc_safetensors_type_named(const char *name);
const tc_safetensors_type *tc_safetensors_type_of(tc_dtype dtype);

/* The tensors sorted by name, malloc'd; NULL without memory. *twice: the first of those that share a name. */
const tc_safetensor **tc_safetensors_sorted(const tc_safetensor *tensors, size_t count, const tc_safetensor **twice);

/* The file's message; false. */
__attribute__((format(printf, 2, 3))) bool tc_safetensors_fail(tc_safetensors *file, const char *format, ...);

/* Reads a header of `size` bytes, each tensor's place checked against the data behind it: file->tensors, file->count and
 * file->names. False with the file's message; what it allocated goes when the file is closed. */
bool tc_safetensors_read_header(tc_safetensors *file, const char *text, size_t size, const void *data,
                                uint64_t data_bytes);

#endif
