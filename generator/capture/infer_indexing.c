/* SPDX-License-Identifier: Apache-2.0
 *
 * The type rules of scatter, sort and cumulative.
 */
#include <string.h>

#include "internal.h"

bool tc_infer_scatter(tc_graph *g, const tc_tensor *operands, const tc_attr *attrs, tc_type *out)
{
    const tc_type *x = &operands[0]->type, *index = &operands[1]->type, *u = &operands[2]->type;
    const int axis = (int)attrs[1].integer;
    *out = *x;
    if (index->dtype != TC_I32 && index->dtype != TC_I64) {
        tc_fail(g, "convert with tc_cast(index, TC_I64)", "the index is i32 or i64, not %s", tc_type_text(g, index));
        return false;
    }
    if (strcmp(attrs[0].text, "set") && x->dtype == TC_BOOL) {
        tc_fail(g, "convert with tc_cast, or set", "needs numbers, not %s", tc_type_text(g, x));
        return false;
    }
    tc_type wanted = {.dtype = x->dtype};
    const int rank = x->rank - 1 + index->rank;
    bool fits = u->dtype == x->dtype && u->rank == rank && rank <= TC_MAX_RANK;
    for (int i = 0; i < rank && rank <= TC_MAX_RANK; ++i) {
        const int last = axis + index->rank;
        wanted.shape[i] = i < axis ? x->shape[i] : i < last ? index->shape[i - axis] : x->shape[i - last + axis + 1];
        wanted.rank = i + 1;
        fits = fits && tc_same_dim(g, u->shape[i], wanted.shape[i]);
    }
    if (!fits)
        tc_fail(g, NULL, "the values are %s; at %s into axis %d of %s they are %s", tc_type_text(g, u),
                tc_type_text(g, index), axis, tc_type_text(g, x), tc_type_text(g, &wanted));
    return fits;
}

bool tc_infer_sort(tc_graph *g, const tc_type *x, const tc_attr *attrs, tc_type *out)
{
    const int axis = (int)attrs[0].integer;
    const tc_expr *count = attrs[1].dims[0];
    *out = *x;
    out->shape[axis] = count;
    if (tc_at_least(g, count, g->dims.zero) && tc_at_least(g, x->shape[axis], count))
        return true;
    tc_fail(g, "0 <= k <= that size", "asks for %s elements of axis %d of %s, which has %s", tc_expr_text(count), axis,
            tc_type_text(g, x), tc_expr_text(x->shape[axis]));
    return false;
}

bool tc_infer_cumulative(tc_graph *g, const tc_type *x, tc_type *out)
{
    *out = *x;
    if (x->dtype != TC_BOOL)
        return true;
    tc_fail(g, "convert with tc_cast", "needs numbers, not %s", tc_type_text(g, x));
    return false;
}
