/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of indices, parts, orders and what is made from nothing.
 */
#include "mistakes.h"

#define I(...) IN(TC_I64, __VA_ARGS__)

#define CASES                                                                                                         \
    X(mask_index, "tc_take: the index is i32 or i64, not bool[3]\n  hint: how many elements a mask has is data",      \
      tc_tensor p = IN(TC_BOOL, 3); AT; tc_take(F(3), p))                                                             \
    X(index_nothing, "tc_index: 2 indices of f32[3,4]", AT; tc_index(F(3, 4), NULL, NULL))                            \
    X(index_rank, "tc_index: the result has more than 8 dims", tc_tensor i = I(1, 1, 1, 1); AT;                       \
      tc_index(F(1, 1, 1, 1, 1, 1), i))                                                                               \
    X(reduce_word, "tc_scatter_reduce: \"average\" of f32[3]", tc_tensor i = I(2), u = F(2); AT;                      \
      tc_scatter_reduce(F(3), i, u, 0, "average", true))                                                              \
    X(fill_value, "tc_index_fill: the value is f32[1]", tc_tensor i = I(2), v = F(1); AT;                             \
      tc_index_fill(F(3), 0, i, v))                                                                                   \
    X(fill_rank, "tc_index_fill: f32[1,1,1,1,1,1,1,1] at i64[2,2] has more than 8 dims", tc_tensor i = I(2, 2); AT;   \
      tc_index_fill(F(1, 1, 1, 1, 1, 1, 1, 1), 0, i, 0))                                                              \
    X(masked_dtype, "tc_masked_scatter: the mask is bool[3], the source i64[3]",                                      \
      tc_tensor p = IN(TC_BOOL, 3), s = I(3); AT; tc_masked_scatter(F(3), p, s))                                      \
    X(masked_empty, "tc_masked_scatter: the source f32[0] is empty",                                                  \
      tc_tensor p = IN(TC_BOOL, 3), s = F(0); AT; tc_masked_scatter(F(3), p, s))                                      \
    X(nonzero_rank, "tc_nonzero_static: x has rank 0", AT; tc_nonzero_static(IN(TC_F32), 1, 0))                       \
    X(bins, "tc_bincount: -1 bins", tc_tensor i = I(3); AT; tc_bincount(i, -1))

#define X BODY
CASES
#undef X

int main(void)
{
#define X EXPECT
    CASES
#undef X
    return tc_done();
}
