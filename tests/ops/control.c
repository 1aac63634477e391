/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops and conditions: TC_SCAN, TC_WHILE, TC_IF, alone, within each other and around everything else.
 */
#include <tensor_compile/model.h>

#define SIZES TC_UNUSED tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 1, 64)

TC_MODEL(control)
{
    tc_weights(g, "control.weights");
}

/* A carry that is read at all points, one that is updated in place, slices, stacked results, tensors from around. */
TC_FUNCTION(op_scan)
{
    SIZES;
    tc_tensor xs = tc_input(g, "xs", TC_F32, n, m, 8), h = tc_input(g, "h", TC_F32, m, 8);
    tc_tensor bias = tc_input(g, "bias", TC_F32, 8), w = tc_weight(g, "w"), total = tc_full(g, 0, TC_F32, m), all, sums;
    bias = tc_exp(bias);
    TC_SCAN(g, n, &h, &total) {
        tc_tensor x = tc_each(xs);
        h = tc_tanh(tc_add(tc_add(tc_matmul(h, w), x), bias));
        total = tc_add(total, tc_sum(h, 1));
        tc_collect(h, &all);
        tc_collect(total, &sums);
    }
    tc_output(g, "last", h);
    tc_output(g, "total", total);
    tc_output(g, "all", all);
    tc_output(g, "sums", sums);
}

/* A sort of what a turn reads from around it, at the order that the turns before left. */
TC_FUNCTION(op_scan_sort)
{
    SIZES;
    tc_tensor xs = tc_round(tc_input(g, "xs", TC_F32, n, m)), order = tc_arange(g, TC_I64, m), places;
    TC_SCAN(g, n, &order) {
        tc_sort(tc_gather(tc_each(xs), order, 0), 0, false, &places);
        order = tc_gather(order, places, 0);
    }
    tc_output(g, "order", order);
}

/* No carries (a map), two that change places, one that is never read, and a result nobody needs. */
TC_FUNCTION(op_scan_kinds)
{
    SIZES;
    tc_tensor xs = tc_input(g, "xs", TC_F32, n, m), a = tc_input(g, "a", TC_F32, m), b = tc_input(g, "b", TC_F32, m);
    tc_tensor squares, unused, last = a;
    TC_SCAN(g, n) {
        tc_tensor x = tc_each(xs);
        tc_collect(tc_mul(x, x), &squares);
        tc_collect(tc_exp(x), &unused);
    }
    TC_SCAN(g, n, &a, &b, &last) {
        tc_tensor was = a;
        a = tc_add(b, tc_each(squares));
        b = was;
        last = tc_each(xs);
    }
    tc_output(g, "squares", squares);
    tc_output(g, "a_n", a);
    tc_output(g, "b_n", b);
    tc_output(g, "last", last);
}

/* Newton's square roots: turns for as long as any element moves. */
TC_FUNCTION(op_while)
{
    SIZES;
    tc_tensor a = tc_add(tc_abs(tc_input(g, "a", TC_F32, m)), 1), guess = a, count = tc_full(g, 0, TC_I64);
    tc_tensor moved = tc_add(a, 1);
    TC_WHILE(g, &guess, &moved, &count) {
        tc_test(tc_logical_and(tc_any(tc_gt(tc_abs(moved), 1e-3)), tc_lt(count, 50)));
        tc_tensor next = tc_mul(tc_add(guess, tc_div(a, guess)), 0.5);
        moved = tc_sub(guess, next);
        guess = next;
        count = tc_add(count, 1);
    }
    tc_output(g, "root", guess);
    tc_output(g, "turns", count);
}

/* A test that is false at once leaves everything as it was. */
TC_FUNCTION(op_while_never)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, m);
    TC_WHILE(g, &x) {
        tc_test(tc_any(tc_lt(tc_abs(x), -1)));
        x = tc_exp(x);
    }
    tc_output(g, "y", x);
}

static void choose(tc_graph *g)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, m, 8), y = x, z = tc_neg(x);
    TC_IF(g, tc_gt(tc_sum(x, 0, 1), 0), &y, &z) {
        y = tc_softmax(x, 1);
        z = tc_matmul(x, tc_weight(g, "w"));
    }
    TC_ELSE(g) {
        y = tc_mul(y, 2);
    }
    tc_output(g, "y", y);
    tc_output(g, "z", tc_add(z, 1));
}

TC_FUNCTION(op_if)
{
    choose(g);
}

TC_FUNCTION(op_if_not)
{
    choose(g);
}

/* A condition of each turn, a loop in it; a state is read as it was at entry. */
TC_FUNCTION(op_nested)
{
    SIZES;
    tc_tensor xs = tc_input(g, "xs", TC_F32, n, m), c = tc_input(g, "c", TC_F32, m), all;
    TC_SCAN(g, n, &c) {
        tc_tensor x = tc_each(xs), y = x;
        TC_IF(g, tc_gt(tc_sum(x, 0), tc_sum(c, 0)), &y) {
            tc_tensor turns = tc_full(g, 0, TC_I32);
            TC_WHILE(g, &y, &turns) {
                tc_test(tc_lt(turns, 3));
                y = tc_add(tc_mul(y, 0.5), c);
                turns = tc_add(turns, 1);
            }
        }
        TC_ELSE(g) {
            TC_SCAN(g, 2, &y) {
                y = tc_sub(y, tc_mean(c, 0));
            }
        }
        c = tc_tanh(y);
        tc_collect(tc_amax(y, 0), &all);
    }
    tc_output(g, "c_n", c);
    tc_output(g, "all", all);
}

/* Greedy decoding: each turn looks the last token up; the loop ends at a token that means it, or when it is full. */
TC_FUNCTION(op_greedy)
{
    SIZES;
    tc_tensor first = tc_input(g, "index", TC_I64), table = tc_weight(g, "embedding"), w = tc_weight(g, "w");
    tc_tensor tokens = tc_full(g, -1, TC_I64, m), at = tc_full(g, 0, TC_I64), token = first;
    tc_tensor h = tc_input(g, "h", TC_F32, 1, 8);
    TC_WHILE(g, &tokens, &at, &token, &h) {
        tc_test(tc_logical_and(tc_lt(at, tc_dim_value(g, TC_I64, m)), tc_ne(token, 49)));
        tokens = tc_where(tc_eq(tc_arange(g, TC_I64, m), at), token, tokens);
        h = tc_tanh(tc_add(tc_matmul(h, w), tc_embedding(tc_reshape(token, 1), table)));
        token = tc_argmax(tc_reshape(tc_matmul(h, tc_transpose(table, 0, 1)), 50), 0);
        at = tc_add(at, 1);
    }
    tc_output(g, "tokens", tokens);
    tc_output(g, "count", at);
    tc_output(g, "h_n", h);
}

/* An input is walked and looked up by; what it may hold is looked at before the first turn. */
TC_FUNCTION(op_walked_index)
{
    SIZES;
    tc_tensor index = tc_input(g, "index", TC_I64, n, 3), c = tc_input(g, "c", TC_F32, 3, 8);
    tc_tensor table = tc_weight(g, "embedding");
    TC_SCAN(g, n, &c) {
        c = tc_mul(tc_add(c, tc_embedding(tc_each(index), table)), 0.5);
    }
    tc_output(g, "c_n", c);
}
