/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows, and the weights of mel bands.
 */
#include <math.h>

#include "compose.h"

static tc_tensor window(tc_graph *g, tc_site at, const tc_expr *size, bool periodic, double a, double b, double c)
{
    tc_tensor i = tc_cast_at(at, tc_prim_iota(g, 0, &(tc_type){.dtype = TC_I64, .rank = 1, .shape = {size}}), TC_F64);
    const tc_expr *period = periodic ? size : tc_expr_max(tc_expr_add_int(size, -1), g->dims.one);
    tc_tensor n = tc_size_value(g, TC_F64, period), angle = DIV(MUL(i, 6.28318530717958647692), n);
    tc_tensor once = MUL(tc_cos_at(at, angle), b), w = SUB(a, once);
    if (c == 0)
        return w;
    tc_tensor twice = MUL(tc_cos_at(at, MUL(angle, 2)), c);
    return ADD(w, twice);
}

tc_tensor tc_cosine_window_at(tc_site at, const char *name, tc_graph *g, tc_dtype dtype, tc_dim size, bool periodic,
                              double a, double b, double c)
{
    if (!tc_op_enter_graph(g, at, name, name + 3))
        return tc_poison();
    const tc_expr *count = tc_dim_expr(g, size);
    if (!tc_check_number(g, dtype))
        return tc_op_leave(g, tc_poison());
    if (!tc_at_least(g, count, g->dims.zero)) {
        tc_fail(g, NULL, "a window of %s", tc_expr_text(count));
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_cast_at(at, window(g, at, count, periodic, a, b, c), dtype));
}

/* -- mel --------------------------------------------------------------------------------------------------------- */

enum { MOST_BINS = 1024 };

static double mel_of(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* The elements of [bins] that band edges `from`, `from` + 1, ... are, each where it lies in the spectrum. */
static tc_tensor edges(tc_graph *g, int bins, const double *places, int from)
{
    tc_tensor parts[MOST_BINS];
    for (int i = 0; i < bins; ++i)
        parts[i] = tc_prim_broadcast(g, tc_constant_of(g, TC_F64, tc_operand_float_(places[from + i])), 1, &g->dims.one,
                                     NULL);
    return bins == 1 ? parts[0] : tc_prim_concat(g, 0, bins, parts);
}

static tc_tensor mel_weights(tc_graph *g, tc_site at, int bins, int length, double rate, double low, double high)
{
    double places[MOST_BINS + 2];
    const double first = mel_of(low), step = (mel_of(high) - first) / (bins + 2);
    for (int i = 0; i < bins + 2; ++i)
        places[i] = floor((length + 1) * (700 * (pow(10, (i * step + first) / 2595) - 1)) / rate);
    const tc_type type = {.dtype = TC_I64,
                          .rank = 2,
                          .shape = {tc_expr_const(&g->dims, length / 2 + 1), tc_expr_const(&g->dims, bins)}};
    tc_tensor j = tc_cast_at(at, tc_prim_iota(g, 0, &type), TC_F64);
    tc_tensor left = edges(g, bins, places, 0), top = edges(g, bins, places, 1), right = edges(g, bins, places, 2);
    tc_tensor rise = SUB(top, left), fall = SUB(right, top), steep = EQ(rise, 0), way = SUB(j, left),
              rest = SUB(right, j);
    tc_tensor up = DIV(way, MAXIMUM(rise, 1)), up_to = WHERE(steep, 1, up), down = DIV(rest, MAXIMUM(fall, 1));
    tc_tensor behind = GE(j, left), before = LE(j, top), rising = AND(behind, before);
    tc_tensor beyond = GE(j, top), within = LT(j, right), falling = AND(beyond, within),
              rises = WHERE(rising, up_to, 0);
    return WHERE(falling, down, rises);
}

tc_tensor tc_mel_weights_at(tc_site at, tc_graph *g, tc_dtype dtype, int bins, int length, double rate, double low,
                            double high)
{
    if (!tc_op_enter_graph(g, at, "tc_mel_weights", "mel_weights"))
        return tc_poison();
    if (!tc_check_number(g, dtype))
        return tc_op_leave(g, tc_poison());
    if (bins < 1 || bins > MOST_BINS || length < 1 || !(rate > 0) || !(low >= 0) || !(high > low) || isinf(high)) {
        tc_fail(g, "up to 1024 bands between two frequencies in hertz", "%d bands of %g to %g, length %d, rate %g",
                bins, low, high, length, rate);
        return tc_op_leave(g, tc_poison());
    }
    return tc_op_leave(g, tc_cast_at(at, mel_weights(g, at, bins, length, rate, low, high), dtype));
}
