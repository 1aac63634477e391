/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of files, for the parts of tc-data.
 */
#ifndef TC_CHECK_DATA_H
#define TC_CHECK_DATA_H

#include "tc_scalar.h"

#include <tensor_compile/safetensors.h>

#include <stdbool.h>

/* By dtype of files: the name in graph text, "?" where a model has none such; binary digits of the significand of a float,
 * 0 of others. */
typedef struct data_dtype {
    const char *name;
    int digits;
    size_t bytes;
} data_dtype;

extern const data_dtype data_dtypes[TC_DTYPE_COUNT + 1];

/* Prints the message; 2, the exit code. */
int data_fail(const char *message);
/* Of a file that cannot be read or written: what the tool shows as an error of the user's. */
int data_fail_file(const char *path, const char *message);

int64_t data_count(const tc_safetensor *tensor);
/* Of a tensor of floats. */
double data_element(const tc_safetensor *tensor, int64_t i);
/* The distance between the neighbours of a float at |x|, down to its denormals. */
double data_unit(tc_dtype dtype, double x);

/* tc-data compare and spread; count: of the arguments behind the command. */
int data_compare(int count, char **arguments);
int data_spread(int count, char **arguments);

#endif
