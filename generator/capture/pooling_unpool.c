/* SPDX-License-Identifier: Apache-2.0
 *
 * Maxima back to where pooling found them.
 */
#include "compose.h"
#include "windows.h"

/* What the calls of all dims have in common. */
typedef struct call {
    const char *name, *region;
    tc_site at;
    tc_tensor x, indices;
    int dims, size_count;
    const int *kernel, *stride, *padding;
    const tc_dim *size;
} call;

static bool check(tc_graph *g, const call *c)
{
    const tc_type *x = &c->x->type, *indices = &c->indices->type;
    bool same = indices->rank == x->rank && (indices->dtype == TC_I64 || indices->dtype == TC_I32);
    if (!tc_windows_check_rank(g, x, c->dims))
        return false;
    for (int i = 0; same && i < x->rank; ++i)
        same = tc_same_dim(g, x->shape[i], indices->shape[i]);
    if (!same)
        tc_fail(g, "what the .indices of a pooling gave: i64 of x's shape", "the indices of %s are %s",
                tc_type_text(g, x), tc_type_text(g, indices));
    return same;
}

/* The sizes of the result: given, or those that the pooling's input had at least. */
static bool read_sizes(tc_graph *g, const call *c, const tc_expr **sizes)
{
    tc_windows w = {.dims = c->dims};
    if (c->size && c->size_count != c->dims && c->size_count != 1) {
        tc_fail(g, "TC_SIZES(h, w), a number for each axis behind the channels", "%d sizes for %s", c->size_count,
                tc_type_text(g, &c->x->type));
        return false;
    }
    if (!c->size && (!tc_windows_positive(g, "kernel", c->dims, c->kernel, w.size, w.size) ||
                     !tc_windows_read(g, &(tc_window_options){.stride = c->stride, .padding = c->padding}, true, &w)))
        return false;
    for (int i = 0; i < c->dims; ++i) {
        const tc_expr *starts = tc_expr_mul_int(tc_expr_add_int(c->x->type.shape[2 + i], -1), w.stride[i]);
        sizes[i] = c->size ? tc_dim_expr(g, c->size[c->size_count == 1 ? 0 : i])
                           : tc_expr_add_int(starts, (int64_t)w.size[i] - 2 * (int64_t)w.low[i]);
        if (!tc_at_least(g, sizes[i], g->dims.one)) {
            tc_fail(g, NULL, "axis %d of the result would have the size %s", 2 + i, tc_expr_text(sizes[i]));
            return false;
        }
    }
    return true;
}

static tc_tensor unpool(tc_graph *g, const call *c)
{
    tc_site at = c->at;
    const tc_type *x = &c->x->type;
    const tc_expr *shape[TC_MAX_RANK] = {x->shape[0], x->shape[1]}, *plane = g->dims.one;
    if (!check(g, c) || !read_sizes(g, c, shape + 2))
        return tc_poison();
    tc_type places = {.dtype = TC_I64, .rank = 3, .shape = {x->shape[0], x->shape[1], g->dims.one}};
    for (int i = 0; i < c->dims; ++i) {
        plane = tc_expr_mul(plane, shape[2 + i]);
        places.shape[2] = tc_expr_mul(places.shape[2], x->shape[2 + i]);
    }
    tc_tensor index = tc_prim_reshape(g, tc_cast_at(at, c->indices, TC_I64), 3, places.shape);
    tc_tensor size = tc_size_value(g, TC_I64, plane), channels = tc_size_value(g, TC_I64, x->shape[1]);
    tc_tensor image = MUL(tc_prim_iota(g, 0, &places), channels), number = ADD(image, tc_prim_iota(g, 1, &places));
    tc_tensor target = ADD(MUL(number, size), index), begun = GE(index, 0), within = LT(index, size);
    tc_tensor inside = AND(begun, within); /* else outside of the whole, too, so that it is found at run time */
    target = WHERE(inside, target, -1);
    const tc_expr *all = tc_expr_mul(tc_expr_mul(shape[0], shape[1]), plane), *count = tc_element_count(g, x);
    tc_tensor zero = tc_constant_of(g, x->dtype, tc_operand_int_(0));
    zero = tc_prim_broadcast(g, zero, 1, &all, NULL);
    tc_tensor values = tc_prim_reshape(g, c->x, 1, &count);
    target = tc_is_poison(target) ? target : tc_prim_reshape(g, target, 1, &count);
    return tc_prim_reshape(g, tc_prim_scatter(g, zero, target, values, "set", 0), c->dims + 2, shape);
}

static tc_tensor entered(const call *c)
{
    tc_graph *g = tc_op_enter(c->at, c->name, c->region, "x indices", 2, (tc_tensor[]){c->x, c->indices});
    return g ? tc_op_leave(g, unpool(g, c)) : tc_poison();
}

/* FIELD: how a field of the arguments is the address of its first number. */
#define UNPOOL(dims_, FIELD)                                                                                           \
    tc_tensor tc_max_unpool##dims_##d_at(const tc_unpool##dims_##d_args *args)                                         \
    {                                                                                                                  \
        return entered(&(const call){.name = "tc_max_unpool" #dims_ "d",                                               \
                                     .region = "max_unpool" #dims_ "d",                                                \
                                     .at = args->at,                                                                   \
                                     .x = args->x,                                                                     \
                                     .indices = args->indices,                                                         \
                                     .dims = dims_,                                                                    \
                                     .size_count = args->size_count,                                                   \
                                     .kernel = FIELD(kernel),                                                          \
                                     .stride = FIELD(stride),                                                          \
                                     .padding = FIELD(padding),                                                        \
                                     .size = args->size});                                                             \
    }
#define ONE(field) &args->field
#define SEVERAL(field) args->field
UNPOOL(1, ONE)
UNPOOL(2, SEVERAL)
UNPOOL(3, SEVERAL)
