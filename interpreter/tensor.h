/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of the interpreter: strided views of reference-counted memory, and loops over their elements.
 *
 * reshape (where strides allow), transpose, broadcast and slice make views, so packing copies each element once. A
 * tensor is never written after it is made.
 */
#ifndef TCI_TENSOR_H
#define TCI_TENSOR_H

#include "graph.h"

typedef struct tci_buffer tci_buffer;

/* stride: in elements, 0 along repeated dims. data may be unaligned only while owner is NULL (borrowed memory). */
typedef struct tci_tensor {
    tci_dtype dtype;
    int rank;
    int64_t shape[TCI_MAX_RANK];
    int64_t stride[TCI_MAX_RANK];
    char *data;
    tci_buffer *owner;
} tci_tensor;

/* Fills in dense strides and allocates. Fails on negative sizes, overflow and lack of memory. */
bool tci_tensor_make(tci_tensor *tensor, tci_dtype dtype, int rank, const int64_t *shape, tci_loc loc, tci_diag *diag);

/* A dense tensor over memory that the caller keeps alive. The shape has been checked. */
void tci_tensor_borrow(tci_tensor *tensor, tci_dtype dtype, int rank, const int64_t *shape, const void *data);

/* One more reference to the same memory; release gives one back and clears. */
tci_tensor tci_tensor_share(const tci_tensor *tensor);
void tci_tensor_release(tci_tensor *tensor);

int64_t tci_tensor_elements(const tci_tensor *tensor);
bool tci_tensor_is_dense(const tci_tensor *tensor);
bool tci_tensor_same_shape(const tci_tensor *a, const tci_tensor *b);

/* A dense tensor of the same elements: the tensor itself, shared, or a copy. */
bool tci_tensor_dense(tci_tensor *dense, const tci_tensor *tensor, tci_loc loc, tci_diag *diag);

/* "f32[2,3]" in text[size]; returns text. */
const char *tci_tensor_describe(const tci_tensor *tensor, char *text, size_t size);

/* The multi-dimensional index of the element number i in row-major order, as "[1, 0, 2]". */
const char *tci_index_describe(const tci_tensor *tensor, int64_t i, char *text, size_t size);

/* Calls run(context, n, p, step) so that every element is visited once, row-major: element j of tensor t is at
 * p[t] + j*step[t] (bytes). All tensors have the shape of the first; count is at most 4. */
typedef void tci_run(const void *context, size_t n, char *const *p, const ptrdiff_t *step);
void tci_for_each_run(int count, const tci_tensor *const *tensors, tci_run *run, const void *context);

/* Copies the elements of one tensor into another of the same shape and dtype. */
void tci_tensor_copy(const tci_tensor *to, const tci_tensor *from);

#endif
