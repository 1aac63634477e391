/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tci_buffer {
    size_t references;
    _Alignas(64) char bytes[];
};

static void dense_strides(tci_tensor *t)
{
    int64_t step = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        t->stride[d] = step;
        step *= t->shape[d];
    }
}

bool tci_tensor_make(tci_tensor *tensor, tci_dtype dtype, int rank, const int64_t *shape, tci_loc loc, tci_diag *diag)
{
    *tensor = (tci_tensor){.dtype = dtype, .rank = rank};
    int64_t bytes = (int64_t)tci_dtype_size(dtype);
    bool empty = false;
    for (int d = 0; d < rank; d++) {
        tensor->shape[d] = shape[d];
        if (shape[d] < 0)
            return tci_fail(diag, loc, "a dim is negative: %lld", (long long)shape[d]);
        empty |= shape[d] == 0;
        if (shape[d] != 0 && __builtin_mul_overflow(bytes, shape[d], &bytes))
            return tci_fail(diag, loc, "a tensor is too large");
    }
    dense_strides(tensor);
    if (empty)
        bytes = 0;
    if (bytes > INT64_MAX / 4)
        return tci_fail(diag, loc, "a tensor is too large");
    const size_t total = (sizeof(tci_buffer) + (size_t)bytes + 63) / 64 * 64;
    tci_buffer *buffer = aligned_alloc(64, total);
    if (buffer == NULL)
        return tci_fail(diag, loc, "out of memory: a tensor of %lld bytes", (long long)bytes);
    buffer->references = 1;
    tensor->owner = buffer;
    tensor->data = buffer->bytes;
    return true;
}

void tci_tensor_borrow(tci_tensor *tensor, tci_dtype dtype, int rank, const int64_t *shape, const void *data)
{
    *tensor = (tci_tensor){.dtype = dtype, .rank = rank, .data = (char *)(uintptr_t)data};
    for (int d = 0; d < rank; d++)
        tensor->shape[d] = shape[d];
    dense_strides(tensor);
}

tci_tensor tci_tensor_share(const tci_tensor *tensor)
{
    if (tensor->owner != NULL)
        tensor->owner->references++;
    return *tensor;
}

void tci_tensor_release(tci_tensor *tensor)
{
    if (tensor->owner != NULL && --tensor->owner->references == 0)
        free(tensor->owner);
    *tensor = (tci_tensor){0};
}

int64_t tci_tensor_elements(const tci_tensor *tensor)
{
    int64_t n = 1;
    for (int d = 0; d < tensor->rank; d++)
        n *= tensor->shape[d];
    return n;
}

bool tci_tensor_is_dense(const tci_tensor *tensor)
{
    int64_t step = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->shape[d] != 1 && tensor->stride[d] != step)
            return false;
        step *= tensor->shape[d];
    }
    return true;
}

bool tci_tensor_same_shape(const tci_tensor *a, const tci_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

bool tci_tensor_dense(tci_tensor *dense, const tci_tensor *tensor, tci_loc loc, tci_diag *diag)
{
    if (tci_tensor_is_dense(tensor)) {
        *dense = tci_tensor_share(tensor);
        return true;
    }
    if (!tci_tensor_make(dense, tensor->dtype, tensor->rank, tensor->shape, loc, diag))
        return false;
    tci_tensor_copy(dense, tensor);
    return true;
}

const char *tci_tensor_describe(const tci_tensor *tensor, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", tci_dtype_name(tensor->dtype));
    for (int d = 0; d < tensor->rank && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d == 0 ? "" : ",", (long long)tensor->shape[d]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

const char *tci_index_describe(const tci_tensor *tensor, int64_t i, char *text, size_t size)
{
    int64_t index[TCI_MAX_RANK];
    for (int d = tensor->rank - 1; d >= 0; d--) {
        index[d] = i % tensor->shape[d];
        i /= tensor->shape[d];
    }
    size_t used = (size_t)snprintf(text, size, "[");
    for (int d = 0; d < tensor->rank && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d == 0 ? "" : ", ", (long long)index[d]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

enum { MAX_TENSORS = 4 };

void tci_for_each_run(int count, const tci_tensor *const *tensors, tci_run *run, const void *context)
{
    /* Dims of size 1 are dropped, and neighbours through which every tensor runs evenly become one. */
    int64_t shape[TCI_MAX_RANK], stride[TCI_MAX_RANK][MAX_TENSORS], index[TCI_MAX_RANK] = {0};
    int rank = 0;
    char *p[MAX_TENSORS];
    ptrdiff_t step[MAX_TENSORS] = {0};
    for (int d = 0; d < tensors[0]->rank; d++) {
        const int64_t n = tensors[0]->shape[d];
        if (n == 0)
            return;
        if (n == 1)
            continue;
        bool even = rank > 0;
        for (int t = 0; t < count && even; t++)
            even = stride[rank - 1][t] == tensors[t]->stride[d] * n;
        if (even)
            shape[rank - 1] *= n;
        else
            shape[rank++] = n;
        for (int t = 0; t < count; t++)
            stride[rank - 1][t] = tensors[t]->stride[d];
    }
    for (int t = 0; t < count; t++)
        p[t] = tensors[t]->data;
    if (rank == 0) {
        run(context, 1, p, step);
        return;
    }
    ptrdiff_t size[MAX_TENSORS];
    for (int t = 0; t < count; t++) {
        size[t] = (ptrdiff_t)tci_dtype_size(tensors[t]->dtype);
        step[t] = stride[rank - 1][t] * size[t];
    }
    for (;;) {
        run(context, (size_t)shape[rank - 1], p, step);
        int d = rank - 2;
        for (; d >= 0; d--) {
            for (int t = 0; t < count; t++)
                p[t] += stride[d][t] * size[t];
            if (++index[d] < shape[d])
                break;
            for (int t = 0; t < count; t++)
                p[t] -= stride[d][t] * size[t] * shape[d];
            index[d] = 0;
        }
        if (d < 0)
            return;
    }
}

#define COPY_RUN(bytes)                                                                                                \
    static void copy_run_##bytes(const void *context, size_t n, char *const *p, const ptrdiff_t *step)                 \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        char *to = p[0];                                                                                               \
        const char *from = p[1];                                                                                       \
        if (step[0] == bytes && step[1] == bytes) {                                                                    \
            memcpy(to, from, n *bytes);                                                                                \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++, to += step[0], from += step[1])                                                 \
            memcpy(to, from, bytes);                                                                                   \
    }
COPY_RUN(1)
COPY_RUN(2)
COPY_RUN(4)
COPY_RUN(8)

void tci_tensor_copy(const tci_tensor *to, const tci_tensor *from)
{
    const tci_tensor *const both[2] = {to, from};
    const size_t size = tci_dtype_size(to->dtype);
    tci_for_each_run(2, both,
                     size == 1   ? copy_run_1
                     : size == 2 ? copy_run_2
                     : size == 4 ? copy_run_4
                                 : copy_run_8,
                     NULL);
}
