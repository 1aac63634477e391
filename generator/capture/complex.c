/* SPDX-License-Identifier: Apache-2.0
 *
 * Complex numbers as pairs along the last axis.
 */
#include "compose.h"

/* What an operation does with two tensors: both parts of a number, or two numbers. */
typedef tc_tensor steps(tc_site at, tc_tensor x, tc_tensor y);

/* Whether the last axis is 2. */
static bool is_pairs(tc_graph *g, tc_tensor x)
{
    int64_t parts = 0;
    const tc_type *type = &x->type;
    if (type->rank < 1 || !tc_expr_value(type->shape[type->rank - 1], &parts) || parts != 2) {
        tc_fail(g, "complex numbers are pairs: tc_complex(re, im)", "the last axis of %s is not 2",
                tc_type_text(g, type));
        return false;
    }
    return tc_check_float(g, type);
}

static tc_tensor part(tc_site at, tc_tensor x, int which)
{
    return tc_select_at(at, x, -1, tc_dim_int_(which));
}

static tc_tensor paired(tc_site at, tc_tensor re, tc_tensor im)
{
    tc_tensor parts[] = {re, im};
    return tc_stack_at(at, -1, 2, parts);
}

/* -- made of real numbers ---------------------------------------------------------------------------------------- */

static tc_tensor polar(tc_site at, tc_tensor r, tc_tensor angle)
{
    tc_tensor c = tc_cos_at(at, angle), s = tc_sin_at(at, angle);
    tc_tensor re = MUL(r, c), im = MUL(r, s);
    return paired(at, re, im);
}

/* function(at, x, y) of operands of one dtype, in f32 where they have 16 bits. */
static tc_tensor in_f32(tc_graph *g, tc_site at, tc_tensor x, tc_tensor y, steps *function)
{
    const tc_dtype dtype = x->type.dtype;
    x = tc_prim_widen(g, x);
    y = tc_prim_widen(g, y);
    return tc_prim_narrow(g, function(at, x, y), dtype);
}

/* The same of operands that are aligned. */
static tc_tensor of_reals(tc_graph *g, tc_site at, tc_operand a, tc_operand b, steps *function)
{
    tc_tensor x, y;
    if (!tc_align(g, a, b, &x, &y) || !tc_check_float(g, &x->type))
        return tc_poison();
    return in_f32(g, at, x, y, function);
}

tc_tensor tc_complex_at(tc_site at, tc_operand re, tc_operand im)
{
    tc_graph *g = tc_op_enter_two(at, "tc_complex", "complex", re, im);
    return g ? tc_op_leave(g, of_reals(g, at, re, im, paired)) : tc_poison();
}

tc_tensor tc_polar_at(tc_site at, tc_operand r, tc_operand angle)
{
    tc_graph *g = tc_op_enter_two(at, "tc_polar", "polar", r, angle);
    return g ? tc_op_leave(g, of_reals(g, at, r, angle, polar)) : tc_poison();
}

/* -- of one ------------------------------------------------------------------------------------------------------ */

static tc_tensor conjugate(tc_site at, tc_tensor re, tc_tensor im)
{
    tc_tensor less = tc_neg_at(at, im);
    return paired(at, re, less);
}

static tc_tensor exponential(tc_site at, tc_tensor re, tc_tensor im)
{
    tc_tensor r = tc_exp_at(at, re);
    return polar(at, r, im);
}

static tc_tensor magnitude(tc_site at, tc_tensor re, tc_tensor im)
{
    return tc_hypot_at(at, TC_OPERAND(re), TC_OPERAND(im));
}

static tc_tensor angle(tc_site at, tc_tensor re, tc_tensor im)
{
    return tc_atan2_at(at, TC_OPERAND(im), TC_OPERAND(re));
}

static tc_tensor logarithm(tc_site at, tc_tensor re, tc_tensor im)
{
    tc_tensor r = tc_log_at(at, magnitude(at, re, im)), turned = angle(at, re, im);
    return paired(at, r, turned);
}

/* function(at, re, im) of x, in f32 where it has 16 bits. */
static tc_tensor of_one(tc_graph *g, tc_site at, tc_tensor x, steps *function)
{
    if (!is_pairs(g, x))
        return tc_poison();
    const tc_dtype dtype = x->type.dtype;
    x = tc_prim_widen(g, x);
    tc_tensor re = part(at, x, 0), im = part(at, x, 1);
    return tc_prim_narrow(g, function(at, re, im), dtype);
}

#define OF_ONE(name, function)                                                                                         \
    tc_tensor tc_##name##_at(tc_site at, tc_tensor x)                                                                  \
    {                                                                                                                  \
        tc_graph *g = tc_op_enter(at, "tc_" #name, #name, "x", 1, &x);                                                 \
        return g ? tc_op_leave(g, of_one(g, at, x, function)) : tc_poison();                                           \
    }

OF_ONE(complex_conj, conjugate)
OF_ONE(complex_exp, exponential)
OF_ONE(complex_log, logarithm)
OF_ONE(complex_abs, magnitude)
OF_ONE(complex_angle, angle)

/* -- of two ------------------------------------------------------------------------------------------------------ */

static tc_tensor elementwise(tc_site at, tc_tensor x, tc_tensor y)
{
    return MUL(x, y);
}

static tc_tensor product(tc_site at, tc_tensor x, tc_tensor y, steps *multiply)
{
    tc_tensor a = part(at, x, 0), b = part(at, x, 1), c = part(at, y, 0), d = part(at, y, 1);
    tc_tensor ac = multiply(at, a, c), bd = multiply(at, b, d), ad = multiply(at, a, d), bc = multiply(at, b, c);
    tc_tensor re = SUB(ac, bd), im = ADD(ad, bc);
    return paired(at, re, im);
}

static tc_tensor complex_mul(tc_site at, tc_tensor x, tc_tensor y)
{
    return product(at, x, y, elementwise);
}

static tc_tensor complex_matmul(tc_site at, tc_tensor x, tc_tensor y)
{
    return product(at, x, y, tc_matmul_at);
}

/* Divisors are scaled by their larger part, so that their squares are finite. */
static tc_tensor complex_div(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_tensor a = part(at, x, 0), b = part(at, x, 1), c = part(at, y, 0), d = part(at, y, 1);
    tc_tensor c_size = tc_abs_at(at, c), d_size = tc_abs_at(at, d), most = MAXIMUM(c_size, d_size);
    tc_tensor c_part = DIV(c, most), d_part = DIV(d, most), cc = MUL(c, c_part), dd = MUL(d, d_part), by = ADD(cc, dd);
    tc_tensor ac = MUL(a, c_part), bd = MUL(b, d_part), bc = MUL(b, c_part), ad = MUL(a, d_part);
    tc_tensor re = ADD(ac, bd), im = SUB(bc, ad);
    re = DIV(re, by);
    im = DIV(im, by);
    return paired(at, re, im);
}

static tc_tensor of_two(tc_graph *g, tc_site at, tc_tensor x, tc_tensor y, steps *function)
{
    if (!tc_check_same_dtype(g, &x->type, &y->type) || !is_pairs(g, x) || !is_pairs(g, y))
        return tc_poison();
    return in_f32(g, at, x, y, function);
}

#define OF_TWO(name)                                                                                                   \
    tc_tensor tc_##name##_at(tc_site at, tc_tensor x, tc_tensor y)                                                     \
    {                                                                                                                  \
        tc_graph *g = tc_op_enter(at, "tc_" #name, #name, "x y", 2, (tc_tensor[]){x, y});                              \
        return g ? tc_op_leave(g, of_two(g, at, x, y, name)) : tc_poison();                                            \
    }

OF_TWO(complex_mul)
OF_TWO(complex_div)

tc_tensor tc_complex_matmul_at(tc_site at, tc_tensor x, tc_tensor y)
{
    tc_graph *g = tc_op_enter(at, "tc_complex_matmul", "complex_matmul", "x y", 2, (tc_tensor[]){x, y});
    if (!g)
        return tc_poison();
    if (x->type.rank < 3 || y->type.rank < 3) {
        tc_fail(g, "[..., m, k, 2] and [..., k, n, 2]", "matrices of complex numbers, not %s and %s",
                tc_type_text(g, &x->type), tc_type_text(g, &y->type));
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, of_two(g, at, x, y, complex_matmul));
}
