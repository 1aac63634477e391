/* SPDX-License-Identifier: Apache-2.0
 *
 * What --precision makes one kernel of: attention over products, with a mask of the caller's, causal,
 * and of grouped heads.
 */
#include <tensor_compile/model.h>

#ifdef GROUP /* 64 columns: a group of warps multiplies, where there are queries for it */
enum { BATCH = 1, HEADS = 1, HEAD = 64 };
#else
enum { BATCH = 2, HEADS = 2, HEAD = 32 };
#endif

enum { WIDTH = HEADS * HEAD };

static tc_tensor heads(tc_tensor x, tc_dim length)
{
    return tc_permute(tc_reshape(x, BATCH, length, HEADS, HEAD), 0, 2, 1, 3);
}

TC_MODEL(attend)
{
    tc_dim length = tc_dynamic(g, "length", 1, 200);
    tc_tensor x = tc_input(g, "x", TC_F32, BATCH, length, WIDTH);
    tc_tensor a = tc_input(g, "a", TC_F32, WIDTH, WIDTH), b = tc_input(g, "b", TC_F32, WIDTH, WIDTH);
    tc_tensor mask = tc_input(g, "mask", TC_I64, BATCH, length);
    tc_tensor q = heads(tc_matmul(x, a), length), k = heads(tc_matmul(x, b), length), v = heads(x, length);
    tc_tensor keep = tc_unsqueeze(tc_unsqueeze(tc_logical_or(tc_ne(mask, 0), tc_eq(tc_arange(g, TC_I64, length), 0)), 1), 1);
    tc_tensor y = tc_scaled_dot_product_attention(q, k, v, .mask = keep);
    tc_output(g, "masked", tc_reshape(tc_permute(y, 0, 2, 1, 3), BATCH, length, WIDTH));
    tc_tensor z = tc_scaled_dot_product_attention(k, q, v, .causal = true);
#ifdef GROUP
    tc_output(g, "causal", z);
#else
    z = tc_layer_norm(tc_reshape(tc_permute(z, 0, 2, 1, 3), BATCH, length, WIDTH));
    tc_output(g, "causal", tc_matmul(z, a));
    /* One query of twice as many heads, as a decoder has it. */
    tc_tensor first = tc_slice(tc_concat(1, q, k), 2, 0, 1);
    tc_output(g, "grouped", tc_reshape(tc_scaled_dot_product_attention(first, k, v), BATCH, 2 * WIDTH));
#endif
}
