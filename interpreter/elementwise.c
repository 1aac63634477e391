/* SPDX-License-Identifier: Apache-2.0
 *
 * Primitives that apply one scalar operation of tc_scalar.h at every point.
 */
#include "ops.h"
#include "scalar_wide.h"

#include <string.h>

#undef bool /* a macro for _Bool, which the token pasting below would paste; C11 7.18 lets programs undefine it */

typedef float c_f32;
typedef double c_wide;
typedef int32_t c_i32;
typedef int64_t c_i64;
typedef uint8_t c_bool;

#define UNARY(op, T) RUN1(op##_##T, tc_##op##_##T, T, T)
#define CAST(T, R) RUN1(cast_##T##_##R, tc_cast_##T##_##R, T, R)
#define RUN1(name, function, T, R)                                                                                     \
    static void run_##name(const void *context, size_t n, char *const *p, const ptrdiff_t *s)                          \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < n; i++)                                                                                 \
            *(c_##R *)(p[0] + (ptrdiff_t)i * s[0]) = function(*(const c_##T *)(p[1] + (ptrdiff_t)i * s[1]));           \
    }

#define BINARY(op, T) RUN2(op, T, T)
#define COMPARE(op, T) RUN2(op, T, bool)
#define RUN2(op, T, R)                                                                                                 \
    static void run_##op##_##T(const void *context, size_t n, char *const *p, const ptrdiff_t *s)                      \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < n; i++)                                                                                 \
            *(c_##R *)(p[0] + (ptrdiff_t)i * s[0]) = tc_##op##_##T(*(const c_##T *)(p[1] + (ptrdiff_t)i * s[1]),       \
                                                                   *(const c_##T *)(p[2] + (ptrdiff_t)i * s[2]));      \
    }

#define SELECT(op, T)                                                                                                  \
    static void run_##op##_##T(const void *context, size_t n, char *const *p, const ptrdiff_t *s)                      \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < n; i++)                                                                                 \
            *(c_##T *)(p[0] + (ptrdiff_t)i * s[0]) = tc_select_##T(*(const c_bool *)(p[1] + (ptrdiff_t)i * s[1]),      \
                                                                   *(const c_##T *)(p[2] + (ptrdiff_t)i * s[2]),       \
                                                                   *(const c_##T *)(p[3] + (ptrdiff_t)i * s[3]));      \
    }

/* X(make, op, T): every operation with every dtype that it has. */
#define FLOATS(X, make, op) X(make, op, f32) X(make, op, wide)
#define NUMBERS(X, make, op) FLOATS(X, make, op) X(make, op, i32) X(make, op, i64)
#define ALL(X, make, op) NUMBERS(X, make, op) X(make, op, bool)
#define OPERATIONS(X)                                                                                                  \
    NUMBERS(X, UNARY, neg)                                                                                             \
    NUMBERS(X, UNARY, abs)                                                                                             \
    FLOATS(X, UNARY, exp)                                                                                              \
    FLOATS(X, UNARY, log)                                                                                              \
    FLOATS(X, UNARY, sqrt)                                                                                             \
    FLOATS(X, UNARY, floor)                                                                                            \
    FLOATS(X, UNARY, tanh)                                                                                             \
    FLOATS(X, UNARY, erf)                                                                                              \
    X(UNARY, logical_not, bool)                                                                                        \
    NUMBERS(X, BINARY, add)                                                                                            \
    NUMBERS(X, BINARY, sub)                                                                                            \
    NUMBERS(X, BINARY, mul)                                                                                            \
    NUMBERS(X, BINARY, div)                                                                                            \
    NUMBERS(X, BINARY, maximum)                                                                                        \
    NUMBERS(X, BINARY, minimum)                                                                                        \
    X(BINARY, logical_and, bool)                                                                                       \
    X(BINARY, logical_or, bool)                                                                                        \
    X(BINARY, logical_xor, bool)                                                                                       \
    ALL(X, COMPARE, eq)                                                                                                \
    ALL(X, COMPARE, ne)                                                                                                \
    ALL(X, COMPARE, lt)                                                                                                \
    ALL(X, COMPARE, le)                                                                                                \
    ALL(X, COMPARE, gt)                                                                                                \
    ALL(X, COMPARE, ge)                                                                                                \
    ALL(X, SELECT, select)

/* Casts within one mode: no value is f32 and another f64. */
#define CASTS(X)                                                                                                       \
    X(f32, f32) X(f32, i32) X(f32, i64) X(f32, bool) X(wide, wide) X(wide, i32) X(wide, i64) X(wide, bool)                  \
    X(i32, f32) X(i32, wide) X(i32, i32) X(i32, i64) X(i32, bool)                                                       \
    X(i64, f32) X(i64, wide) X(i64, i32) X(i64, i64) X(i64, bool)                                                       \
    X(bool, f32) X(bool, wide) X(bool, i32) X(bool, i64) X(bool, bool)

#define DEFINE(make, op, T) make(op, T)
OPERATIONS(DEFINE)
CASTS(CAST)

#define DT_f32 TCI_F32
#define DT_wide TCI_WIDE
#define DT_i32 TCI_I32
#define DT_i64 TCI_I64
#define DT_bool TCI_BOOL

/* by primitive and the dtype of its last operand; casts by the dtypes of operand and result */
static tci_run *const runs[TCI_OP_COUNT][TCI_DTYPE_COUNT] = {
#define ENTRY(make, op, T) [TCI_OP_##op][DT_##T] = run_##op##_##T,
    OPERATIONS(ENTRY)
#undef ENTRY
};

static tci_run *const casts[TCI_DTYPE_COUNT][TCI_DTYPE_COUNT] = {
#define ENTRY(T, R) [DT_##T][DT_##R] = run_cast_##T##_##R,
    CASTS(ENTRY)
#undef ENTRY
};

tci_run *tci_scalar_run(tci_op op, tci_dtype dtype)
{
    return runs[op][dtype];
}

tci_run *tci_cast_run(tci_dtype from, tci_dtype to)
{
    return casts[from][to];
}

_Bool tci_op_elementwise(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_tensor *out)
{
    const size_t count = node->operand_count;
    const tci_dtype dtype = in[count - 1].dtype;
    for (size_t i = 0; i < count; i++) {
        if (!tci_tensor_same_shape(&in[0], &in[i]))
            return tci_node_fail(scope, node, "operands of different shapes");
        if (in[i].dtype != (node->op == TCI_OP_select && i == 0 ? TCI_BOOL : dtype))
            return tci_node_fail(scope, node, "operands of different dtypes");
    }
    tci_dtype result = node->op >= TCI_OP_eq && node->op <= TCI_OP_ge ? TCI_BOOL : dtype;
    tci_run *run = runs[node->op][dtype];
    if (node->op == TCI_OP_cast) {
        const char *name = tci_node_attr(node, "dtype")->text;
        result = tci_dtype_named(name);
        if (result == TCI_WIDE)
            return tci_node_fail(scope, node, "unknown dtype '%s'", name);
        result = tci_storage(scope, result);
        run = casts[dtype][result];
    }
    if (run == NULL)
        return tci_node_fail(scope, node, "not defined for %s", tci_dtype_name(dtype));
    if (!tci_tensor_make(out, result, in[0].rank, in[0].shape, node->loc, scope->diag))
        return false;
    const tci_tensor *all[4] = {out};
    for (size_t i = 0; i < count; i++)
        all[i + 1] = &in[i];
    tci_for_each_run((int)count + 1, all, run, NULL);
    return true;
}
