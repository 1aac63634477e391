/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations, broadcasting.
 */
#include <math.h>

#include "compose.h"

/* -- broadcasting -------------------------------------------------------------------------------------------------- */

bool tc_broadcast_shape(tc_graph *g, const tc_type *a, const tc_type *b, int *rank, const tc_expr **shape)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= *rank; ++i) {
        const tc_expr *x = i <= a->rank ? a->shape[a->rank - i] : g->dims.one;
        const tc_expr *y = i <= b->rank ? b->shape[b->rank - i] : g->dims.one;
        const tc_expr **out = &shape[*rank - i];
        if (tc_expr_is(x, 1)) {
            *out = y;
        } else if (tc_expr_is(y, 1)) {
            *out = x;
        } else if (tc_same_dim(g, x, y)) {
            *out = tc_expr_is_const(y) ? y : x;
        } else {
            bool constant = tc_expr_is_const(x) && tc_expr_is_const(y);
            tc_fail(g,
                    constant || tc_expr_never_equal(x, y)
                        ? "shapes align at the last axis; a size of 1 repeats"
                        : "a dynamic size is not known to be that constant: fix one of them, or tc_require_equal",
                    "%s and %s do not broadcast: %s against %s", tc_type_text(g, a), tc_type_text(g, b),
                    tc_expr_text(x), tc_expr_text(y));
            return false;
        }
    }
    return true;
}

tc_tensor tc_broadcast_to(tc_graph *g, tc_tensor x, int rank, const tc_expr *const *shape)
{
    if (tc_is_poison(x))
        return x;
    int axes[TC_MAX_RANK] = {0};
    for (int i = 0; i < x->type.rank; ++i)
        axes[i] = rank - x->type.rank + i;
    return tc_prim_broadcast(g, x, rank, shape, axes);
}

/* -- two operands -------------------------------------------------------------------------------------------------- */

bool tc_align(tc_graph *g, tc_operand a, tc_operand b, tc_tensor *x, tc_tensor *y)
{
    bool a_number = a.kind != TC_OPERAND_TENSOR, b_number = b.kind != TC_OPERAND_TENSOR;
    if (a_number && b_number) {
        tc_fail(g, "compute it in C, or use tc_full", "both operands are numbers");
        return false;
    }
    *x = a_number ? tc_constant_of(g, b.tensor->type.dtype, a) : a.tensor;
    *y = b_number ? tc_constant_of(g, a.tensor->type.dtype, b) : b.tensor;
    if (tc_is_poison(*x) || tc_is_poison(*y))
        return false;
    if (!tc_check_same_dtype(g, &(*x)->type, &(*y)->type))
        return false;
    int rank;
    const tc_expr *shape[TC_MAX_RANK];
    if (!tc_broadcast_shape(g, &(*x)->type, &(*y)->type, &rank, shape))
        return false;
    *x = tc_broadcast_to(g, *x, rank, shape);
    *y = tc_broadcast_to(g, *y, rank, shape);
    return true;
}

tc_graph *tc_op_enter_two(tc_site at, const char *name, const char *region, tc_operand a, tc_operand b)
{
    bool a_tensor = a.kind == TC_OPERAND_TENSOR, b_tensor = b.kind == TC_OPERAND_TENSOR;
    if (a_tensor && b_tensor)
        return tc_op_enter(at, name, region, "a b", 2, (tc_tensor[]){a.tensor, b.tensor});
    if (a_tensor)
        return tc_op_enter(at, name, region, "a", 1, &a.tensor);
    return tc_op_enter(at, name, region, "b", b_tensor, &b.tensor);
}

static tc_tensor binary(tc_site at, const char *name, tc_op op, tc_operand a, tc_operand b)
{
    tc_graph *g = tc_op_enter_two(at, name, NULL, a, b);
    if (!g)
        return tc_poison();
    tc_tensor x, y;
    return tc_op_leave(g, tc_align(g, a, b, &x, &y) ? tc_prim_binary(g, op, x, y) : tc_poison());
}

#define BINARY(name)                                                                                                   \
    tc_tensor tc_##name##_at(tc_site at, tc_operand a, tc_operand b)                                                   \
    {                                                                                                                  \
        return binary(at, "tc_" #name, TC_OP_##name, a, b);                                                            \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(rem)
BINARY(maximum)
BINARY(minimum)
BINARY(eq)
BINARY(ne)
BINARY(lt)
BINARY(le)
BINARY(gt)
BINARY(ge)
BINARY(logical_and)
BINARY(logical_or)
BINARY(logical_xor)
BINARY(bit_and)
BINARY(bit_or)
BINARY(bit_xor)
BINARY(shift_left)
BINARY(shift_right)
#undef BINARY

static tc_tensor where(tc_graph *g, tc_tensor condition, tc_operand a, tc_operand b)
{
    tc_tensor x, y;
    int rank;
    const tc_expr *shape[TC_MAX_RANK];
    if (a.kind != TC_OPERAND_TENSOR && b.kind != TC_OPERAND_TENSOR) /* two numbers: f32 unless both are integers */
        a = TC_OPERAND(tc_constant_of(g, a.kind == TC_OPERAND_INT && b.kind == TC_OPERAND_INT ? TC_I64 : TC_F32, a));
    if ((a.kind == TC_OPERAND_TENSOR && tc_is_poison(a.tensor)) || !tc_align(g, a, b, &x, &y) ||
        !tc_broadcast_shape(g, &condition->type, &x->type, &rank, shape))
        return tc_poison();
    condition = tc_broadcast_to(g, condition, rank, shape);
    x = tc_broadcast_to(g, x, rank, shape);
    y = tc_broadcast_to(g, y, rank, shape);
    return tc_prim_select(g, condition, x, y);
}

tc_tensor tc_where_at(tc_site at, tc_tensor condition, tc_operand a, tc_operand b)
{
    tc_tensor operands[3] = {condition};
    const char *names = "condition a b";
    int count = 1;
    if (a.kind == TC_OPERAND_TENSOR)
        operands[count++] = a.tensor;
    else
        names = "condition b";
    if (b.kind == TC_OPERAND_TENSOR)
        operands[count++] = b.tensor;
    tc_graph *g = tc_op_enter(at, "tc_where", NULL, names, count, operands);
    return g ? tc_op_leave(g, where(g, condition, a, b)) : tc_poison();
}

tc_tensor tc_clamp_at(tc_site at, tc_tensor x, tc_operand low, tc_operand high)
{
    const bool given_low = low.kind != TC_OPERAND_TENSOR || low.tensor;
    const bool given_high = high.kind != TC_OPERAND_TENSOR || high.tensor;
    tc_graph *g = tc_op_enter(at, "tc_clamp", "clamp", "x", 1, &x);
    if (!g)
        return tc_poison();
    if (!given_low && !given_high)
        tc_fail(g, "a number or a tensor; NULL for no bound on one side", "neither low nor high is given");
    if (!given_low && !given_high)
        return tc_op_leave(g, tc_poison());
    if (given_low)
        x = tc_maximum_at(at, TC_OPERAND(x), low);
    return tc_op_leave(g, given_high ? tc_minimum_at(at, TC_OPERAND(x), high) : x);
}

/* -- one operand --------------------------------------------------------------------------------------------------- */

#define UNARY(name)                                                                                                    \
    tc_tensor tc_##name##_at(tc_site at, tc_tensor x)                                                                  \
    {                                                                                                                  \
        tc_graph *g = tc_op_enter(at, "tc_" #name, NULL, "x", 1, &x);                                                  \
        return g ? tc_op_leave(g, tc_prim_unary(g, TC_OP_##name, x)) : tc_poison();                                    \
    }

/* Every elementwise primitive of one operand but the casts. */
#define OPERANDS_1(name, rule) RULE_##rule(name)
#define OPERANDS_2(name, rule)
#define OPERANDS_3(name, rule)
#define RULE_same(name) UNARY(name)
#define RULE_same_float(name) UNARY(name)
#define RULE_same_integer(name) UNARY(name)
#define RULE_same_bool(name) UNARY(name)
#define RULE_cast(name)
#define RULE_bitcast(name)
#define LOWERING_elementwise(name, operands, rule) OPERANDS_##operands(name, rule)
#define LOWERING_leaf(name, operands, rule)
#define LOWERING_view(name, operands, rule)
#define LOWERING_kernel(name, operands, rule)
#define LOWERING_contraction(name, operands, rule)
#define LOWERING_region(name, operands, rule)
#define LOWERING_inlined(name, operands, rule)
#define TC_PRIMITIVE(name, operands, results, type_rule, lowering, ...) LOWERING_##lowering(name, operands, type_rule)
#include "../primitives.def"
#undef TC_PRIMITIVE
#undef UNARY

/* x to a whole power >= 1, by squaring. */
static tc_tensor power(tc_site at, tc_tensor x, int n)
{
    tc_tensor out = NULL;
    for (;;) {
        if (n & 1)
            out = out ? MUL(out, x) : x;
        n >>= 1;
        if (!n)
            return out;
        x = MUL(x, x);
    }
}

static tc_tensor pow_by(tc_graph *g, tc_site at, tc_tensor x, double exponent)
{
    double size = fabs(exponent), base = floor(size);
    bool simple = size <= 64 && (size == base || size == base + 0.5);
    if (!tc_dtype_is_float(x->type.dtype) && (x->type.dtype == TC_BOOL || !simple || exponent < 0 || size != base)) {
        tc_fail(g, "convert with tc_cast(x, TC_F32)", "%s to the power of %g needs floats", tc_type_text(g, &x->type),
                exponent);
        return tc_poison();
    }
    if (!simple)
        return binary(at, "tc_pow", TC_OP_pow, TC_OPERAND(x), TC_OPERAND(exponent));
    if (size == 0)
        return tc_broadcast_to(g, tc_constant_of(g, x->type.dtype, TC_OPERAND(1)), x->type.rank, x->type.shape);
    tc_tensor out = base >= 1 ? power(at, x, (int)base) : NULL;
    if (size != base) {
        tc_tensor root = tc_sqrt_at(at, x);
        out = out ? MUL(out, root) : root;
    }
    return exponent < 0 ? DIV(1, out) : out;
}

tc_tensor tc_pow_at(tc_site at, tc_operand x, tc_operand exponent)
{
    if (x.kind != TC_OPERAND_TENSOR || exponent.kind == TC_OPERAND_TENSOR)
        return binary(at, "tc_pow", TC_OP_pow, x, exponent);
    tc_graph *g = tc_op_enter(at, "tc_pow", "pow", "x", 1, &x.tensor);
    const double number = exponent.kind == TC_OPERAND_INT ? (double)exponent.integer : exponent.real;
    if (!g)
        return tc_poison();
    tc_tensor out = pow_by(g, at, tc_prim_widen(g, x.tensor), number);
    return tc_op_leave(g, tc_prim_narrow(g, out, x.tensor->type.dtype));
}

tc_tensor tc_cast_at(tc_site at, tc_tensor x, tc_dtype dtype)
{
    tc_graph *g = tc_op_enter(at, "tc_cast", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    if (!tc_dtype_valid(dtype)) {
        tc_fail(g, tc_dtype_list(g), "%d is no dtype", (int)dtype);
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, x->type.dtype == dtype ? x : tc_prim_cast(g, x, dtype));
}

/* The bits of x, whose dtype has the same width. */
static tc_tensor bitcast(tc_graph *g, tc_tensor x, tc_dtype dtype)
{
    if (x->type.dtype == dtype)
        return x;
    if (tc_dtype_is_float(x->type.dtype) != tc_dtype_is_float(dtype))
        return tc_prim_bitcast(g, x, dtype);
    if (!tc_dtype_is_float(dtype)) /* integers keep their low bits, a bool is 0 or 1 */
        return tc_prim_cast(g, x, dtype);
    return tc_prim_bitcast(g, tc_prim_bitcast(g, x, TC_U16), dtype);
}

tc_tensor tc_bitcast_at(tc_site at, tc_tensor x, tc_dtype dtype)
{
    tc_graph *g = tc_op_enter(at, "tc_bitcast", NULL, "x", 1, &x);
    if (!g)
        return tc_poison();
    if (!tc_dtype_valid(dtype)) {
        tc_fail(g, tc_dtype_list(g), "%d is no dtype", (int)dtype);
        return tc_op_leave(g, tc_poison());
    }
    if (tc_dtype_size(dtype) != tc_dtype_size(x->type.dtype)) {
        tc_fail(g, "tc_cast converts values", "%s as %s: an element has %d bits, not %d", tc_type_text(g, &x->type),
                tc_dtype_name(dtype), 8 * (int)tc_dtype_size(x->type.dtype), 8 * (int)tc_dtype_size(dtype));
        return tc_op_leave(g, tc_poison());
    }
    if (dtype == TC_BOOL && x->type.dtype != TC_BOOL) {
        tc_fail(g, "compare: tc_ne(x, 0)", "%s as bool, which is 0 or 1", tc_type_text(g, &x->type));
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, bitcast(g, x, dtype));
}
