/* SPDX-License-Identifier: Apache-2.0
 *
 * What operations made of others are written with. `at`, the caller's line, is in scope; operands of two-operand forms
 * are tensors or C numbers.
 *
 * Of the arguments of a call at most one may make nodes: C leaves open which argument is evaluated first, and the
 * recorded graph must not depend on the compiler. Name the others before.
 */
#ifndef TC_CAPTURE_COMPOSE_H
#define TC_CAPTURE_COMPOSE_H

#include "internal.h"

#define ADD(a, b) tc_add_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define SUB(a, b) tc_sub_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define MUL(a, b) tc_mul_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define DIV(a, b) tc_div_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define REM(a, b) tc_rem_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define MAXIMUM(a, b) tc_maximum_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define MINIMUM(a, b) tc_minimum_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define EQ(a, b) tc_eq_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define NE(a, b) tc_ne_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define LT(a, b) tc_lt_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define LE(a, b) tc_le_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define GT(a, b) tc_gt_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define GE(a, b) tc_ge_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define AND(a, b) tc_logical_and_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define OR(a, b) tc_logical_or_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define WHERE(p, a, b) tc_where_at(at, p, TC_OPERAND(a), TC_OPERAND(b))
#define BIT_AND(a, b) tc_bit_and_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define BIT_XOR(a, b) tc_bit_xor_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define SHIFT_LEFT(a, b) tc_shift_left_at(at, TC_OPERAND(a), TC_OPERAND(b))
#define SHIFT_RIGHT(a, b) tc_shift_right_at(at, TC_OPERAND(a), TC_OPERAND(b))

/* tc_<name>_at(at, x): a region of this name whose result is the expression. */
#define COMPOSE(name, expression)                                                                                      \
    tc_tensor tc_##name##_at(tc_site at, tc_tensor x)                                                                  \
    {                                                                                                                  \
        tc_graph *g = tc_op_enter(at, "tc_" #name, #name, "x", 1, &x);                                                 \
        return g ? tc_op_leave(g, expression) : tc_poison();                                                           \
    }

/* The same where several steps round: the expression's x is in f32 where it has 16 bits, and its result is rounded
 * once. */
#define COMPOSE_WIDE(name, expression) COMPOSE_WIDE_OF(name, (tc_site at, tc_tensor x), expression)
/* The same of a number beside x. */
#define COMPOSE_WIDE_WITH(name, number, expression)                                                                    \
    COMPOSE_WIDE_OF(name, (tc_site at, tc_tensor x, double number), expression)
#define COMPOSE_WIDE_OF(name, parameters, expression)                                                                  \
    tc_tensor tc_##name##_at parameters                                                                                \
    {                                                                                                                  \
        tc_graph *g = tc_op_enter(at, "tc_" #name, #name, "x", 1, &x);                                                 \
        if (!g)                                                                                                        \
            return tc_poison();                                                                                        \
        const tc_dtype dtype = x->type.dtype;                                                                          \
        x = tc_prim_widen(g, x);                                                                                       \
        return tc_op_leave(g, tc_prim_narrow(g, expression, dtype));                                                   \
    }

/* tc_<name>_at(at, a, b) of operands that are aligned to one dtype and shape: function(at, x, y) of them in f32 where
 * they have 16 bits, rounded once. */
#define COMPOSE_TWO(name, function)                                                                                    \
    tc_tensor tc_##name##_at(tc_site at, tc_operand a, tc_operand b)                                                   \
    {                                                                                                                  \
        tc_graph *g = tc_op_enter_two(at, "tc_" #name, #name, a, b);                                                   \
        tc_tensor x, y;                                                                                                \
        if (!g)                                                                                                        \
            return tc_poison();                                                                                        \
        if (!tc_align(g, a, b, &x, &y))                                                                                \
            return tc_op_leave(g, tc_poison());                                                                        \
        const tc_dtype dtype = x->type.dtype;                                                                          \
        x = tc_prim_widen(g, x);                                                                                       \
        y = tc_prim_widen(g, y);                                                                                       \
        return tc_op_leave(g, tc_prim_narrow(g, function(at, x, y), dtype));                                           \
    }

/* Enters an operation of two operands, at least one of which is a tensor. */
tc_graph *tc_op_enter_two(tc_site at, const char *name, const char *region, tc_operand a, tc_operand b);

/* Operands as tensors of one dtype and shape; false where that was reported or one is poisoned. */
bool tc_align(tc_graph *g, tc_operand a, tc_operand b, tc_tensor *x, tc_tensor *y);

#endif
