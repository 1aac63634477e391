/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "internal.h"

bool tc_dtype_valid(int64_t dtype)
{
    return dtype >= TC_F32 && dtype <= TC_BOOL;
}

const char *tc_dtype_name(tc_dtype dtype)
{
    static const char *const names[] = {"f32", "i32", "i64", "bool"};
    return names[dtype - TC_F32];
}

int tc_dtype_size(tc_dtype dtype)
{
    static const int sizes[] = {4, 4, 8, 1};
    return sizes[dtype - TC_F32];
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

const tc_expr *tc_element_count(tc_graph *g, const tc_type *type)
{
    const tc_expr *count = g->dims.one;
    for (int i = 0; i < type->rank; ++i)
        count = tc_expr_mul(count, type->shape[i]);
    return count;
}
