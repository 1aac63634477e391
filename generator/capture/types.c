/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "internal.h"

/* The enum of model.h is written out for its readers; its order is the table's. */
enum {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) POSITION_##upper,
#include "../dtypes.def"
#undef TC_DTYPE
    DTYPES
};

static const tc_dtype_info infos[] = {
#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file)                                                       \
    [TC_##upper - TC_F32] = {#name, "TC_" #upper, file, TC_KIND_##kind, bytes, digits},
#include "../dtypes.def"
#undef TC_DTYPE
};

#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file)                                                       \
    _Static_assert(TC_##upper - TC_F32 == (int)POSITION_##upper, "model.h has another order than dtypes.def");
#include "../dtypes.def"
#undef TC_DTYPE

bool tc_dtype_valid(int64_t dtype)
{
    return dtype >= TC_F32 && dtype < (int64_t)TC_F32 + DTYPES;
}

const tc_dtype_info *tc_dtype_about(tc_dtype dtype)
{
    return &infos[dtype - TC_F32];
}

const char *tc_dtype_name(tc_dtype dtype)
{
    return tc_dtype_about(dtype)->name;
}

int tc_dtype_size(tc_dtype dtype)
{
    return tc_dtype_about(dtype)->bytes;
}

bool tc_dtype_is_float(tc_dtype dtype)
{
    return tc_dtype_about(dtype)->kind == TC_KIND_FLOAT;
}

bool tc_dtype_of_file(const char *file, tc_dtype *dtype)
{
    for (int i = 0; i < DTYPES; ++i) {
        *dtype = (tc_dtype)(TC_F32 + i);
        if (!strcmp(infos[i].file, file))
            return true;
    }
    return false;
}

const char *tc_dtype_list(tc_graph *g)
{
    const char *list = infos[0].constant;
    for (int i = 1; i < DTYPES; ++i)
        list = tc_arena_format(&g->arena, "%s%s%s", list, i + 1 < DTYPES ? ", " : " or ", infos[i].constant);
    return list;
}

const char *tc_shape_text(tc_graph *g, int rank, const tc_expr *const *shape)
{
    size_t size = 3;
    for (int i = 0; i < rank; ++i)
        size += strlen(tc_expr_text(shape[i])) + 1;
    char *text = tc_arena_alloc(&g->arena, size), *p = text;
    *p++ = '[';
    for (int i = 0; i < rank; ++i) {
        if (i)
            *p++ = ',';
        for (const char *t = tc_expr_text(shape[i]); *t; ++t)
            if (*t != ' ')
                *p++ = *t;
    }
    *p = ']';
    return text;
}

const char *tc_type_text(tc_graph *g, const tc_type *type)
{
    return tc_arena_format(&g->arena, "%s%s", tc_dtype_name(type->dtype), tc_shape_text(g, type->rank, type->shape));
}

bool tc_check_float(tc_graph *g, const tc_type *x)
{
    if (tc_dtype_is_float(x->dtype))
        return true;
    tc_fail(g, "convert with tc_cast(x, TC_F32)", "needs floats, not %s", tc_type_text(g, x));
    return false;
}

bool tc_check_number(tc_graph *g, tc_dtype dtype)
{
    if (tc_dtype_valid(dtype) && dtype != TC_BOOL)
        return true;
    tc_fail(g, tc_dtype_list(g), "the dtype is no number's");
    return false;
}

bool tc_check_same_dtype(tc_graph *g, const tc_type *a, const tc_type *b)
{
    if (a->dtype == b->dtype)
        return true;
    tc_fail(g, "there are no implicit conversions: use tc_cast", "dtypes differ: %s and %s", tc_type_text(g, a),
            tc_type_text(g, b));
    return false;
}

int tc_axis(tc_graph *g, int axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return axis < 0 ? axis + rank : axis;
    if (rank)
        tc_fail(g, NULL, "axis %d is outside %d..%d of a tensor of rank %d", axis, -rank, rank - 1, rank);
    else
        tc_fail(g, NULL, "axis %d of a tensor of rank 0, which has none", axis);
    return -1;
}

tc_graph *tc_op_enter_axis(tc_site site, const char *name, const char *region, tc_tensor x, int *axis)
{
    tc_graph *g = tc_op_enter(site, name, region, "x", 1, &x);
    if (!g)
        return NULL;
    *axis = tc_axis(g, *axis, x->type.rank);
    if (*axis >= 0)
        return g;
    tc_op_leave(g, NULL);
    return NULL;
}

const tc_expr *tc_element_count(tc_graph *g, const tc_type *type)
{
    const tc_expr *count = g->dims.one;
    for (int i = 0; i < type->rank; ++i)
        count = tc_expr_mul(count, type->shape[i]);
    return count;
}
