/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of one operand: side by side, and where they meet.
 */
#include <tensor_compile/model.h>

#include "float.h"

#define ROWS tc_dim rows = tc_dynamic(g, "rows", 0, 130)

TC_MODEL(siblings)
{
}

static tc_tensor weight(tc_graph *g, const char *name, int out, int in)
{
    return tc_input(g, name, FLOAT, out, in);
}

/* Queries, keys and values of grouped heads: three widths, one of them no multiple of a panel; keys are stored turned. */
TC_FUNCTION(op_grouped)
{
    ROWS;
    tc_tensor x = tc_input(g, "x", FLOAT, rows, 24);
    tc_tensor q = tc_linear(x, weight(g, "wq", 64, 24), tc_input(g, "bq", FLOAT, 64));
    tc_tensor k = tc_linear(x, weight(g, "wk", 16, 24));
    tc_tensor v = tc_linear(x, weight(g, "wv", 20, 24), tc_input(g, "bv", FLOAT, 20));
    tc_output(g, "q", tc_permute(tc_reshape(tc_mul(q, 0.25), rows, 4, 16), 1, 0, 2));
    tc_output(g, "k", tc_transpose(k, 0, 1));
    tc_output(g, "v", tc_relu(v));
}

/* Gate and up meet at each point; down reads what they make. */
TC_FUNCTION(op_gated)
{
    ROWS;
    tc_tensor x = tc_input(g, "x", FLOAT, rows, 24);
    tc_tensor gate = tc_linear(x, weight(g, "wg", 40, 24), tc_input(g, "bg", FLOAT, 40));
    tc_tensor h = tc_mul(tc_silu(gate), tc_linear(x, weight(g, "wu", 40, 24)));
    tc_output(g, "y", tc_add(x, tc_linear(h, weight(g, "wd", 24, 40))));
}

/* Four products at each point, of which one is a result as well, beside a fifth of another width. */
TC_FUNCTION(op_met)
{
    ROWS;
    tc_tensor x = tc_input(g, "x", FLOAT, rows, 24), p[4];
    for (int i = 0; i < 4; i++)
        p[i] = tc_matmul(x, tc_input(g, tc_name(g, "w%d", i), FLOAT, 24, 33));
    tc_output(g, "y", tc_add(tc_mul(tc_sigmoid(p[0]), p[1]), tc_mul(tc_tanh(p[2]), p[3])));
    tc_output(g, "first", p[0]);
    tc_output(g, "beside", tc_matmul(x, tc_input(g, "w4", FLOAT, 24, 48)));
}

/* One constant weight of three parts: two meet, the third is stored turned. */
TC_FUNCTION(op_split)
{
    ROWS;
    tc_tensor x = tc_input(g, "x", FLOAT, rows, 24), part[3];
    tc_tensor w = tc_cast(tc_sub(tc_rem(tc_arange(g, TC_I32, 24 * 584), 17), 8), FLOAT);
    tc_tensor b = tc_cast(tc_rem(tc_arange(g, TC_I32, 584), 5), FLOAT);
    tc_tensor h = tc_add(tc_matmul(x, tc_mul(tc_reshape(w, 24, 584), 0.03125)), b);
    tc_split_sizes(h, 1, part, 192, 192, 200);
    tc_output(g, "met", tc_mul(tc_silu(part[0]), part[1]));
    tc_output(g, "turned", tc_transpose(part[2], 0, 1));
}

/* A constant of a pattern of its own. */
static tc_tensor pattern(tc_graph *g, int out, int in, int number)
{
    tc_tensor w = tc_rem(tc_mul(tc_arange(g, TC_I32, out * in), number + 3), 17);
    return tc_mul(tc_reshape(tc_cast(tc_sub(w, 8), FLOAT), out, in), 0.03125);
}

/* Products of one operand, read by products of another one at their own points: the gates of a cell, of one row one kernel.
 * One gate is a result as well. */
TC_FUNCTION(op_behind)
{
    ROWS;
    tc_tensor x = tc_input(g, "x", FLOAT, rows, 24), h = tc_input(g, "h", FLOAT, rows, 40);
    tc_tensor c = tc_input(g, "c", FLOAT, rows, 40), gate[4];
    for (int i = 0; i < 4; i++) {
        tc_tensor outer = tc_linear(x, pattern(g, 40, 24, i), i == 1 ? tc_input(g, "b", FLOAT, 40) : NULL);
        gate[i] = tc_add(tc_linear(h, pattern(g, 40, 40, i + 4)), outer);
        if (i == 3)
            tc_output(g, "outer", outer);
    }
    tc_tensor next = tc_add(tc_mul(tc_sigmoid(gate[1]), c), tc_mul(tc_sigmoid(gate[0]), tc_tanh(gate[2])));
    tc_output(g, "h_next", tc_mul(tc_sigmoid(gate[3]), tc_tanh(next)));
    tc_output(g, "c_next", next);
}

/* Three products of a row, one behind the other; the last one reads what the first two made. */
TC_FUNCTION(op_behind_two)
{
    ROWS;
    tc_tensor x = tc_input(g, "x", FLOAT, rows, 24), h = tc_input(g, "h", FLOAT, rows, 40);
    tc_tensor first = tc_tanh(tc_linear(x, pattern(g, 100, 24, 0)));
    tc_tensor second = tc_mul(first, tc_linear(h, pattern(g, 100, 40, 1)));
    tc_output(g, "y", tc_sub(tc_add(tc_linear(tc_input(g, "z", FLOAT, rows, 33), pattern(g, 100, 33, 2)), first), second));
}
