/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention in its forms, and lookups.
 */
#include <math.h>

#include <tensor_compile/model.h>

#include "float.h"

#define SIZES                                                                                                         \
    tc_dim batch = tc_dynamic(g, "batch", 1, 3), l = tc_dynamic(g, "l", 1, 130), s = tc_dynamic(g, "s", 1, 130)
#define OPERANDS(heads, kv, d, e)                                                                                     \
    tc_tensor q = tc_input(g, "q", FLOAT, batch, heads, l, d), k = tc_input(g, "k", FLOAT, batch, kv, s, d);        \
    tc_tensor v = tc_input(g, "v", FLOAT, batch, kv, s, e)

TC_MODEL(attention)
{
}

TC_FUNCTION(op_plain)
{
    SIZES;
    OPERANDS(4, 4, 32, 32);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v));
}

TC_FUNCTION(op_odd)
{
    SIZES;
    OPERANDS(3, 3, 7, 19);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .scale = 0.3));
}

TC_FUNCTION(op_causal)
{
    SIZES;
    OPERANDS(2, 2, 16, 16);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .causal = true));
}

TC_FUNCTION(op_mask)
{
    SIZES;
    OPERANDS(2, 2, 16, 16);
    tc_tensor mask = tc_input(g, "mask", FLOAT, l, s);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .mask = mask));
}

TC_FUNCTION(op_keep)
{
    SIZES;
    OPERANDS(2, 2, 16, 16);
    tc_tensor keep = tc_input(g, "keep", TC_BOOL, batch, 1, 1, s);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .mask = keep));
}

TC_FUNCTION(op_grouped)
{
    SIZES;
    OPERANDS(6, 2, 16, 16);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .causal = true));
}

TC_FUNCTION(op_capped)
{
    SIZES;
    OPERANDS(2, 2, 16, 16);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .softcap = 0.75, .causal = true));
}

/* Heads split from and merged into one matrix, as in an encoder: no transpose is executed. */
TC_FUNCTION(op_heads)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 3), l = tc_dynamic(g, "l", 1, 130);
    tc_tensor x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = tc_linear(tc_input(g, tc_name(g, "x%d", i), FLOAT, batch, l, 48),
                         tc_input(g, tc_name(g, "w%d", i), FLOAT, 48, 48));
        x[i] = tc_permute(tc_reshape(x[i], batch, l, 3, 16), 0, 2, 1, 3);
    }
    tc_tensor y = tc_scaled_dot_product_attention(x[0], x[1], x[2]);
    y = tc_reshape(tc_permute(y, 0, 2, 1, 3), batch, l, 48);
    tc_output(g, "y", tc_linear(y, tc_input(g, "w3", FLOAT, 40, 48)));
}

TC_FUNCTION(op_self)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 3), l = tc_dynamic(g, "l", 1, 130);
    tc_tensor q = tc_input(g, "q", FLOAT, batch, 4, l, 16), k = tc_input(g, "k", FLOAT, batch, 2, l, 16);
    tc_tensor v = tc_input(g, "v", FLOAT, batch, 2, l, 24);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .causal = true));
}

TC_FUNCTION(op_self_keep)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 3), l = tc_dynamic(g, "l", 1, 130);
    tc_tensor q = tc_input(g, "q", FLOAT, batch, 2, l, 16), k = tc_input(g, "k", FLOAT, batch, 2, l, 16);
    tc_tensor v = tc_input(g, "v", FLOAT, batch, 2, l, 16), keep = tc_input(g, "keep", TC_BOOL, batch, 1, 1, l);
    tc_output(g, "y", tc_scaled_dot_product_attention(q, k, v, .causal = true, .mask = keep));
}

/* Rows without any column are zeros; an infinite value is seen by rows alone that keep its column. */
TC_FUNCTION(op_left_out)
{
    SIZES;
    OPERANDS(4, 2, 16, 16);
    tc_tensor keep = tc_input(g, "keep", TC_BOOL, l, s), bias = tc_input(g, "bias", FLOAT, l, 1);
    tc_tensor first = tc_eq(tc_reshape(tc_arange(g, TC_I32, s), s, 1), 0), holes = tc_where(first, INFINITY, v);
    tc_output(g, "kept", tc_scaled_dot_product_attention(q, k, holes, .mask = keep));
    tc_output(g, "causal", tc_scaled_dot_product_attention(q, k, holes, .mask = keep, .causal = true, .window = 3));
    tc_output(g, "added", tc_scaled_dot_product_attention(q, k, v, .mask = bias));
}

TC_FUNCTION(op_embedding)
{
    tc_dim l = tc_dynamic(g, "l", 1, 130);
    tc_tensor table = tc_input(g, "table", FLOAT, 50, 24), index = tc_input(g, "index", TC_I64, 2, l);
    tc_output(g, "y", tc_mul(tc_embedding(index, table), 2));
}

TC_FUNCTION(op_gather)
{
    tc_dim l = tc_dynamic(g, "l", 1, 130);
    tc_tensor x = tc_input(g, "x", FLOAT, 3, 50, 4), index = tc_input(g, "index", TC_I32, l);
    tc_output(g, "y", tc_gather(x, index, 1));
}
