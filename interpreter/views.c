/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaves and index maps: primitives that move elements and compute none.
 */
#include "ops.h"

#include <string.h>

bool tci_op_constant(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    (void)in;
    const uint64_t bits = tci_node_attr(node, "bits")->bits;
    const tci_dtype dtype = node->types[0].dtype;
    if (node->types[0].shape.count != 0)
        return tci_node_fail(scope, node, "its rank is 0");
    if (!tci_tensor_make(out, tci_storage(scope, dtype), 0, NULL, node->loc, scope->diag))
        return false;
    if (out->dtype == TCI_WIDE) {
        const double wide = tci_wide_of(dtype, &bits);
        memcpy(out->data, &wide, sizeof wide);
    } else if (dtype == TCI_BOOL) {
        out->data[0] = bits != 0;
    } else {
        memcpy(out->data, &bits, tci_dtype_size(dtype)); /* little-endian host */
    }
    return true;
}

static bool store_integer(const tci_scope *scope, const tci_node *node, tci_tensor *out, int64_t at, int64_t value)
{
    if (out->dtype == TCI_I64)
        ((int64_t *)(void *)out->data)[at] = value;
    else if (out->dtype == TCI_I32)
        ((int32_t *)(void *)out->data)[at] = (int32_t)value;
    else
        return tci_node_fail(scope, node, "its dtype is i32 or i64");
    return true;
}

bool tci_op_iota(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    (void)in;
    const tci_exprs *declared = &node->types[0].shape;
    const int rank = (int)declared->count;
    int64_t shape[TCI_MAX_RANK], line_shape[TCI_MAX_RANK];
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    if (axis < 0 || axis >= rank)
        return tci_node_fail(scope, node, "no such axis: %lld", (long long)axis);
    if (!tci_evaluate_list(scope, node, declared, shape, declared->count))
        return false;
    /* one line along the axis, repeated along the others */
    for (int d = 0; d < rank; d++)
        line_shape[d] = d == axis ? shape[d] : 1;
    if (!tci_tensor_make(out, node->types[0].dtype, rank, line_shape, node->loc, scope->diag))
        return false;
    for (int64_t i = 0; i < shape[axis]; i++)
        if (!store_integer(scope, node, out, i, i))
            return false;
    for (int d = 0; d < rank; d++) {
        if (d != axis)
            out->stride[d] = 0;
        out->shape[d] = shape[d];
    }
    return true;
}

bool tci_op_dim_value(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    (void)in;
    int64_t value;
    return tci_evaluate_list(scope, node, &tci_node_attr(node, "value")->dims, &value, 1) &&
           tci_tensor_make(out, node->types[0].dtype, 0, NULL, node->loc, scope->diag) &&
           store_integer(scope, node, out, 0, value);
}

bool tci_op_broadcast(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_exprs *list = &tci_node_attr(node, "shape")->dims;
    const tci_attr *axes = tci_node_attr(node, "axes");
    tci_tensor view = {.dtype = in->dtype, .rank = (int)list->count, .data = in->data, .owner = in->owner};
    if (list->count > TCI_MAX_RANK || axes->count != (size_t)in->rank)
        return tci_node_fail(scope, node, "axes do not fit the operand");
    if (!tci_evaluate_list(scope, node, list, view.shape, list->count))
        return false;
    for (int d = 0; d < in->rank; d++) {
        const int64_t axis = axes->ints[d];
        if (axis < 0 || axis >= view.rank || (d > 0 && axis <= axes->ints[d - 1]))
            return tci_node_fail(scope, node, "axes are not ascending dims of the result");
        if (in->shape[d] != 1 && in->shape[d] != view.shape[axis])
            return tci_node_fail(scope, node, "dim %d of the operand is %lld, neither 1 nor %lld", d,
                                 (long long)in->shape[d], (long long)view.shape[axis]);
        view.stride[axis] = in->shape[d] == 1 ? 0 : in->stride[d];
    }
    *out = tci_tensor_share(&view);
    return true;
}

bool tci_op_reshape(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_exprs *list = &tci_node_attr(node, "shape")->dims;
    int64_t shape[TCI_MAX_RANK], elements = 1;
    if (list->count > TCI_MAX_RANK)
        return tci_node_fail(scope, node, "more than %d dims", (int)TCI_MAX_RANK);
    if (!tci_evaluate_list(scope, node, list, shape, list->count))
        return false;
    for (size_t d = 0; d < list->count; d++)
        if (__builtin_mul_overflow(elements, shape[d], &elements))
            return tci_node_fail(scope, node, "overflow in the shape");
    if (elements != tci_tensor_elements(in))
        return tci_node_fail(scope, node, "%lld elements become %lld", (long long)tci_tensor_elements(in),
                             (long long)elements);
    tci_tensor dense;
    if (!tci_tensor_dense(&dense, in, node->loc, scope->diag))
        return false;
    tci_tensor_borrow(out, in->dtype, (int)list->count, shape, dense.data);
    out->owner = dense.owner;
    return true;
}

bool tci_op_transpose(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_attr *perm = tci_node_attr(node, "perm");
    tci_tensor view = *in;
    uint32_t seen = 0;
    if (perm->count != (size_t)in->rank)
        return tci_node_fail(scope, node, "perm does not fit the operand");
    for (int d = 0; d < in->rank; d++) {
        const int64_t from = perm->ints[d];
        if (from < 0 || from >= in->rank || (seen >> from & 1) != 0)
            return tci_node_fail(scope, node, "perm is not a permutation");
        seen |= 1u << from;
        view.shape[d] = in->shape[from];
        view.stride[d] = in->stride[from];
    }
    *out = tci_tensor_share(&view);
    return true;
}

/* The part start[d] + i*step[d], i < size[d], of a tensor as a view; false where it reaches outside. */
static bool part(const tci_tensor *whole, const int64_t *start, const int64_t *size, const int64_t *step,
                 tci_tensor *view)
{
    *view = *whole;
    int64_t offset = 0;
    for (int d = 0; d < whole->rank; d++) {
        const int64_t by = step == NULL ? 1 : step[d];
        if (start[d] < 0 || start[d] > whole->shape[d] || size[d] < 0 || by < 1)
            return false;
        if (size[d] > 0 && (start[d] == whole->shape[d] || (size[d] - 1) > (whole->shape[d] - 1 - start[d]) / by))
            return false;
        view->shape[d] = size[d];
        view->stride[d] = size[d] > 1 ? whole->stride[d] * by : 0;
        offset += size[d] > 0 ? start[d] * whole->stride[d] : 0;
    }
    if (tci_tensor_elements(view) > 0)
        view->data += offset * (int64_t)tci_dtype_size(whole->dtype);
    return true;
}

bool tci_op_slice(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    int64_t start[TCI_MAX_RANK], size[TCI_MAX_RANK];
    const tci_attr *stride = tci_node_attr(node, "stride");
    const size_t rank = (size_t)in->rank;
    tci_tensor view;
    if (!tci_evaluate_list(scope, node, &tci_node_attr(node, "start")->dims, start, rank) ||
        !tci_evaluate_list(scope, node, &tci_node_attr(node, "size")->dims, size, rank))
        return false;
    if (stride->count != rank || !part(in, start, size, stride->ints, &view))
        return tci_node_fail(scope, node, "reaches outside of the operand");
    *out = tci_tensor_share(&view);
    return true;
}

bool tci_op_pad(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    int64_t low[TCI_MAX_RANK], high[TCI_MAX_RANK], shape[TCI_MAX_RANK];
    const size_t rank = (size_t)in->rank;
    if (in[1].rank != 0 || in[1].dtype != in[0].dtype)
        return tci_node_fail(scope, node, "the value is no scalar of the operand's dtype");
    if (!tci_evaluate_list(scope, node, &tci_node_attr(node, "low")->dims, low, rank) ||
        !tci_evaluate_list(scope, node, &tci_node_attr(node, "high")->dims, high, rank))
        return false;
    bool same = true;
    for (size_t d = 0; d < rank; d++) {
        if (low[d] < 0 || high[d] < 0 || __builtin_add_overflow(low[d], in->shape[d], &shape[d]) ||
            __builtin_add_overflow(shape[d], high[d], &shape[d]))
            return tci_node_fail(scope, node, "low or high is negative or too large");
        same &= low[d] == 0 && high[d] == 0;
    }
    if (same) {
        *out = tci_tensor_share(in);
        return true;
    }
    if (!tci_tensor_make(out, in->dtype, in->rank, shape, node->loc, scope->diag))
        return false;
    tci_tensor value = {.dtype = in->dtype, .rank = in->rank, .data = in[1].data}, inner;
    memcpy(value.shape, shape, sizeof value.shape);
    tci_tensor_copy(out, &value);
    if (part(out, low, in->shape, NULL, &inner)) /* always: shape is low + in->shape + high */
        tci_tensor_copy(&inner, in);
    return true;
}

bool tci_op_concat(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    if (node->operand_count == 0 || axis < 0 || axis >= in[0].rank)
        return tci_node_fail(scope, node, "no such axis: %lld", (long long)axis);
    int64_t shape[TCI_MAX_RANK], start[TCI_MAX_RANK] = {0};
    memcpy(shape, in[0].shape, sizeof shape);
    for (size_t i = 1; i < node->operand_count; i++) {
        bool fits = in[i].rank == in[0].rank && in[i].dtype == in[0].dtype;
        for (int d = 0; d < in[0].rank && fits; d++)
            fits = d == axis || in[i].shape[d] == shape[d];
        if (!fits || __builtin_add_overflow(shape[axis], in[i].shape[axis], &shape[axis]))
            return tci_node_fail(scope, node, "operand %zu does not fit the first", i);
    }
    if (!tci_tensor_make(out, in[0].dtype, in[0].rank, shape, node->loc, scope->diag))
        return false;
    for (size_t i = 0; i < node->operand_count; i++) {
        tci_tensor place;
        if (part(out, start, in[i].shape, NULL, &place)) /* always: shape[axis] is the sum */
            tci_tensor_copy(&place, &in[i]);
        start[axis] += in[i].shape[axis];
    }
    return true;
}

bool tci_op_update_slice(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    int64_t start[TCI_MAX_RANK];
    tci_tensor place;
    if (in[0].rank != in[1].rank || in[0].dtype != in[1].dtype)
        return tci_node_fail(scope, node, "operands of different rank or dtype");
    if (!tci_evaluate_list(scope, node, &tci_node_attr(node, "start")->dims, start, (size_t)in->rank) ||
        !tci_tensor_make(out, in->dtype, in->rank, in->shape, node->loc, scope->diag))
        return false;
    if (!part(out, start, in[1].shape, NULL, &place))
        return tci_node_fail(scope, node, "reaches outside of the operand");
    tci_tensor_copy(out, &in[0]);
    tci_tensor_copy(&place, &in[1]);
    return true;
}

bool tci_op_gather(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const tci_tensor *x = &in[0];
    const int64_t axis = tci_node_attr(node, "axis")->ints[0];
    if (axis < 0 || axis >= x->rank || x->rank - 1 + in[1].rank > TCI_MAX_RANK)
        return tci_node_fail(scope, node, "no such axis, or too many dims");
    if (in[1].dtype != TCI_I32 && in[1].dtype != TCI_I64)
        return tci_node_fail(scope, node, "indices are i32 or i64, not %s", tci_dtype_name(in[1].dtype));
    tci_tensor indices;
    if (!tci_tensor_dense(&indices, &in[1], node->loc, scope->diag))
        return false;
    /* out is [a..., j..., b...]; seen as [a..., number of the index, b...] it has the rank of x */
    int64_t shape[TCI_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < axis; d++)
        shape[rank++] = x->shape[d];
    for (int d = 0; d < indices.rank; d++)
        shape[rank++] = indices.shape[d];
    for (int d = (int)axis + 1; d < x->rank; d++)
        shape[rank++] = x->shape[d];
    const int64_t count = tci_tensor_elements(&indices);
    bool ok = tci_tensor_make(out, x->dtype, rank, shape, node->loc, scope->diag);
    for (int64_t i = 0; i < count && ok; i++) {
        const int64_t index = indices.dtype == TCI_I32 ? ((const int32_t *)(const void *)indices.data)[i]
                                                       : ((const int64_t *)(const void *)indices.data)[i];
        if (index < 0 || index >= x->shape[axis]) {
            char where[128];
            ok = tci_node_fail(scope, node, "index %lld at %s is outside 0..%lld", (long long)index,
                               tci_index_describe(&indices, i, where, sizeof where), (long long)x->shape[axis] - 1);
            break;
        }
        tci_tensor from = *x, to = *x;
        int64_t step = 1;
        for (int d = x->rank - 1; d >= 0; d--) {
            to.stride[d] = step;
            step *= d == axis ? count : x->shape[d];
        }
        from.shape[axis] = to.shape[axis] = 1;
        if (tci_tensor_elements(&from) == 0)
            continue;
        const int64_t size = (int64_t)tci_dtype_size(x->dtype);
        from.data = x->data + index * x->stride[axis] * size;
        to.data = out->data + i * to.stride[axis] * size;
        tci_tensor_copy(&to, &from);
    }
    tci_tensor_release(&indices);
    return ok;
}
