/* SPDX-License-Identifier: Apache-2.0
 *
 * Philox 4x32-10 in 64-bit integer arithmetic, and what is drawn from it.
 */
#include "compose.h"

#define WORD INT64_C(0xffffffff) /* an i64 that holds a word of 32 bits */

enum { ROUNDS = 10 };

/* A seed or offset as i64 of rank 0. */
static tc_tensor number_of(tc_graph *g, const char *name, tc_operand x)
{
    if (x.kind != TC_OPERAND_TENSOR)
        return tc_constant_of(g, TC_I64, x);
    const tc_type *type = &x.tensor->type;
    if (type->dtype != TC_I64 || !tc_expr_is(tc_element_count(g, type), 1)) {
        tc_fail(g, "a state or an input of type i64", "the %s is %s; it is one i64", name, tc_type_text(g, type));
        return tc_poison();
    }
    return tc_prim_reshape(g, x.tensor, 0, NULL);
}

static tc_tensor low_word(tc_site at, tc_tensor x)
{
    return BIT_AND(x, WORD);
}

static tc_tensor high_word(tc_site at, tc_tensor x)
{
    return low_word(at, SHIFT_RIGHT(x, 32));
}

/* One round: counter word 0 times M0 and word 2 times M1, each product of 64 bits split in two words. */
static void philox_round(tc_site at, tc_tensor c[4], const tc_tensor key[2])
{
    tc_tensor first = MUL(c[0], INT64_C(0xd2511f53)), second = MUL(c[2], INT64_C(0xcd9e8d57));
    tc_tensor mixed0 = BIT_XOR(high_word(at, second), c[1]), mixed2 = BIT_XOR(high_word(at, first), c[3]);
    c[0] = BIT_XOR(mixed0, key[0]);
    c[1] = low_word(at, second);
    c[2] = BIT_XOR(mixed2, key[1]);
    c[3] = low_word(at, first);
}

/* The four words of every block 0, 1, ... blocks - 1, each a tensor [blocks]. */
static void philox(tc_site at, tc_graph *g, tc_tensor seed, tc_tensor offset, const tc_expr *blocks, tc_tensor c[4])
{
    tc_tensor block = tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {blocks}});
    tc_tensor stream[2] = {low_word(at, offset), high_word(at, offset)};
    tc_tensor key[2] = {low_word(at, seed), high_word(at, seed)};
    c[0] = low_word(at, block);
    c[1] = high_word(at, block);
    for (int i = 0; i < 2; ++i)
        c[2 + i] = tc_broadcast_to(g, stream[i], 1, &blocks);
    for (int round = 0; round < ROUNDS; ++round) {
        philox_round(at, c, key);
        tc_tensor golden = ADD(key[0], INT64_C(0x9e3779b9)), silver = ADD(key[1], INT64_C(0xbb67ae85));
        key[0] = low_word(at, golden);
        key[1] = low_word(at, silver);
    }
}

/* The upper 24 bits times 2^-24. */
static tc_tensor uniform(tc_site at, tc_tensor word)
{
    return MUL(tc_cast_at(at, SHIFT_RIGHT(word, 8), TC_F32), 0x1p-24);
}

static void words_as_they_are(tc_site at, tc_tensor c[4])
{
    (void)at;
    (void)c;
}

static void words_to_uniform(tc_site at, tc_tensor c[4])
{
    for (int i = 0; i < 4; ++i)
        c[i] = uniform(at, c[i]);
}

static void words_to_normal(tc_site at, tc_tensor c[4])
{
    for (int i = 0; i < 4; i += 2) {
        tc_tensor u = ADD(uniform(at, c[i]), 0x1p-24), angle = MUL(uniform(at, c[i + 1]), 6.28318530717958647693);
        tc_tensor radius = tc_sqrt_at(at, MUL(tc_log_at(at, u), -2));
        c[i] = MUL(radius, tc_cos_at(at, angle));
        c[i + 1] = MUL(radius, tc_sin_at(at, angle));
    }
}

/* Element i is word i mod 4 of block i / 4, as `draw` turns the words of a block into values. */
static tc_tensor draw(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, const tc_type *type,
                      void (*draw_block)(tc_site at, tc_tensor c[4]))
{
    tc_tensor key = number_of(g, "seed", seed), stream = number_of(g, "offset", offset), c[4];
    if (tc_is_poison(key) || tc_is_poison(stream))
        return tc_poison();
    const tc_expr *count = tc_element_count(g, type), *four = tc_expr_const(&g->dims, 4);
    const tc_expr *blocks = tc_expr_floordiv(tc_expr_add_int(count, 3), four);
    philox(at, g, key, stream, blocks, c);
    draw_block(at, c);
    for (int i = 0; i < 4; ++i)
        c[i] = tc_unsqueeze_at(at, c[i], 1);
    tc_tensor all = tc_flatten_at(at, tc_concat_at(at, 1, 4, c), 0);
    all = tc_slice_at(at, all, 0, tc_dim_of(g->dims.zero), tc_dim_of(count), 1);
    return tc_is_poison(all) ? all : tc_prim_reshape(g, all, type->rank, type->shape);
}

static tc_tensor drawn(tc_site at, tc_graph *g, const char *name, const char *region, tc_operand seed,
                       tc_operand offset, int count, const tc_dim *dtype_and_shape,
                       void (*draw_block)(tc_site at, tc_tensor c[4]))
{
    tc_type type;
    if (!tc_op_enter_graph(g, at, name, region))
        return tc_poison();
    if (!tc_read_type(g, count, dtype_and_shape, &type))
        return tc_op_leave(g, tc_poison());
    return tc_op_leave(g, draw(at, g, seed, offset, &type, draw_block));
}

tc_tensor tc_random_bits_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                            const tc_dim *dtype_and_shape)
{
    return drawn(at, g, "tc_random_bits", "random_bits", seed, offset, count, dtype_and_shape, words_as_they_are);
}

tc_tensor tc_random_uniform_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                               const tc_dim *dtype_and_shape)
{
    return drawn(at, g, "tc_random_uniform", "random_uniform", seed, offset, count, dtype_and_shape, words_to_uniform);
}

tc_tensor tc_random_normal_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                              const tc_dim *dtype_and_shape)
{
    return drawn(at, g, "tc_random_normal", "random_normal", seed, offset, count, dtype_and_shape, words_to_normal);
}

static tc_tensor dropout(tc_site at, tc_graph *g, tc_tensor x, double p, tc_operand seed, tc_operand offset)
{
    if (!(p >= 0 && p <= 1)) {
        tc_fail(g, NULL, "the probability %g is outside 0..1", p);
        return tc_poison();
    }
    if (!tc_dtype_is_float(x->type.dtype)) {
        tc_fail(g, NULL, "needs floats, not %s", tc_type_text(g, &x->type));
        return tc_poison();
    }
    tc_tensor u = draw(at, g, seed, offset, &x->type, words_to_uniform);
    if (tc_is_poison(u))
        return u;
    tc_tensor kept = GE(u, p), grown = MUL(tc_prim_widen(g, x), p < 1 ? 1 / (1 - p) : 0);
    return WHERE(kept, tc_prim_narrow(g, grown, x->type.dtype), 0);
}

tc_tensor tc_dropout_at(tc_site at, tc_tensor x, double p, tc_operand seed, tc_operand offset)
{
    tc_graph *g = tc_op_enter(at, "tc_dropout", "dropout", "x", 1, &x);
    return g ? tc_op_leave(g, dropout(at, g, x, p, seed, offset)) : tc_poison();
}

/* -- what is drawn from uniform numbers ---------------------------------------------------------------------------- */

/* Words of 32 bits times the number of integers, without the lower 32 bits: each integer for equally many words, or one
 * more. */
tc_tensor tc_random_integers_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int64_t low, int64_t high,
                                int count, const tc_dim *dtype_and_shape)
{
    tc_type type;
    if (!tc_op_enter_graph(g, at, "tc_random_integers", "random_integers"))
        return tc_poison();
    if (!tc_read_type(g, count, dtype_and_shape, &type))
        return tc_op_leave(g, tc_poison());
    if (high <= low || low < -(INT64_C(1) << 62) || high > INT64_C(1) << 62 || high - low > INT64_C(1) << 31) {
        tc_fail(g, "low < high, at most 2^31 integers", "no integers %lld..%lld", (long long)low, (long long)high - 1);
        return tc_op_leave(g, tc_poison());
    }
    tc_tensor words = draw(at, g, seed, offset, &type, words_as_they_are);
    return tc_op_leave(g, ADD(SHIFT_RIGHT(MUL(words, high - low), 32), low));
}

tc_tensor tc_random_permutation_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, tc_dim size)
{
    if (!tc_op_enter_graph(g, at, "tc_random_permutation", "random_permutation"))
        return tc_poison();
    const tc_type type = {.dtype = TC_I64, .rank = 1, .shape = {tc_dim_expr(g, size)}};
    if (!tc_at_least(g, type.shape[0], g->dims.zero)) {
        tc_fail(g, NULL, "%s elements", tc_expr_text(type.shape[0]));
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_argsort_at(at, draw(at, g, seed, offset, &type, words_as_they_are), 0, false));
}

tc_tensor tc_bernoulli_at(tc_site at, tc_tensor p, tc_operand seed, tc_operand offset)
{
    tc_graph *g = tc_op_enter(at, "tc_bernoulli", "bernoulli", "p", 1, &p);
    if (!g)
        return tc_poison();
    if (!tc_dtype_is_float(p->type.dtype)) {
        tc_fail(g, NULL, "the probabilities are floats, not %s", tc_type_text(g, &p->type));
        return tc_op_leave(g, tc_poison());
    }
    tc_type type = p->type;
    type.dtype = TC_F32;
    tc_tensor u = tc_cast_at(at, draw(at, g, seed, offset, &type, words_to_uniform),
                             p->type.dtype == TC_F64 ? TC_F64 : TC_F32);
    tc_tensor wide = tc_prim_widen(g, p);
    return tc_op_leave(g, tc_cast_at(at, LT(u, wide), p->type.dtype));
}

/* -log(1 - u), of u in [0, 1 - 2^-24]; +0 of 0 */
static void words_to_exponential(tc_site at, tc_tensor c[4])
{
    for (int i = 0; i < 4; ++i)
        c[i] = tc_abs_at(at, tc_log_at(at, SUB(1, uniform(at, c[i]))));
}

tc_tensor tc_random_exponential_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                                   const tc_dim *dtype_and_shape)
{
    return drawn(at, g, "tc_random_exponential", "random_exponential", seed, offset, count, dtype_and_shape,
                 words_to_exponential);
}

/* Without replacement: a class is first in a race of exponential times with these rates as often as its share is. With:
 * where each uniform number falls among the prefix sums. */
static tc_tensor multinomial(tc_site at, tc_graph *g, tc_tensor p, const tc_expr *count, bool replacement,
                             tc_operand seed, tc_operand offset)
{
    const int last = p->type.rank - 1;
    if (p->type.dtype != TC_F32 || p->type.rank < 1 || p->type.rank > 2) {
        tc_fail(g, "[classes] or [rows, classes]", "the shares are f32 of rank 1 or 2, not %s",
                tc_type_text(g, &p->type));
        return tc_poison();
    }
    tc_type type = p->type;
    tc_tensor places;
    if (!replacement) {
        /* a time of 0 is half of the least other one: a share of 0 stays 0 */
        tc_tensor times = MAXIMUM(draw(at, g, seed, offset, &type, words_to_exponential), 0x1p-25);
        tc_topk_at(at, DIV(p, times), tc_dim_of(count), last, true, &places);
        return places;
    }
    type.shape[last] = count;
    if (!tc_at_least(g, count, g->dims.zero)) {
        tc_fail(g, NULL, "%s choices", tc_expr_text(count));
        return tc_poison();
    }
    tc_tensor sums = tc_prim_cumulative(g, p, "sum", last, false),
              total = tc_slice_at(at, sums, last, tc_dim_int_(-1), tc_dim_int_(TC_END), 1);
    tc_tensor mark = MUL(draw(at, g, seed, offset, &type, words_to_uniform), total);
    return tc_searchsorted_at(at, sums, mark, true);
}

tc_tensor tc_multinomial_at(tc_site at, tc_tensor p, tc_dim count, bool replacement, tc_operand seed, tc_operand offset)
{
    tc_graph *g = tc_op_enter(at, "tc_multinomial", "multinomial", "p", 1, &p);
    return g ? tc_op_leave(g, multinomial(at, g, p, tc_dim_expr(g, count), replacement, seed, offset)) : tc_poison();
}
