/* SPDX-License-Identifier: Apache-2.0
 *
 * The type rules of leaves, elementwise operations and index maps; infer_window.c has those of reductions and
 * contractions. A rule reports what a user can get wrong; that attributes have the right length is the caller's
 * business.
 */
#include "internal.h"

typedef enum rule {
    RULE_none,
    RULE_declared,
    RULE_scalar,
    RULE_same,
    RULE_same_float,
    RULE_same_bool,
    RULE_same_number,
    RULE_same_integer,
    RULE_cast,
    RULE_bitcast,
    RULE_compare,
    RULE_select,
    RULE_broadcast,
    RULE_reshape,
    RULE_transpose,
    RULE_slice,
    RULE_pad,
    RULE_concat,
    RULE_gather,
    RULE_update_slice,
    RULE_reverse,
    RULE_scatter,
    RULE_sort,
    RULE_cumulative,
    RULE_reduce,
    RULE_reduce_where,
    RULE_arg_reduce,
    RULE_window_reduce,
    RULE_dot,
    RULE_dot_where,
    RULE_convolution,
    RULE_written,
    RULE_call,
    RULE_cond,
    RULE_while,
    RULE_scan
} rule;

static const rule rules[TC_OP_COUNT] = {
#define TC_PRIMITIVE(name, operands, results, type_rule, ...) [TC_OP_##name] = RULE_##type_rule,
#include "../primitives.def"
#undef TC_PRIMITIVE
};

static bool same_shape(tc_graph *g, const tc_type *a, const tc_type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; ++i)
        if (!tc_same_dim(g, a->shape[i], b->shape[i]))
            return false;
    return true;
}

static bool check_bool(tc_graph *g, const tc_type *x)
{
    if (x->dtype == TC_BOOL)
        return true;
    tc_fail(g, "compare first: tc_ne(x, 0)", "needs bool, not %s", tc_type_text(g, x));
    return false;
}

static bool check_number(tc_graph *g, const tc_type *x)
{
    if (x->dtype != TC_BOOL)
        return true;
    tc_fail(g, "convert with tc_cast, or use the logical operations", "needs numbers, not %s", tc_type_text(g, x));
    return false;
}

static bool check_integer(tc_graph *g, const tc_type *x)
{
    const tc_dtype_kind kind = tc_dtype_about(x->dtype)->kind;
    if (kind == TC_KIND_SIGNED || kind == TC_KIND_UNSIGNED)
        return true;
    tc_fail(g, kind == TC_KIND_BOOL ? "use the logical operations" : "convert with tc_cast(x, TC_I32)",
            "needs integers, not %s", tc_type_text(g, x));
    return false;
}

static bool check_pair(tc_graph *g, const tc_type *a, const tc_type *b)
{
    if (a->dtype != b->dtype) {
        tc_fail(g, "convert one of them with tc_cast", "dtypes differ: %s and %s", tc_type_text(g, a),
                tc_type_text(g, b));
        return false;
    }
    if (!same_shape(g, a, b)) {
        tc_fail(g, NULL, "shapes differ: %s and %s", tc_type_text(g, a), tc_type_text(g, b));
        return false;
    }
    return true;
}

static bool infer_elementwise(tc_graph *g, rule r, int count, const tc_tensor *operands, tc_type *out)
{
    const tc_type *a = &operands[0]->type;
    *out = *a;
    if (r == RULE_same_float && !tc_check_float(g, a))
        return false;
    if (r == RULE_same_bool && !check_bool(g, a))
        return false;
    if ((r == RULE_same_number || r == RULE_same) && !check_number(g, a))
        return false;
    if (r == RULE_same_integer && !check_integer(g, a))
        return false;
    if (count == 2 && !check_pair(g, a, &operands[1]->type))
        return false;
    if (r == RULE_compare)
        out->dtype = TC_BOOL;
    return true;
}

/* Of a float and an integer of one width; others are casts, or two of these (tc_bitcast_at). */
static bool infer_bitcast(tc_graph *g, const tc_type *x, tc_dtype dtype, tc_type *out)
{
    const bool floats = tc_dtype_is_float(x->dtype);
    *out = *x;
    out->dtype = dtype;
    if (dtype != TC_BOOL && x->dtype != TC_BOOL && floats != tc_dtype_is_float(dtype) &&
        tc_dtype_size(dtype) == tc_dtype_size(x->dtype))
        return true;
    tc_fail(g, NULL, "%s as %s: one is a float, the other an integer of its width", tc_type_text(g, x),
            tc_dtype_name(dtype));
    return false;
}

static bool infer_select(tc_graph *g, const tc_tensor *operands, tc_type *out)
{
    const tc_type *p = &operands[0]->type, *a = &operands[1]->type;
    if (!check_bool(g, p) || !check_pair(g, a, &operands[2]->type))
        return false;
    if (!same_shape(g, p, a)) {
        tc_fail(g, NULL, "the condition's shape differs: %s and %s", tc_type_text(g, p), tc_type_text(g, a));
        return false;
    }
    *out = *a;
    return true;
}

static bool infer_reshape(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out)
{
    out->dtype = x->dtype;
    out->rank = attrs[0].count;
    for (int i = 0; i < out->rank; ++i)
        out->shape[i] = attrs[0].dims[i];
    const tc_expr *have = tc_element_count(g, x), *want = tc_element_count(g, out);
    if (tc_same_dim(g, have, want))
        return true;
    tc_fail(g, NULL, "%s has %s elements, %s has %s", tc_type_text(g, x), tc_expr_text(have), tc_type_text(g, out),
            tc_expr_text(want));
    return false;
}

static bool infer_pad(tc_graph *g, const tc_tensor *operands, const tc_attr *attrs, tc_type *out)
{
    const tc_type *x = &operands[0]->type;
    *out = *x;
    for (int i = 0; i < x->rank; ++i) {
        const tc_expr *low = attrs[0].dims[i], *high = attrs[1].dims[i];
        if (!tc_at_least(g, low, g->dims.zero) || !tc_at_least(g, high, g->dims.zero)) {
            tc_fail(g, "tc_slice cuts elements off", "negative padding of axis %d: %s and %s", i, tc_expr_text(low),
                    tc_expr_text(high));
            return false;
        }
        out->shape[i] = tc_expr_add(tc_expr_add(x->shape[i], low), high);
    }
    return true;
}

static bool infer_concat(tc_graph *g, int count, const tc_tensor *operands, int axis, tc_type *out)
{
    const tc_type *first = &operands[0]->type;
    *out = *first;
    for (int i = 1; i < count; ++i) {
        const tc_type *x = &operands[i]->type;
        bool fits = x->dtype == first->dtype && x->rank == first->rank;
        for (int d = 0; fits && d < x->rank; ++d)
            fits = d == axis || tc_same_dim(g, first->shape[d], x->shape[d]);
        if (!fits) {
            tc_fail(g, "all sizes but that of the axis must agree, and dtypes",
                    "operand %d does not fit along axis %d: %s and %s", i, axis, tc_type_text(g, first),
                    tc_type_text(g, x));
            return false;
        }
        out->shape[axis] = tc_expr_add(out->shape[axis], x->shape[axis]);
    }
    return true;
}

static bool infer_gather(tc_graph *g, const tc_tensor *operands, int axis, tc_type *out)
{
    const tc_type *x = &operands[0]->type, *index = &operands[1]->type;
    if (index->dtype != TC_I32 && index->dtype != TC_I64) {
        tc_fail(g, "convert with tc_cast(index, TC_I64)", "the index is i32 or i64, not %s", tc_type_text(g, index));
        return false;
    }
    if (x->rank - 1 + index->rank > TC_MAX_RANK) {
        tc_fail(g, NULL, "the result of %s at %s has more than %d dims", tc_type_text(g, x), tc_type_text(g, index),
                TC_MAX_RANK);
        return false;
    }
    out->dtype = x->dtype;
    out->rank = 0;
    for (int i = 0; i < axis; ++i)
        out->shape[out->rank++] = x->shape[i];
    for (int i = 0; i < index->rank; ++i)
        out->shape[out->rank++] = index->shape[i];
    for (int i = axis + 1; i < x->rank; ++i)
        out->shape[out->rank++] = x->shape[i];
    return true;
}

static bool infer_update_slice(tc_graph *g, const tc_tensor *operands, const tc_attr *attrs, tc_type *out)
{
    const tc_type *x = &operands[0]->type, *y = &operands[1]->type;
    *out = *x;
    if (x->dtype != y->dtype || x->rank != y->rank) {
        tc_fail(g, NULL, "needs two tensors of one dtype and rank: %s and %s", tc_type_text(g, x), tc_type_text(g, y));
        return false;
    }
    for (int i = 0; i < x->rank; ++i) {
        const tc_expr *start = attrs[0].dims[i], *end = tc_expr_add(start, y->shape[i]);
        if (!tc_at_least(g, start, g->dims.zero) || !tc_at_least(g, x->shape[i], end)) {
            tc_fail(g, NULL, "%s at start %s does not fit along axis %d of %s", tc_type_text(g, y), tc_expr_text(start),
                    i, tc_type_text(g, x));
            return false;
        }
    }
    return true;
}

/* p says of each element of x whether it is a term. */
static bool check_predicate(tc_graph *g, const tc_type *p, const tc_type *x)
{
    if (!check_bool(g, p))
        return false;
    if (same_shape(g, p, x))
        return true;
    tc_fail(g, NULL, "the predicate's shape differs: %s and %s", tc_type_text(g, p), tc_type_text(g, x));
    return false;
}

bool tc_infer(tc_graph *g, tc_op op, int count, const tc_tensor *operands, const tc_attr *attrs,
              const tc_type *declared, tc_type *out)
{
    const tc_type *x = count ? &operands[0]->type : NULL;
    *out = (tc_type){.dtype = TC_F32};
    switch (rules[op]) {
    case RULE_declared:
    case RULE_scalar: *out = *declared; return true;
    case RULE_same:
    case RULE_same_float:
    case RULE_same_bool:
    case RULE_same_number:
    case RULE_same_integer:
    case RULE_compare: return infer_elementwise(g, rules[op], count, operands, out);
    case RULE_bitcast: return infer_bitcast(g, x, (tc_dtype)attrs[0].integer, out);
    case RULE_cast:
        *out = *x;
        out->dtype = (tc_dtype)attrs[0].integer;
        return true;
    case RULE_select: return infer_select(g, operands, out);
    case RULE_broadcast:
        out->dtype = x->dtype;
        out->rank = attrs[0].count;
        for (int i = 0; i < out->rank; ++i)
            out->shape[i] = attrs[0].dims[i];
        return true;
    case RULE_reshape: return infer_reshape(g, x, attrs, out);
    case RULE_transpose:
        *out = *x;
        for (int i = 0; i < x->rank; ++i)
            out->shape[i] = x->shape[attrs[0].ints[i]];
        return true;
    case RULE_slice:
        *out = *x;
        for (int i = 0; i < x->rank; ++i)
            out->shape[i] = attrs[1].dims[i];
        return true;
    case RULE_pad: return infer_pad(g, operands, attrs, out);
    case RULE_concat: return infer_concat(g, count, operands, (int)attrs[0].integer, out);
    case RULE_gather: return infer_gather(g, operands, (int)attrs[0].integer, out);
    case RULE_update_slice: return infer_update_slice(g, operands, attrs, out);
    case RULE_reverse: *out = *x; return true;
    case RULE_scatter: return tc_infer_scatter(g, operands, attrs, out);
    case RULE_sort: return tc_infer_sort(g, x, attrs, out);
    case RULE_cumulative: return tc_infer_cumulative(g, x, out);
    case RULE_reduce: return tc_infer_reduce(g, x, attrs, out);
    case RULE_reduce_where: return check_predicate(g, &operands[1]->type, x) && tc_infer_reduce(g, x, attrs, out);
    case RULE_arg_reduce: return tc_infer_arg_reduce(g, x, attrs, out);
    case RULE_window_reduce: return tc_infer_window_reduce(g, x, attrs, out);
    case RULE_dot: return tc_infer_dot(g, x, &operands[1]->type, attrs, out);
    case RULE_dot_where:
        return check_predicate(g, &operands[2]->type, x) && tc_infer_dot(g, x, &operands[1]->type, attrs, out);
    case RULE_convolution: return tc_infer_convolution(g, x, &operands[1]->type, attrs, out);
    case RULE_none:
    case RULE_written: /* externs.c */
    case RULE_call:    /* call.c appends these by itself; the DSL has no cond, while and scan */
    case RULE_cond:
    case RULE_while:
    case RULE_scan: break;
    }
    tc_fail(g, NULL, "internal error: no type rule for %s", tc_op_text(op));
    return false;
}
