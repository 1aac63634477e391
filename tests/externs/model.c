/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of user.c: between operations, with several results, in a loop, of 16 bits, of constants alone.
 */
#include <tensor_compile/model.h>

TC_MODEL(externs)
{
}

TC_FUNCTION(rows)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64, .specialize = {3});
    tc_tensor x = tc_input(g, "x", TC_F32, n, 5), w = tc_full(g, 2, TC_F32, 5), both[2];
    /* an operand that is computed in another order, and one that is a view */
    tc_tensor turned = tc_mul(tc_transpose(x, 0, 1), 2.0);
    tc_tensor scaled = tc_extern(g, "user_scale", TC_RESULT(TC_F32, n, 5), tc_transpose(turned, 0, 1), w);
    const tc_extern_type *types[] = {TC_RESULT(TC_F32, n), TC_RESULT(TC_I32, n, 2)};
    tc_extern_results(g, "user_rows", 2, both, types, tc_relu(scaled));
    tc_output(g, "scaled", scaled);
    tc_output(g, "sums", tc_add(both[0], 1));
    tc_output(g, "counts", tc_concat(1, both[1], both[1]));
}

TC_FUNCTION(looped)
{
    tc_dim n = tc_dynamic(g, "n", 1, 64, .specialize = {3});
    tc_tensor x = tc_input(g, "x", TC_F32, n, 5), w = tc_full(g, 1, TC_F32, 5), h = tc_full(g, 1, TC_F32, 1, 5), all;
    TC_SCAN(g, n, &h) {
        tc_tensor sum = tc_add(h, tc_unsqueeze(tc_each(x), 0));
        h = tc_extern(g, "user_scale", TC_RESULT(TC_F32, 1, 5), sum, w);
        tc_collect(h, &all);
    }
    tc_output(g, "all", all);
}

TC_FUNCTION(halves)
{
    tc_tensor x = tc_input(g, "h", TC_F16, 6), constant = tc_full(g, 3, TC_F32, 2, 5);
    tc_output(g, "bits", tc_extern(g, "user_bits", TC_RESULT(TC_U16, 6), tc_mul(x, 2.0)));
    tc_output(g, "constant", tc_extern(g, "user_scale", TC_RESULT(TC_F32, 2, 5), constant, tc_full(g, 2, TC_F32, 5)));
}
