/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints which dtypes operations take and give, `tc_NAME f32:f32 i32:i64 ...` a line: test_dtypes.py compares that with what
 * the headers say.
 */
#include "harness.h"

static tc_dtype dtype, result; /* of the operands, and of what is made of them */

#define IN(name, ...) tc_input(g, name, dtype, __VA_ARGS__)
#define INDEX(...) tc_input(g, "index", TC_I64, __VA_ARGS__)
#define WEIGHTS(gates) .weights = &(tc_recurrent_weights){.ih = IN("ih", gates * 3, 4), .hh = IN("hh", gates * 3, 3)}

/* X(operation, expression), x[4,4] and y[4,4] of the dtype. */
#define CASES                                                                                                         \
    X(add, tc_add(x, y)) X(sub, tc_sub(x, 3)) X(mul, tc_mul(x, y)) X(div, tc_div(x, y)) X(maximum, tc_maximum(x, 1))  \
    X(rem, tc_rem(x, y)) X(remainder, tc_remainder(x, y)) X(floor_divide, tc_floor_divide(x, y)) X(neg, tc_neg(x))    \
    X(abs, tc_abs(x)) X(sign, tc_sign(x)) X(clamp, tc_clamp(x, 0, 1)) X(matmul, tc_matmul(x, y))                      \
    X(embedding, tc_embedding(INDEX(2), x)) X(gather, tc_gather(x, INDEX(2), 0))                                      \
    X(take_along, tc_take_along(x, INDEX(4, 4), 0)) X(scatter, tc_scatter(x, INDEX(4, 4), y, 0))                      \
    X(scatter_add, tc_scatter_add(x, INDEX(4, 4), y, 0)) X(scatter_mul, tc_scatter_mul(x, INDEX(4, 4), y, 0))         \
    X(scatter_max, tc_scatter_max(x, INDEX(4, 4), y, 0)) X(scatter_min, tc_scatter_min(x, INDEX(4, 4), y, 0))         \
    X(scatter_reduce, tc_scatter_reduce(x, INDEX(4, 4), y, 0, "mean", false))                                         \
    X(index_add, tc_index_add(x, 0, INDEX(4), y)) X(index_copy, tc_index_copy(x, 0, INDEX(4), y))                     \
    X(index_mul, tc_index_mul(x, 0, INDEX(4), y)) X(index_max, tc_index_max(x, 0, INDEX(4), y))                       \
    X(index_min, tc_index_min(x, 0, INDEX(4), y)) X(index_fill, tc_index_fill(x, 0, INDEX(4), 1))                     \
    X(take, tc_take(x, INDEX(4))) X(index, tc_index(x, INDEX(4)))                                                     \
    X(index_put, tc_index_put(x, y, false, INDEX(4))) X(one_hot, tc_one_hot(INDEX(4), 5, dtype))                      \
    X(masked_fill, tc_masked_fill(x, tc_input(g, "p", TC_BOOL, 4, 4), y))                                             \
    X(masked_scatter, tc_masked_scatter(x, tc_input(g, "p", TC_BOOL, 4, 4), y))                                       \
    X(nonzero_static, tc_nonzero_static(x, 4, 0)) X(histc, tc_histc(x, 4, 0, 1))                                      \
    X(one_hot_values, tc_one_hot_values(INDEX(4), 5, tc_reshape(tc_slice(tc_select(x, 0, 0), 0, 0, 2), 2), 0))        \
    X(gather_nd, tc_gather_nd(x, INDEX(3, 2), 0)) X(scatter_nd, tc_scatter_nd(x, INDEX(4, 1), y))                     \
    X(scatter_nd_add, tc_scatter_nd_add(x, INDEX(4, 1), y)) X(scatter_nd_mul, tc_scatter_nd_mul(x, INDEX(4, 1), y))   \
    X(scatter_nd_max, tc_scatter_nd_max(x, INDEX(4, 1), y)) X(scatter_nd_min, tc_scatter_nd_min(x, INDEX(4, 1), y))   \
    X(tensor_scatter, tc_tensor_scatter(x, y, INDEX(4), 1, true)) X(count_nonzero, tc_count_nonzero(x))               \
    X(compress, tc_compress(x, tc_input(g, "p", TC_BOOL, 4), 1, 2, 0)) X(unique, tc_unique(x, .first = &z))           \
    X(cumsum_exclusive, tc_cumsum_exclusive(x, 0)) X(cumprod_exclusive, tc_cumprod_exclusive(x, 0))                   \
    X(cumprod_reverse, tc_cumprod_reverse(x, 0))                                                                      \
    X(cumsum, tc_cumsum(x, 0)) X(cumprod, tc_cumprod(x, 0)) X(cumulative_max, tc_cumulative_max(x, 0))                \
    X(cumulative_min, tc_cumulative_min(x, 0)) X(cumsum_reverse, tc_cumsum_reverse(x, 0))                             \
    X(cummax, tc_cummax(x, 0, &z)) X(cummin, tc_cummin(x, 0, &z)) X(logcumsumexp, tc_logcumsumexp(x, 0))              \
    X(sort, tc_sort(x, 0, true, NULL)) X(argsort, tc_argsort(x, 0, true)) X(topk, tc_topk(x, 2, 0, true, NULL))       \
    X(kthvalue, tc_kthvalue(x, 2, 0, NULL)) X(median, tc_median(x, 0, &z))                                            \
    X(searchsorted, tc_searchsorted(x, y, false)) X(bucketize, tc_bucketize(y, x, false))                             \
    X(slice, tc_slice(x, 0, 1, 2)) X(slice_step, tc_slice_step(x, 0, 0, 4, 2)) X(select, tc_select(x, 0, 1))          \
    X(split, (tc_split(x, 0, 2, parts), parts[0])) X(split_sizes, (tc_split_sizes(x, 0, parts, 1, 3), parts[0]))      \
    X(narrow, tc_narrow(x, 0, 1, 2)) X(chunk, (tc_chunk(x, 0, 2, parts), parts[0]))                                   \
    X(split_every, (tc_split_every(x, 0, 2, 2, parts), parts[0]))                                                     \
    X(tensor_split, (tc_tensor_split(x, 0, 3, parts), parts[0]))                                                      \
    X(tensor_split_places, (tc_tensor_split_places(x, 0, parts, 3), parts[0]))                                        \
    X(sliding, tc_sliding(x, 0, 2, 1)) X(concat, tc_concat(0, x, y)) X(stack, tc_stack(0, x, y))                      \
    X(unbind, (tc_unbind(x, 0, 4, parts), parts[0])) X(update_slice, tc_update_slice(x, y, 0, 0))                     \
    X(slice_scatter, tc_slice_scatter(x, tc_slice(y, 0, 0, 2), 0, 0, 4, 2))                                           \
    X(select_scatter, tc_select_scatter(x, tc_select(y, 0, 0), 0, 0)) X(pad, tc_pad(x, .low = {1}))                   \
    X(pad_axis, tc_pad_axis(x, 0, 1, 1, 0))                                                                           \
    X(flip, tc_flip(x, 0)) X(roll, tc_roll(x, 1, 0)) X(repeat, tc_repeat(x, 2, 0))                                    \
    X(repeat_interleave, tc_repeat_interleave(x, 2, 0)) X(tile, tc_tile(x, 2, 2)) X(rot90, tc_rot90(x, 1, 0, 1))      \
    X(reverse_sequence, tc_reverse_sequence(x, INDEX(4), 0, 1)) X(kron, tc_kron(x, y))                                \
    X(block_diag, tc_block_diag(x, y)) X(diagonal, tc_diagonal(x, 0)) X(diag, tc_diag(x, 0))                          \
    X(diagonal_scatter, tc_diagonal_scatter(x, tc_select(y, 0, 0), 0)) X(trace, tc_trace(x)) X(tril, tc_tril(x, 0))   \
    X(triu, tc_triu(x, 0)) X(pixel_shuffle, tc_pixel_shuffle(tc_unsqueeze(x, 2), 2))                                  \
    X(pixel_unshuffle, tc_pixel_unshuffle(tc_unsqueeze(x, 0), 2))                                                     \
    X(depth_to_space, tc_depth_to_space(tc_unsqueeze(x, 2), 2))                                                       \
    X(space_to_depth, tc_space_to_depth(tc_unsqueeze(x, 0), 2)) X(channel_shuffle, tc_channel_shuffle(x, 2))          \
    X(arange, tc_arange(g, dtype, 4)) X(arange_step, tc_arange_step(g, dtype, 4, 0, -1)) X(full, tc_full(g, 1, dtype, 4)) \
    X(full_like, tc_full_like(x, 1)) X(eye, tc_eye(g, dtype, 2, 2)) X(linspace, tc_linspace(g, dtype, 0, 1, 4))       \
    X(logspace, tc_logspace(g, dtype, 0, 1, 4, 10))                                                                   \
    X(meshgrid, (tc_meshgrid(parts, tc_select(x, 0, 0), tc_select(y, 0, 0)), parts[0]))                               \
    X(cartesian_prod, tc_cartesian_prod(tc_select(x, 0, 0), tc_select(y, 0, 0)))                                      \
    X(combinations, tc_combinations(tc_select(x, 0, 0), 2, false))                                                    \
    X(reshape, tc_reshape(x, 16)) X(flatten, tc_flatten(x, 0)) X(permute, tc_permute(x, 1, 0))                        \
    X(transpose, tc_transpose(x, 0, 1)) X(expand, tc_expand(x, 2, 4, 4)) X(squeeze, tc_squeeze(tc_unsqueeze(x, 0), 0)) \
    X(flatten_range, tc_flatten_range(x, 0, 1)) X(unflatten, tc_unflatten(x, 0, 2, 2)) X(movedim, tc_movedim(x, 0, 1)) \
    X(expand_as, tc_expand_as(x, y)) X(reshape_as, tc_reshape_as(x, y))                                               \
    X(dropout, tc_dropout(x, 0.5, 0, 0)) X(bernoulli, tc_bernoulli(x, 0, 0))                                          \
    X(lstm, tc_lstm(IN("s", 2, 2, 4), WEIGHTS(4))) X(gru, tc_gru(IN("s", 2, 2, 4), WEIGHTS(3)))                       \
    X(rnn, tc_rnn(IN("s", 2, 2, 4), WEIGHTS(1)))

#define X(name, expression)                                                                                           \
    static void body_##name(tc_graph *g)                                                                              \
    {                                                                                                                 \
        TC_UNUSED tc_tensor x = IN("x", 4, 4), y = IN("y", 4, 4), z, parts[4];                                        \
        tc_tensor out = expression;                                                                                   \
        result = out->type.dtype;                                                                                     \
        tc_output(g, "out", out);                                                                                     \
    }
CASES
#undef X

int main(void)
{
    static const tc_dtype all[] = {TC_F32, TC_F64, TC_F16, TC_BF16, TC_I8, TC_I16, TC_I32, TC_I64,
                                   TC_U8,  TC_U16, TC_U32, TC_U64,  TC_BOOL};
    static const struct {
        const char *name;
        tc_graph_body *body;
    } cases[] = {
#define X(name, expression) {#name, body_##name},
        CASES
#undef X
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        printf("tc_%s", cases[i].name);
        for (size_t j = 0; j < sizeof all / sizeof *all; ++j) {
            dtype = all[j];
            captured c = capture_body(cases[i].body);
            if (c.ok)
                printf(" %s:%s", tc_dtype_name(dtype), tc_dtype_name(result));
            captured_free(&c);
        }
        printf("\n");
    }
    return 0;
}
