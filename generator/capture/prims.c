/* SPDX-License-Identifier: Apache-2.0
 *
 * One function a primitive: collects its attributes in the order of primitives.def.
 */
#include <string.h>

#include "internal.h"

tc_tensor tc_prim_unary(tc_graph *g, tc_op op, tc_tensor x)
{
    return tc_add_node(g, op, 1, &x, NULL, NULL);
}

tc_tensor tc_prim_binary(tc_graph *g, tc_op op, tc_tensor a, tc_tensor b)
{
    return tc_add_node(g, op, 2, (tc_tensor[]){a, b}, NULL, NULL);
}

tc_tensor tc_prim_select(tc_graph *g, tc_tensor p, tc_tensor a, tc_tensor b)
{
    return tc_add_node(g, TC_OP_select, 3, (tc_tensor[]){p, a, b}, NULL, NULL);
}

tc_tensor tc_prim_cast(tc_graph *g, tc_tensor x, tc_dtype dtype)
{
    tc_attr attr = tc_attr_word(tc_dtype_name(dtype));
    attr.integer = dtype;
    return tc_add_node(g, TC_OP_cast, 1, &x, &attr, NULL);
}

tc_tensor tc_prim_bitcast(tc_graph *g, tc_tensor x, tc_dtype dtype)
{
    tc_attr attr = tc_attr_word(tc_dtype_name(dtype));
    attr.integer = dtype;
    return tc_add_node(g, TC_OP_bitcast, 1, &x, &attr, NULL);
}

tc_tensor tc_prim_widen(tc_graph *g, tc_tensor x)
{
    bool narrow = x && !tc_is_poison(x) && tc_dtype_is_float(x->type.dtype) && tc_dtype_size(x->type.dtype) == 2;
    return narrow ? tc_prim_cast(g, x, TC_F32) : x;
}

tc_tensor tc_prim_narrow(tc_graph *g, tc_tensor x, tc_dtype dtype)
{
    return tc_is_poison(x) || x->type.dtype == dtype ? x : tc_prim_cast(g, x, dtype);
}

tc_tensor tc_prim_constant(tc_graph *g, tc_dtype dtype, uint64_t bits)
{
    tc_attr attr = tc_attr_bits(bits);
    return tc_add_node(g, TC_OP_constant, 0, NULL, &attr, &(tc_type){.dtype = dtype});
}

tc_tensor tc_prim_iota(tc_graph *g, int axis, const tc_type *type)
{
    tc_attr attr = tc_attr_int(axis);
    return tc_add_node(g, TC_OP_iota, 0, NULL, &attr, type);
}

tc_tensor tc_prim_dim_value(tc_graph *g, tc_dtype dtype, const tc_expr *value)
{
    tc_attr attr = tc_attr_dims(g, 1, &value);
    return tc_add_node(g, TC_OP_dim_value, 0, NULL, &attr, &(tc_type){.dtype = dtype});
}

tc_tensor tc_prim_broadcast(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *shape, const int *axes)
{
    if (tc_is_poison(x))
        return x;
    bool same = x->type.rank == rank;
    for (int i = 0; same && i < rank; ++i)
        same = x->type.shape[i] == shape[i];
    if (same)
        return x;
    tc_attr attrs[] = {tc_attr_dims(g, rank, shape), tc_attr_ints(g, x->type.rank, axes)};
    return tc_add_node(g, TC_OP_broadcast, 1, &x, attrs, NULL);
}

tc_tensor tc_prim_reshape(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *shape)
{
    tc_attr attr = tc_attr_dims(g, rank, shape);
    return tc_add_node(g, TC_OP_reshape, 1, &x, &attr, NULL);
}

tc_tensor tc_prim_transpose(tc_graph *g, tc_tensor x, const int *perm)
{
    tc_attr attr = tc_attr_ints(g, x->type.rank, perm);
    return tc_add_node(g, TC_OP_transpose, 1, &x, &attr, NULL);
}

tc_tensor tc_prim_slice(tc_graph *g, tc_tensor x, const tc_expr *const *start, const tc_expr *const *size,
                        const int *stride)
{
    int rank = x->type.rank;
    tc_attr attrs[] = {tc_attr_dims(g, rank, start), tc_attr_dims(g, rank, size), tc_attr_ints(g, rank, stride)};
    return tc_add_node(g, TC_OP_slice, 1, &x, attrs, NULL);
}

tc_tensor tc_prim_pad(tc_graph *g, tc_tensor x, tc_tensor value, const tc_expr *const *low, const tc_expr *const *high)
{
    tc_attr attrs[] = {tc_attr_dims(g, x->type.rank, low), tc_attr_dims(g, x->type.rank, high)};
    return tc_add_node(g, TC_OP_pad, 2, (tc_tensor[]){x, value}, attrs, NULL);
}

tc_tensor tc_prim_concat(tc_graph *g, int axis, int count, const tc_tensor *tensors)
{
    tc_attr attr = tc_attr_int(axis);
    return tc_add_node(g, TC_OP_concat, count, tensors, &attr, NULL);
}

tc_tensor tc_prim_gather(tc_graph *g, tc_tensor x, tc_tensor index, int axis)
{
    tc_attr attr = tc_attr_int(axis);
    return tc_add_node(g, TC_OP_gather, 2, (tc_tensor[]){x, index}, &attr, NULL);
}

tc_tensor tc_prim_update_slice(tc_graph *g, tc_tensor x, tc_tensor y, const tc_expr *const *start)
{
    tc_attr attr = tc_attr_dims(g, x->type.rank, start);
    return tc_add_node(g, TC_OP_update_slice, 2, (tc_tensor[]){x, y}, &attr, NULL);
}

tc_tensor tc_prim_reverse(tc_graph *g, tc_tensor x, int count, const int *axes)
{
    tc_attr attr = tc_attr_ints(g, count, axes);
    return count ? tc_add_node(g, TC_OP_reverse, 1, &x, &attr, NULL) : x;
}

tc_tensor tc_prim_scatter(tc_graph *g, tc_tensor x, tc_tensor index, tc_tensor values, const char *op, int axis)
{
    tc_attr attrs[] = {tc_attr_word(op), tc_attr_int(axis)};
    return tc_add_node(g, TC_OP_scatter, 3, (tc_tensor[]){x, index, values}, attrs, NULL);
}

tc_tensor tc_prim_sort(tc_graph *g, tc_tensor x, int axis, const tc_expr *count, bool descending, tc_tensor *positions)
{
    tc_attr attrs[] = {tc_attr_int(axis), tc_attr_dims(g, 1, &count), tc_attr_int(descending)};
    tc_type types[2];
    if (positions)
        *positions = tc_poison();
    if (tc_is_poison(x) || !tc_infer(g, TC_OP_sort, 1, &x, attrs, NULL, &types[0]))
        return tc_poison();
    types[1] = types[0];
    types[1].dtype = TC_I64;
    tc_node *node = tc_append_node(g, TC_OP_sort, 1, &x, attrs, 2, types);
    if (positions)
        *positions = &node->results[1];
    return &node->results[0];
}

tc_tensor tc_prim_cumulative(tc_graph *g, tc_tensor x, const char *op, int axis, bool reverse)
{
    tc_attr attrs[] = {tc_attr_word(op), tc_attr_int(axis), tc_attr_int(reverse)};
    return tc_add_node(g, TC_OP_cumulative, 1, &x, attrs, NULL);
}

tc_tensor tc_prim_reduce(tc_graph *g, tc_tensor x, const char *op, int count, const int *axes)
{
    return tc_prim_reduce_where(g, x, NULL, op, count, axes);
}

tc_tensor tc_prim_reduce_where(tc_graph *g, tc_tensor x, tc_tensor p, const char *op, int count, const int *axes)
{
    if (tc_is_poison(x))
        return x;
    bool ordered = (!strcmp(op, "sum") || !strcmp(op, "prod")) && tc_dtype_is_float(x->type.dtype);
    tc_attr attrs[] = {tc_attr_word(op), tc_attr_ints(g, count, axes), tc_attr_word(ordered ? "lanes" : "free")};
    return p ? tc_add_node(g, TC_OP_reduce_where, 2, (tc_tensor[]){x, p}, attrs, NULL)
             : tc_add_node(g, TC_OP_reduce, 1, &x, attrs, NULL);
}

tc_tensor tc_prim_arg_reduce(tc_graph *g, tc_tensor x, const char *op, int axis)
{
    tc_attr attrs[] = {tc_attr_word(op), tc_attr_int(axis)};
    return tc_add_node(g, TC_OP_arg_reduce, 1, &x, attrs, NULL);
}

tc_tensor tc_prim_window_reduce(tc_graph *g, tc_tensor x, const char *op, int dims, const int *size, const int *stride,
                                const int *low, const int *high, const int *dilation)
{
    tc_attr attrs[] = {tc_attr_word(op),           tc_attr_ints(g, dims, size), tc_attr_ints(g, dims, stride),
                       tc_attr_ints(g, dims, low), tc_attr_ints(g, dims, high), tc_attr_ints(g, dims, dilation)};
    return tc_add_node(g, TC_OP_window_reduce, 1, &x, attrs, NULL);
}

tc_tensor tc_prim_contract(tc_graph *g, tc_tensor a, tc_tensor b, const tc_contraction *c)
{
    if (tc_is_poison(a) || tc_is_poison(b))
        return tc_poison();
    /* numerics.md: lanes where the dims that only b has multiply to a constant below 16, but not with a predicate, nor in
     * attention, which has one or none for the same rows */
    const tc_expr *free_dims = g->dims.one;
    bool bound[TC_MAX_RANK] = {false};
    for (int i = 0; i < c->batch; ++i)
        bound[c->b_batch[i]] = true;
    for (int i = 0; i < c->summed; ++i)
        bound[c->b_summed[i]] = true;
    for (int i = 0; i < b->type.rank; ++i)
        if (!bound[i])
            free_dims = tc_expr_mul(free_dims, b->type.shape[i]);
    int64_t n;
    bool lanes = !c->where && !c->seq && tc_dtype_is_float(a->type.dtype) && tc_expr_value(free_dims, &n) && n < 16;
    tc_attr attrs[] = {tc_attr_ints(g, c->batch, c->a_batch), tc_attr_ints(g, c->batch, c->b_batch),
                       tc_attr_ints(g, c->summed, c->a_summed), tc_attr_ints(g, c->summed, c->b_summed),
                       tc_attr_word(lanes ? "lanes" : "seq")};
    return tc_add_node(g, c->where ? TC_OP_dot_where : TC_OP_dot, c->where ? 3 : 2, (tc_tensor[]){a, b, c->where},
                       attrs, NULL);
}

tc_tensor tc_prim_dot(tc_graph *g, tc_tensor a, tc_tensor b, int batch, int a_contract, int b_contract)
{
    return tc_prim_dot_where(g, a, b, NULL, false, batch, a_contract, b_contract);
}

tc_tensor tc_prim_dot_where(tc_graph *g, tc_tensor a, tc_tensor b, tc_tensor p, bool seq, int batch, int a_contract,
                            int b_contract)
{
    tc_contraction c =
        {.batch = batch, .summed = 1, .a_summed = {a_contract}, .b_summed = {b_contract}, .where = p, .seq = seq};
    for (int i = 0; i < batch; ++i)
        c.a_batch[i] = c.b_batch[i] = i;
    return tc_prim_contract(g, a, b, &c);
}

tc_tensor tc_prim_convolution(tc_graph *g, tc_tensor x, tc_tensor w, int dims, const int *stride, const int *low,
                              const int *high, const int *dilation, int groups)
{
    tc_attr attrs[] = {tc_attr_ints(g, dims, stride), tc_attr_ints(g, dims, low), tc_attr_ints(g, dims, high),
                       tc_attr_ints(g, dims, dilation), tc_attr_int(groups)};
    return tc_add_node(g, TC_OP_convolution, 2, (tc_tensor[]){x, w}, attrs, NULL);
}
