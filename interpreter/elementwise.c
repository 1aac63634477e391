/* SPDX-License-Identifier: Apache-2.0
 *
 * Primitives that apply one scalar operation of tc_scalar.h at every point.
 */
#include "roundings.h"
#include "scalar_wide.h"

#include <string.h>

#undef bool /* a macro for _Bool, which the token pasting below would paste; C11 7.18 lets programs undefine it */

#define TC_DTYPE(name, upper, c_type, bytes, kind, digits, file) typedef c_type c_##name;
#include "dtypes.def"
#undef TC_DTYPE
typedef double c_wide;

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

/* clang-format off */
#define SELECT(op, T)                                                                                                  \
    static void run_##op##_##T(const void *context, size_t n, char *const *p, const ptrdiff_t *s)                      \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < n; i++)                                                                                 \
            *(c_##T *)(p[0] + (ptrdiff_t)i * s[0]) = tc_select_##T(*(const c_bool *)(p[1] + (ptrdiff_t)i * s[1]),      \
                                                                   *(const c_##T *)(p[2] + (ptrdiff_t)i * s[2]),       \
                                                                   *(const c_##T *)(p[3] + (ptrdiff_t)i * s[3]));      \
    }

/* X(make, op, T): every operation with every dtype that it has. f16 and bf16 are computed in f32 (execute.c). */
#define FLOATS(X, make, op) X(make, op, f32) X(make, op, f64) X(make, op, wide)
#define INTEGERS(X, make, op)                                                                                          \
    X(make, op, i8) X(make, op, i16) X(make, op, i32) X(make, op, i64)                                                 \
    X(make, op, u8) X(make, op, u16) X(make, op, u32) X(make, op, u64)
#define NUMBERS(X, make, op) FLOATS(X, make, op) INTEGERS(X, make, op)
#define ALL(X, make, op) NUMBERS(X, make, op) X(make, op, bool)
#define MOVES(X, make, op) ALL(X, make, op) X(make, op, f16) X(make, op, bf16)

/* The dtypes of an elementwise primitive by its type rule, and what makes its function by its operands. */
#define MAKE_1 UNARY
#define MAKE_2 BINARY
#define RULE_same(X, operands, op) NUMBERS(X, MAKE_##operands, op)
#define RULE_same_number(X, operands, op) NUMBERS(X, MAKE_##operands, op)
#define RULE_same_float(X, operands, op) FLOATS(X, MAKE_##operands, op)
#define RULE_same_integer(X, operands, op) INTEGERS(X, MAKE_##operands, op)
#define RULE_same_bool(X, operands, op) X(MAKE_##operands, op, bool)
#define RULE_compare(X, operands, op) ALL(X, COMPARE, op)
#define RULE_select(X, operands, op) MOVES(X, SELECT, op)
#define RULE_cast(X, operands, op)    /* CASTS */
#define RULE_bitcast(X, operands, op) /* BITCASTS */

#define LOWERING_elementwise(X, operands, rule, op) RULE_##rule(X, operands, op)
#define LOWERING_leaf(X, operands, rule, op)
#define LOWERING_view(X, operands, rule, op)
#define LOWERING_kernel(X, operands, rule, op)
#define LOWERING_contraction(X, operands, rule, op)
#define LOWERING_region(X, operands, rule, op)
#define LOWERING_inlined(X, operands, rule, op)

/* Casts within one mode: no value is wide and another an exact float. */
#define CASTS_WITHIN(X, T)                                                                                             \
    X(T, i8) X(T, i16) X(T, i32) X(T, i64) X(T, u8) X(T, u16) X(T, u32) X(T, u64) X(T, bool)
#define CASTS_EXACT(X, T) CASTS_WITHIN(X, T) X(T, f32) X(T, f64) X(T, f16) X(T, bf16)
#define CASTS_BOTH(X, T) CASTS_EXACT(X, T) X(T, wide)
#define CASTS(X)                                                                                                       \
    CASTS_EXACT(X, f32) CASTS_EXACT(X, f64) CASTS_EXACT(X, f16) CASTS_EXACT(X, bf16)                                   \
    CASTS_BOTH(X, i8) CASTS_BOTH(X, i16) CASTS_BOTH(X, i32) CASTS_BOTH(X, i64)                                         \
    CASTS_BOTH(X, u8) CASTS_BOTH(X, u16) CASTS_BOTH(X, u32) CASTS_BOTH(X, u64)                                         \
    CASTS_BOTH(X, bool) CASTS_WITHIN(X, wide) X(wide, wide)

/* X(F, T): a float and an integer of its width. In f64 mode the float is rounded to its dtype, whose bits they are. */
#define BITCASTS(X)                                                                                                    \
    X(f32, i32) X(f32, u32) X(f64, i64) X(f64, u64) X(f16, i16) X(f16, u16) X(bf16, i16) X(bf16, u16)
#define BITCAST(F, T)                                                                                                  \
    static inline c_##T bits_of_##F##_##T(double x)                                                                    \
    {                                                                                                                  \
        return tc_bitcast_##F##_##T(tc_cast_f64_##F(x));                                                               \
    }                                                                                                                  \
    static inline double float_of_##T##_##F(c_##T x)                                                                   \
    {                                                                                                                  \
        return tc_cast_##F##_f64(tc_bitcast_##T##_##F(x));                                                             \
    }                                                                                                                  \
    RUN1(bitcast_##F##_##T, tc_bitcast_##F##_##T, F, T)                                                                \
    RUN1(bitcast_##T##_##F, tc_bitcast_##T##_##F, T, F)                                                                \
    RUN1(bits_of_##F##_##T, bits_of_##F##_##T, wide, T)                                                                \
    RUN1(float_of_##T##_##F, float_of_##T##_##F, T, wide)

#define DEFINE(make, op, T) make(op, T)
#define TC_PRIMITIVE(name, operands, results, type_rule, lowering, ...)                                                \
    LOWERING_##lowering(DEFINE, operands, type_rule, name)
#include "primitives.def"
#undef TC_PRIMITIVE
CASTS(CAST)
BITCASTS(BITCAST)

/* by primitive and the dtype of its last operand; casts by the dtypes of operand and result, bitcasts by the declared
 * ones in both modes */
static tci_run *const runs[TCI_OP_COUNT][TCI_DTYPE_COUNT] = {
#define ENTRY(make, op, T) [TCI_OP_##op][DT_##T] = run_##op##_##T,
#define TC_PRIMITIVE(name, operands, results, type_rule, lowering, ...)                                                \
    LOWERING_##lowering(ENTRY, operands, type_rule, name)
#include "primitives.def"
#undef TC_PRIMITIVE
#undef ENTRY
};

static tci_run *const casts[TCI_DTYPE_COUNT][TCI_DTYPE_COUNT] = {
#define ENTRY(T, R) [DT_##T][DT_##R] = run_cast_##T##_##R,
    CASTS(ENTRY)
#undef ENTRY
};

static tci_run *const bitcasts[2][TCI_DTYPE_COUNT][TCI_DTYPE_COUNT] = {
#define ENTRY(F, T) [0][DT_##F][DT_##T] = run_bitcast_##F##_##T, [0][DT_##T][DT_##F] = run_bitcast_##T##_##F,
    BITCASTS(ENTRY)
#undef ENTRY
#define ENTRY(F, T) [1][DT_##F][DT_##T] = run_bits_of_##F##_##T, [1][DT_##T][DT_##F] = run_float_of_##T##_##F,
    BITCASTS(ENTRY)
#undef ENTRY
};
/* clang-format on */

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
    if (node->op == TCI_OP_cast || node->op == TCI_OP_bitcast) {
        const char *name = tci_node_attr(node, "dtype")->text;
        const tci_dtype named = tci_dtype_named(name);
        if (named == TCI_WIDE)
            return tci_node_fail(scope, node, "unknown dtype '%s'", name);
        result = tci_storage(scope, named);
        run = node->op == TCI_OP_cast ? casts[dtype][result] : bitcasts[scope->f64][node->first_dtype][named];
    }
    if (run == NULL)
        return tci_node_fail(scope, node, "not defined for %s", tci_dtype_name(dtype));
    if (!tci_tensor_make(out, result, in[0].rank, in[0].shape, node->loc, scope->diag))
        return false;
    if (scope->roundings != NULL && tci_makes_integers(node->op, dtype, result)) {
        if (scope->roundings->follow)
            return tci_roundings_follow(scope, node, &in[0], run, out);
        if (!tci_roundings_write(scope, node, &in[0]))
            return false;
    }
    const tci_tensor *all[4] = {out};
    for (size_t i = 0; i < count; i++)
        all[i + 1] = &in[i];
    tci_for_each_run((int)count + 1, all, run, NULL);
    return true;
}

_Bool tci_cast(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_dtype dtype, tci_tensor *out)
{
    if (!tci_tensor_make(out, dtype, in->rank, in->shape, node->loc, scope->diag))
        return false;
    const tci_tensor *both[2] = {out, in};
    tci_for_each_run(2, both, casts[in->dtype][dtype], NULL);
    return true;
}

double tci_wide_of(tci_dtype dtype, const void *element)
{
    union {
        float f32;
        double f64;
        uint16_t bits;
    } u;
    memcpy(&u, element, tci_dtype_size(dtype));
    return dtype == TCI_F32    ? u.f32
           : dtype == TCI_F16  ? tc_cast_f16_f64(u.bits)
           : dtype == TCI_BF16 ? tc_cast_bf16_f64(u.bits)
                               : u.f64;
}
