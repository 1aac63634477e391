/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of optimizers.
 */
#include "compose.h"

/* What a step is computed from, in f32 where it has 16 bits. */
typedef struct operands {
    tc_tensor x, gradient, rate, step, squares, momentum;
} operands;

static bool like_x(tc_graph *g, const tc_type *x, const char *name, tc_tensor p)
{
    bool good = p->type.dtype == x->dtype && p->type.rank == x->rank;
    for (int i = 0; good && i < x->rank; ++i)
        good = tc_same_dim(g, p->type.shape[i], x->shape[i]);
    if (!good)
        tc_fail(g, "it has x's dtype and shape", "%s is %s for x %s", name, tc_type_text(g, &p->type),
                tc_type_text(g, x));
    return good;
}

/* A number: rank 0, or one element. */
static tc_tensor number(tc_graph *g, const char *name, tc_tensor p, tc_dtype dtype)
{
    if (p->type.dtype == dtype && !p->type.rank)
        return p;
    if (p->type.dtype == dtype && p->type.rank == 1 && tc_expr_is(p->type.shape[0], 1))
        return tc_prim_reshape(g, p, 0, NULL);
    tc_fail(g, NULL, "%s is %s, not one %s", name, tc_type_text(g, &p->type), tc_dtype_name(dtype));
    return tc_poison();
}

/* Checks and widens: which of squares and momentum there are, is the optimizer's; G is added up. */
static bool read_operands(tc_graph *g, const tc_optimizer_args *args, bool squares, bool momentum, bool nesterov,
                          operands *out)
{
    const tc_site at = args->at;
    const tc_type *x = &args->x->type;
    if (!tc_check_float(g, x))
        return false;
    if (!args->squares != !squares || !args->momentum != !momentum || (!squares && args->squares_next) ||
        (!momentum && args->momentum_next) || (args->nesterov && !nesterov)) {
        tc_fail(g, "adagrad: .squares; adam: .squares and .momentum; momentum: .momentum, .nesterov",
                "what is remembered is left out, or another optimizer's");
        return false;
    }
    if (!like_x(g, x, "gradient", args->gradient) || (squares && !like_x(g, x, "squares", args->squares)) ||
        (momentum && !like_x(g, x, "momentum", args->momentum)))
        return false;
    tc_tensor rate = number(g, "rate", args->rate, x->dtype), step = number(g, "step", args->step, TC_I64);
    if (tc_is_poison(rate) || tc_is_poison(step))
        return false;
    *out = (operands){.step = step};
    out->x = tc_prim_widen(g, args->x);
    out->gradient = tc_prim_widen(g, args->gradient);
    out->rate = tc_prim_widen(g, rate);
    out->squares = tc_prim_widen(g, args->squares);
    out->momentum = tc_prim_widen(g, args->momentum);
    if (args->norm != 0)
        out->gradient = ADD(out->gradient, MUL(out->x, args->norm));
    return true;
}

static void give(tc_graph *g, const tc_optimizer_args *args, tc_tensor *to, tc_tensor x)
{
    if (to)
        *to = tc_prim_narrow(g, x, args->x->type.dtype);
}

static tc_tensor adagrad(tc_graph *g, const tc_optimizer_args *args)
{
    const tc_site at = args->at;
    operands o;
    if (!read_operands(g, args, true, false, false, &o))
        return tc_poison();
    tc_tensor squares = ADD(o.squares, MUL(o.gradient, o.gradient)), size = ADD(tc_sqrt_at(at, squares), args->eps);
    tc_tensor steps = tc_prim_cast(g, o.step, o.x->type.dtype), rate = DIV(o.rate, ADD(MUL(steps, args->decay), 1));
    give(g, args, args->squares_next, squares);
    return SUB(o.x, DIV(MUL(o.gradient, rate), size));
}

static tc_tensor adam(tc_graph *g, const tc_optimizer_args *args)
{
    const tc_site at = args->at;
    operands o;
    if (!read_operands(g, args, true, true, false, &o))
        return tc_poison();
    tc_tensor kept = MUL(o.momentum, args->alpha), momentum = ADD(kept, MUL(o.gradient, 1 - args->alpha));
    kept = MUL(o.squares, args->beta);
    tc_tensor squares = ADD(kept, MUL(MUL(o.gradient, o.gradient), 1 - args->beta));
    tc_tensor size = ADD(tc_sqrt_at(at, squares), args->eps), steps = tc_prim_cast(g, o.step, o.x->type.dtype);
    tc_tensor above = tc_sqrt_at(at, SUB(1, tc_pow_at(at, TC_OPERAND(args->beta), TC_OPERAND(steps))));
    tc_tensor below = SUB(1, tc_pow_at(at, TC_OPERAND(args->alpha), TC_OPERAND(steps)));
    tc_tensor adjusted = DIV(MUL(o.rate, above), below), rate = WHERE(GT(o.step, 0), adjusted, o.rate);
    give(g, args, args->momentum_next, momentum);
    give(g, args, args->squares_next, squares);
    tc_tensor next = SUB(o.x, DIV(MUL(momentum, rate), size));
    return args->norm_post != 0 ? MUL(next, 1 - args->norm_post) : next;
}

static tc_tensor momentum_step(tc_graph *g, const tc_optimizer_args *args)
{
    const tc_site at = args->at;
    operands o;
    if (!read_operands(g, args, false, true, true, &o))
        return tc_poison();
    tc_tensor factor = tc_cast_at(at, WHERE(GT(o.step, 0), args->beta, 1.0), o.x->type.dtype);
    tc_tensor added = MUL(o.gradient, factor), next = ADD(MUL(o.momentum, args->alpha), added);
    give(g, args, args->momentum_next, next);
    tc_tensor along = args->nesterov ? ADD(o.gradient, MUL(next, args->alpha)) : next;
    return SUB(o.x, MUL(along, o.rate));
}

static tc_tensor entered(const tc_optimizer_args *args, const char *name,
                         tc_tensor body(tc_graph *, const tc_optimizer_args *))
{
    tc_graph *g = tc_op_enter(args->at, name, name + 3, "x gradient rate step ?squares ?momentum", 6,
                              (tc_tensor[]){args->x, args->gradient, args->rate, args->step, args->squares,
                                            args->momentum});
    if (args->squares_next)
        *args->squares_next = tc_poison();
    if (args->momentum_next)
        *args->momentum_next = tc_poison();
    if (!g)
        return tc_poison();
    tc_tensor y = body(g, args);
    return tc_op_leave(g, tc_is_poison(y) ? y : tc_prim_narrow(g, y, args->x->type.dtype));
}

tc_tensor tc_adagrad_at(const tc_optimizer_args *args)
{
    return entered(args, "tc_adagrad", adagrad);
}

tc_tensor tc_adam_at(const tc_optimizer_args *args)
{
    return entered(args, "tc_adam", adam);
}

tc_tensor tc_momentum_at(const tc_optimizer_args *args)
{
    return entered(args, "tc_momentum", momentum_step);
}
