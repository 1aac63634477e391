/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers of shape [n, m].
 */
#include <tensor_compile/model.h>

#define SIZES                                                                                                         \
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512);                                             \
    tc_tensor seed = tc_input(g, "seed", TC_I64), offset = tc_input(g, "offset", TC_I64, 1)

TC_MODEL(random)
{
}

TC_FUNCTION(op_bits)
{
    SIZES;
    tc_output(g, "y", tc_random_bits(g, seed, offset, n, m));
}

TC_FUNCTION(op_fixed)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 0, 512);
    tc_output(g, "y", tc_random_bits(g, 0, 0, n, m));
}

TC_FUNCTION(op_uniform)
{
    SIZES;
    tc_output(g, "y", tc_random_uniform(g, seed, offset, n, m));
}

TC_FUNCTION(op_normal)
{
    SIZES;
    tc_output(g, "y", tc_random_normal(g, seed, offset, n, m));
}

TC_FUNCTION(op_dropout)
{
    SIZES;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m);
    tc_output(g, "y", tc_dropout(x, 0.3, seed, offset));
}

TC_FUNCTION(op_drawn)
{
    SIZES;
    tc_output(g, "integers", tc_random_integers(g, seed, offset, -3, 1000, n, m));
    tc_output(g, "order", tc_random_permutation(g, seed, offset, m));
    tc_output(g, "times", tc_random_exponential(g, seed, offset, n, m));
    tc_output(g, "heads", tc_bernoulli(tc_div(tc_random_uniform(g, 1, 2, n, m), 2), seed, offset));
}

TC_FUNCTION(op_multinomial)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64);
    tc_tensor seed = tc_input(g, "seed", TC_I64), offset = tc_input(g, "offset", TC_I64, 1);
    tc_tensor shares = tc_exp(tc_clamp(tc_input(g, "x", TC_F32, n, 9), -4, 4));
    tc_output(g, "several", tc_multinomial(shares, 12, true, seed, offset));
    tc_output(g, "apart", tc_multinomial(shares, 4, false, seed, offset));
}

/* Word 3 of this seed's first block is below 2^8, so that its uniform number is 0. */
TC_FUNCTION(op_least)
{
    const int64_t seed = 1343428;
    tc_tensor p = tc_input(g, "p", TC_F32, 2, 4);
    tc_output(g, "rates", tc_div(1, tc_random_exponential(g, seed, 0, 4)));
    tc_output(g, "whole", tc_multinomial(tc_select(p, 0, 0), 2, false, seed, 0));
    tc_output(g, "without", tc_multinomial(tc_select(p, 0, 1), 4, false, seed, 0));
}
