/* SPDX-License-Identifier: Apache-2.0
 *
 * The same elements in other places; products, deviations, logarithms of sums.
 */
#include <tensor_compile/model.h>

TC_MODEL(rearranging)
{
}

#define SPACE tc_dim n = tc_dynamic(g, "n", 0, 64), m = tc_dynamic(g, "m", 3, 5000)

TC_FUNCTION(op_flip)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m);
    tc_output(g, "both", tc_flip(x, 0, 1));
    tc_output(g, "chain", tc_add(tc_flip(tc_exp(x), -1), x));
    tc_output(g, "total", tc_sum(tc_flip(x, 1), 1));
}

TC_FUNCTION(op_roll)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m);
    tc_output(g, "forth", tc_roll(x, 2, 1));
    tc_output(g, "back", tc_mul(tc_roll(x, -3, 1), 2));
}

TC_FUNCTION(op_repeat)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m), parts[3];
    tc_output(g, "tiled", tc_repeat(x, 3, 1));
    tc_output(g, "each", tc_repeat_interleave(x, 2, 0));
    tc_tensor stacked = tc_stack(1, x, tc_neg(x), x);
    tc_output(g, "stacked", stacked);
    tc_unbind(stacked, 1, 3, parts);
    tc_output(g, "part", tc_mul(parts[1], 3));
}

TC_FUNCTION(op_diagonal)
{
    tc_dim n = tc_dynamic(g, "n", 0, 64);
    tc_tensor x = tc_input(g, "x", TC_F32, 2, n, n), y = tc_input(g, "y", TC_F32, 5, 3), z = tc_input(g, "z", TC_I64, 2, n);
    tc_output(g, "main", tc_diagonal(x, 0));
    tc_output(g, "above", tc_diagonal(y, 1));
    tc_output(g, "below", tc_diagonal(y, -3));
    tc_output(g, "square", tc_diag(z, 0));
    tc_output(g, "upper", tc_diag(z, 2));
    tc_output(g, "lower", tc_diag(z, -1));
}

TC_FUNCTION(op_triangle)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m);
    tc_output(g, "lower", tc_tril(x, 0));
    tc_output(g, "upper", tc_triu(tc_exp(x), -1));
}

TC_FUNCTION(op_pixels)
{
    tc_dim batch = tc_dynamic(g, "batch", 0, 4), h = tc_dynamic(g, "h", 0, 20);
    tc_tensor x = tc_input(g, "x", TC_F32, batch, 12, 1, tc_dim_mul(h, 2), 7);
    tc_tensor y = tc_squeeze(x, 2);
    tc_output(g, "shuffled", tc_pixel_shuffle(y, 2));
    tc_output(g, "unshuffled", tc_pixel_unshuffle(tc_slice(y, 3, 0, 6), 2));
    tc_output(g, "channels", tc_channel_shuffle(y, 4));
}

#define STATISTICS(label, ...)                                                                                        \
    TC_FUNCTION(op_statistics_##label)                                                                                \
    {                                                                                                                 \
        SPACE;                                                                                                        \
        tc_tensor x = tc_input(g, "x", TC_F32, 2, n, m);                                                              \
        tc_output(g, "product", tc_prod(x, __VA_ARGS__));                                                             \
        tc_output(g, "product_kept", tc_prod_keepdims(x, __VA_ARGS__));                                               \
        tc_output(g, "deviation", tc_std(x, __VA_ARGS__));                                                            \
        tc_output(g, "unbiased", tc_std_unbiased_keepdims(x, __VA_ARGS__));                                           \
    }
STATISTICS(2, 2)
STATISTICS(0, 0)
STATISTICS(02, 0, 2)

TC_FUNCTION(op_logsumexp)
{
    SPACE;
    tc_tensor x = tc_input(g, "x", TC_F32, n, m);
    tc_output(g, "y", tc_logsumexp(x, 1));
    tc_output(g, "kept", tc_logsumexp_keepdims(x, -1));
    tc_output(g, "integers", tc_prod(tc_cast(tc_clamp(x, -1, 3), TC_I64), 1));
}
