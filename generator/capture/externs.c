/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of functions of the user's program.
 */
#include <string.h>

#include "internal.h"

enum { MOST_RESULTS = 8, MOST_OPERANDS = 16 };

/* The types of the results; false where that was reported. */
static bool read_types(tc_graph *g, int count, const tc_extern_type *const *types, tc_type *out)
{
    for (int i = 0; i < count; ++i)
        if (!tc_read_type(g, types[i]->count, types[i]->type, &out[i]))
            return false;
    return true;
}

static void call(tc_graph *g, const char *function, int result_count, tc_tensor *results,
                 const tc_extern_type *const *types, int count, const tc_tensor *operands)
{
    tc_type found[MOST_RESULTS];
    if (result_count < 1 || result_count > MOST_RESULTS || count > MOST_OPERANDS) {
        tc_fail(g, NULL, "%d results of %d operands; 1 to %d results of at most %d operands are possible", result_count,
                count, MOST_RESULTS, MOST_OPERANDS);
        return;
    }
    if (!tc_check_identifier(g, "function", function) || !read_types(g, result_count, types, found))
        return;
    if (!strncmp(function, "tck_", 4)) {
        tc_fail(g, "names that begin with tck_ are those of kernels", "the function \"%s\" may not be called so",
                function);
        return;
    }
    const char *takes = "";
    for (int i = 0; i < count; ++i)
        takes = tc_arena_format(&g->arena, "%s%s%s", takes, i ? "," : "", tc_dtype_name(operands[i]->type.dtype));
    const tc_attr attrs[] = {tc_attr_name(function), tc_attr_name(takes)};
    tc_node *node = tc_append_node(g, TC_OP_extern_call, count, operands, attrs, result_count, found);
    for (int i = 0; i < result_count; ++i)
        results[i] = &node->results[i];
}

void tc_extern_results_at(tc_site at, tc_graph *g, const char *function, int result_count, tc_tensor *results,
                          const tc_extern_type *const *types, int count, const tc_tensor *operands)
{
    for (int i = 0; i < result_count; ++i)
        results[i] = tc_poison();
    if (!tc_op_enter_list(at, "tc_extern", function, count, operands))
        return;
    call(g, function, result_count, results, types, count, operands);
    tc_op_leave(g, NULL);
}

tc_tensor tc_extern_at(tc_site at, tc_graph *g, const char *function, const tc_extern_type *type, int count,
                       const tc_tensor *operands)
{
    tc_tensor result;
    tc_extern_results_at(at, g, function, 1, &result, &type, count, operands);
    return result;
}
