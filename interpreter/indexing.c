/* SPDX-License-Identifier: Apache-2.0
 *
 * reverse, scatter, sort, cumulative and products: what is done in a fixed order, one element after the other. All of
 * it is said with the scalar operations of any dtype (tci_scalar_run), as docs/graph.md and docs/numerics.md say it.
 */
#include "lanes.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

bool tci_op_reverse(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_attr *axes = tci_node_attr(node, "axes");
    tci_tensor view = *in;
    for (size_t i = 0; i < axes->count; i++) {
        const int64_t axis = axes->ints[i];
        if (axis < 0 || axis >= in->rank || (i > 0 && axis <= axes->ints[i - 1]))
            return tci_node_fail(scope, node, "axes are not ascending dims of the operand");
        if (tci_tensor_elements(in) > 0)
            view.data += (view.shape[axis] - 1) * view.stride[axis] * (int64_t)tci_dtype_size(in->dtype);
        view.stride[axis] = -view.stride[axis];
    }
    *out = tci_tensor_share(&view);
    return true;
}

/* The scalar operation that a word of scatter and cumulative names; NULL where the dtype has none. */
static tci_run *combining(const char *op, tci_dtype dtype)
{
    if (strcmp(op, "sum") == 0 || strcmp(op, "add") == 0)
        return tci_scalar_run(TCI_OP_add, dtype);
    if (strcmp(op, "prod") == 0 || strcmp(op, "mul") == 0)
        return tci_scalar_run(TCI_OP_mul, dtype);
    if (strcmp(op, "max") == 0)
        return tci_scalar_run(TCI_OP_maximum, dtype);
    return strcmp(op, "min") == 0 ? tci_scalar_run(TCI_OP_minimum, dtype) : NULL;
}

/* -- scatter ------------------------------------------------------------------------------------------------------- */

/* The part of a tensor at one index of an axis, which keeps size 1. */
static tci_tensor slice_at(const tci_tensor *x, int64_t axis, int64_t index)
{
    tci_tensor slice = *x;
    slice.shape[axis] = 1;
    slice.data += index * x->stride[axis] * (int64_t)tci_dtype_size(x->dtype);
    return slice;
}

/* The values u[a..., j..., b...] as [a..., number of the index, b...]: false where they do not have that shape. */
static bool fold_values(const tci_tensor *x, const tci_tensor *index, int64_t axis, const tci_tensor *u,
                        tci_tensor *folded)
{
    bool fits = u->dtype == x->dtype && u->rank == x->rank - 1 + index->rank;
    int64_t shape[TCI_MAX_RANK];
    for (int d = 0; d < x->rank && fits; d++) {
        shape[d] = d == axis ? tci_tensor_elements(index) : x->shape[d];
        if (d == axis)
            for (int i = 0; i < index->rank; i++)
                fits &= u->shape[axis + i] == index->shape[i];
        else
            fits &= u->shape[d < axis ? d : d - 1 + index->rank] == x->shape[d];
    }
    if (fits)
        tci_tensor_borrow(folded, x->dtype, x->rank, shape, u->data);
    return fits;
}

bool tci_op_scatter(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    const char *op = tci_node_attr(node, "op")->text;
    tci_run *const run = combining(op, in->dtype);
    if (axis < 0 || axis >= in->rank || (in[1].dtype != TCI_I32 && in[1].dtype != TCI_I64))
        return tci_node_fail(scope, node, "no such axis, or no integer indices");
    if (run == NULL && strcmp(op, "set") != 0)
        return tci_node_fail(scope, node, "no '%s' of %s", op, tci_dtype_name(in->dtype));
    tci_tensor indices, values, folded;
    if (!tci_tensor_dense(&indices, &in[1], node->loc, scope->diag))
        return false;
    if (!tci_tensor_dense(&values, &in[2], node->loc, scope->diag)) {
        tci_tensor_release(&indices);
        return false;
    }
    bool ok = fold_values(in, &indices, axis, &values, &folded) ||
              tci_node_fail(scope, node, "the values do not have the shape of what is read there");
    ok = ok && tci_tensor_make(out, in->dtype, in->rank, in->shape, node->loc, scope->diag);
    if (ok)
        tci_tensor_copy(out, in);
    const int64_t count = tci_tensor_elements(&indices);
    for (int64_t i = 0; i < count && ok; i++) {
        const int64_t index = indices.dtype == TCI_I32 ? ((const int32_t *)(const void *)indices.data)[i]
                                                       : ((const int64_t *)(const void *)indices.data)[i];
        if (index < 0 || index >= in->shape[axis]) {
            char where[128];
            ok = tci_node_fail(scope, node, "index %lld at %s is outside 0..%lld", (long long)index,
                               tci_index_describe(&indices, i, where, sizeof where), (long long)in->shape[axis] - 1);
            break;
        }
        const tci_tensor to = slice_at(out, axis, index), from = slice_at(&folded, axis, i);
        if (run == NULL)
            tci_tensor_copy(&to, &from);
        else
            tci_for_each_run(3, (const tci_tensor *const[]){&to, &to, &from}, run, NULL);
    }
    tci_tensor_release(&values);
    tci_tensor_release(&indices);
    return ok;
}

/* -- cumulative ---------------------------------------------------------------------------------------------------- */

bool tci_op_cumulative(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    const bool reverse = tci_node_attr(node, "reverse")->ints[0] != 0;
    const char *op = tci_node_attr(node, "op")->text;
    tci_run *const run = combining(op, in->dtype);
    if (axis < 0 || axis >= in->rank || run == NULL)
        return tci_node_fail(scope, node, "no such axis, or no '%s' of %s", op, tci_dtype_name(in->dtype));
    if (!tci_tensor_make(out, in->dtype, in->rank, in->shape, node->loc, scope->diag))
        return false;
    tci_tensor_copy(out, in);
    const int64_t n = in->shape[axis];
    for (int64_t i = 1; i < n; i++) {
        const tci_tensor before = slice_at(out, axis, reverse ? n - i : i - 1);
        const tci_tensor here = slice_at(out, axis, reverse ? n - 1 - i : i);
        tci_for_each_run(3, (const tci_tensor *const[]){&here, &before, &here}, run, NULL);
    }
    return true;
}

/* -- products ------------------------------------------------------------------------------------------------------ */

static void multiply(tci_run *run, char *to, char *with)
{
    run(NULL, 1, (char *const[]){to, to, with}, (const ptrdiff_t[]){0, 0, 0});
}

/* The product of a block of terms, left in lane[0]. */
static void multiply_block(tci_run *run, size_t size, char *lane, char *x, int64_t terms)
{
    const int64_t used = terms < TCI_LANES ? terms : TCI_LANES;
    memcpy(lane, x, (size_t)used * size);
    for (int64_t i = TCI_LANES; i < terms; i++)
        multiply(run, lane + (size_t)(i % TCI_LANES) * size, x + (size_t)i * size);
    for (int64_t half = TCI_LANES / 2; half >= 1; half /= 2)
        for (int64_t l = 0; l < half && l + half < used; l++)
            multiply(run, lane + (size_t)l * size, lane + (size_t)(l + half) * size);
}

bool tci_product_rows(const tci_tensor *rows, int64_t n, const tci_tensor *out)
{
    tci_run *const run = tci_scalar_run(TCI_OP_mul, rows->dtype);
    tci_run *const one = tci_cast_run(TCI_BOOL, rows->dtype);
    const size_t size = tci_dtype_size(rows->dtype);
    const int64_t count = tci_tensor_elements(out);
    char *const lane = run == NULL || one == NULL ? NULL : malloc(TCI_LANES * size);
    for (int64_t r = 0; r < count && lane != NULL; r++) {
        char *const to = out->data + (size_t)r * size;
        one(NULL, 1, (char *const[]){to, (char[]){1}}, (const ptrdiff_t[]){0, 0});
        for (int64_t block = 0; block < n; block += TCI_BLOCK) {
            multiply_block(run, size, lane, rows->data + (size_t)(r * n + block) * size,
                           n - block < TCI_BLOCK ? n - block : TCI_BLOCK);
            if (block == 0)
                memcpy(to, lane, size);
            else
                multiply(run, to, lane);
        }
    }
    free(lane);
    return lane != NULL;
}

/* -- sort ---------------------------------------------------------------------------------------------------------- */

/* Elements of one row: x + i*stride. A NaN is above every number and equal to every NaN; -0 equals +0. */
typedef struct row {
    tci_run *less, *differ;
    char *x;
    ptrdiff_t stride;
    bool descending;
} row;

static bool holds(tci_run *run, char *a, char *b)
{
    uint8_t result;
    run(NULL, 1, (char *const[]){(char *)&result, a, b}, (const ptrdiff_t[]){0, 0, 0});
    return result != 0;
}

/* Whether element j stands before element i where i is the earlier of both. */
static bool overtakes(const row *r, int64_t j, int64_t i)
{
    char *a = r->x + j * r->stride, *b = r->x + i * r->stride;
    if (r->descending) {
        char *swap = a;
        a = b;
        b = swap;
    }
    const bool a_nan = holds(r->differ, a, a), b_nan = holds(r->differ, b, b);
    return a_nan || b_nan ? !a_nan : holds(r->less, a, b);
}

/* Sorts order[0..n-1] by merging; spare has room for n. */
static void merge_sort(const row *r, int64_t *order, int64_t *spare, int64_t n)
{
    if (n < 2)
        return;
    const int64_t half = n / 2;
    merge_sort(r, order, spare, half);
    merge_sort(r, order + half, spare, n - half);
    memcpy(spare, order, (size_t)half * sizeof *order);
    int64_t i = 0, j = half, k = 0;
    while (i < half && j < n)
        order[k++] = overtakes(r, order[j], spare[i]) ? order[j++] : spare[i++];
    while (i < half)
        order[k++] = spare[i++];
}

/* x with the axis last; its dims before that one are those of the rows. */
static tci_tensor axis_last(const tci_tensor *x, int64_t axis)
{
    tci_tensor moved = *x;
    for (int d = (int)axis; d + 1 < x->rank; d++) {
        moved.shape[d] = x->shape[d + 1];
        moved.stride[d] = x->stride[d + 1];
    }
    moved.shape[x->rank - 1] = x->shape[axis];
    moved.stride[x->rank - 1] = x->stride[axis];
    return moved;
}

bool tci_op_sort(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    int64_t count, shape[TCI_MAX_RANK];
    row r = {tci_scalar_run(TCI_OP_lt, in->dtype), tci_scalar_run(TCI_OP_ne, in->dtype), NULL, 0,
             tci_node_attr(node, "descending")->ints[0] != 0};
    if (!tci_evaluate_list(scope, node, &tci_node_attr(node, "count")->dims, &count, 1))
        return false;
    if (axis < 0 || axis >= in->rank || count < 0 || count > in->shape[axis] || r.less == NULL || r.differ == NULL)
        return tci_node_fail(scope, node, "no such axis, too many elements, or no order of %s",
                             tci_dtype_name(in->dtype));
    const int64_t n = in->shape[axis], rows = n ? tci_tensor_elements(in) / n : 0;
    memcpy(shape, in->shape, sizeof shape);
    shape[axis] = count;
    if (!tci_tensor_make(&out[0], in->dtype, in->rank, shape, node->loc, scope->diag) ||
        !tci_tensor_make(&out[1], TCI_I64, in->rank, shape, node->loc, scope->diag))
        return false;
    int64_t *const order = malloc(((size_t)n + 1) * 2 * sizeof *order);
    if (order == NULL)
        return tci_node_fail(scope, node, "out of memory");
    const tci_tensor from = axis_last(in, axis), to = axis_last(&out[0], axis), where = axis_last(&out[1], axis);
    const size_t size = tci_dtype_size(in->dtype);
    const int last = in->rank - 1;
    int64_t at[TCI_MAX_RANK] = {0};
    r.stride = from.stride[last] * (int64_t)size;
    for (int64_t number = 0; number < rows; number++) {
        int64_t a = 0, b = 0;
        for (int d = 0; d < last; d++) {
            a += at[d] * from.stride[d];
            b += at[d] * to.stride[d];
        }
        r.x = from.data + a * (int64_t)size;
        for (int64_t i = 0; i < n; i++)
            order[i] = i;
        merge_sort(&r, order, order + n, n);
        for (int64_t i = 0; i < count; i++) {
            const int64_t place = b + i * to.stride[last];
            memcpy(to.data + place * (int64_t)size, r.x + order[i] * r.stride, size);
            ((int64_t *)(void *)where.data)[place] = order[i];
        }
        for (int d = last - 1; d >= 0 && ++at[d] == from.shape[d]; d--)
            at[d] = 0;
    }
    free(order);
    return true;
}
