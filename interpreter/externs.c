/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of functions of the user's program. This program has none, but the one that `check --extern-source` makes.
 */
#include "ops.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 }; /* operands or results */

typedef void function(const void *const *in, void *const *out, const ptrdiff_t *const *in_shape,
                      const ptrdiff_t *const *out_shape);

/* The function of this name, in programs that have some. */
function *tci_extern_named(const char *name) __attribute__((weak));

/* The tensor, dense, in the dtype that the function takes: what is kept in double is rounded. */
static bool as_taken(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_dtype dtype,
                     tci_tensor *out)
{
    tci_tensor dense = {0}, single = {0};
    if (!tci_tensor_dense(&dense, in, node->loc, scope->diag))
        return false;
    if (in->dtype != TCI_WIDE) {
        *out = dense;
        return true;
    }
    const double *from = (const double *)(const void *)dense.data;
    const int64_t n = tci_tensor_elements(in);
    bool ok = tci_tensor_make(&single, dtype == TCI_F64 ? TCI_F64 : TCI_F32, in->rank, in->shape, node->loc,
                              scope->diag);
    for (int64_t i = 0; ok && i < n; i++) {
        if (dtype == TCI_F64)
            ((double *)(void *)single.data)[i] = from[i];
        else
            ((float *)(void *)single.data)[i] = (float)from[i];
    }
    if (ok && single.dtype != dtype)
        ok = tci_cast(scope, node, &single, dtype, out);
    else if (ok)
        *out = tci_tensor_share(&single);
    tci_tensor_release(&single);
    tci_tensor_release(&dense);
    return ok;
}

/* A result as values are kept: in double where floats are. */
static bool as_kept(const tci_scope *scope, const tci_node *node, tci_tensor *made)
{
    tci_tensor wide = {0};
    if (tci_storage(scope, made->dtype) != TCI_WIDE)
        return true;
    if (!tci_tensor_make(&wide, TCI_WIDE, made->rank, made->shape, node->loc, scope->diag))
        return false;
    const size_t size = tci_dtype_size(made->dtype);
    const int64_t n = tci_tensor_elements(made);
    for (int64_t i = 0; i < n; i++)
        ((double *)(void *)wide.data)[i] = tci_wide_of(made->dtype, made->data + (size_t)i * size);
    tci_tensor_release(made);
    *made = wide;
    return true;
}

/* The next of the dtypes "f32,i64". */
static tci_dtype next_dtype(const char **list)
{
    char name[8] = {0};
    size_t n = 0;
    while (**list && **list != ',' && n + 1 < sizeof name)
        name[n++] = *(*list)++;
    if (**list == ',')
        ++*list;
    return tci_dtype_named(name);
}

static void sizes_of(const tci_tensor *x, ptrdiff_t *sizes)
{
    sizes[0] = 0;
    for (int d = 0; d < x->rank; d++)
        sizes[d] = (ptrdiff_t)x->shape[d];
}

bool tci_op_extern_call(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const char *name = tci_node_attr(node, "function")->text, *takes = tci_node_attr(node, "takes")->text;
    function *called = tci_extern_named ? tci_extern_named(name) : NULL;
    if (node->operand_count > MOST || node->result_count > MOST)
        return tci_node_fail(scope, node, "more than %d operands or results", MOST);
    if (called == NULL)
        return tci_node_fail(scope, node, "the function %s is one of your program, which the interpreter cannot run",
                             name);
    tci_tensor taken[MOST] = {{0}};
    const void *from[MOST] = {0};
    void *to[MOST] = {0};
    ptrdiff_t read[MOST][TCI_MAX_RANK], made[MOST][TCI_MAX_RANK];
    const ptrdiff_t *read_shape[MOST] = {0}, *made_shape[MOST] = {0};
    bool ok = true;
    for (size_t i = 0; i < node->operand_count && ok; i++) {
        ok = as_taken(scope, node, &in[i], next_dtype(&takes), &taken[i]);
        from[i] = taken[i].data;
        sizes_of(&in[i], read[i]);
        read_shape[i] = read[i];
    }
    for (size_t i = 0; i < node->result_count && ok; i++) {
        int64_t shape[TCI_MAX_RANK];
        const tci_exprs *sizes = &node->types[i].shape;
        ok = tci_evaluate_list(scope, node, sizes, shape, sizes->count) &&
             tci_tensor_make(&out[i], node->types[i].dtype, (int)sizes->count, shape, node->loc, scope->diag);
        if (ok) {
            memset(out[i].data, 0, (size_t)tci_tensor_elements(&out[i]) * tci_dtype_size(out[i].dtype));
            to[i] = out[i].data;
            sizes_of(&out[i], made[i]);
            made_shape[i] = made[i];
        }
    }
    if (ok)
        called(from, to, read_shape, made_shape);
    for (size_t i = 0; i < node->operand_count; i++)
        tci_tensor_release(&taken[i]);
    for (size_t i = 0; i < node->result_count && ok; i++)
        ok = as_kept(scope, node, &out[i]);
    return ok;
}
