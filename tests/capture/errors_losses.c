/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of losses, of sorting and of random numbers.
 */
#include "mistakes.h"

#define I(...) IN(TC_I64, __VA_ARGS__)

#define CASES                                                                                                         \
    X(target_shape, "a target i64[3] for scores f32[2,4]", AT; tc_cross_entropy(F(2, 4), I(3)))                       \
    X(target_dtype, "a target bool[2] for scores f32[2,4]", AT; tc_cross_entropy(F(2, 4), IN(TC_BOOL, 2)))            \
    X(class_weight, "the weight f32[3] has not one element a class of f32[2,4]", AT;                                  \
      tc_cross_entropy(F(2, 4), I(2), .weight = F(3)))                                                                \
    X(ignore, ".ignore is for class indices, not f32[2,4]", AT; tc_cross_entropy(F(2, 4), F(2, 4), .ignore = true))   \
    X(smoothing, "the label smoothing 2 is outside 0..1", AT; tc_cross_entropy(F(2, 4), I(2), .label_smoothing = 2))  \
    X(median, "axis 0 of f32[0] is empty and has no median", tc_tensor i; AT; tc_median(F(0), 0, &i))                 \
    X(sorted, "the sorted sequence is f32[2,2], not of rank 1", AT; tc_searchsorted(F(2, 2), F(3), false))            \
    X(top, "5 elements of axis 0 of f32[4]", tc_tensor i; AT; tc_topk(F(4), 5, 0, true, &i))                          \
    X(seed, "the seed is f32[2]; it is one i64", tc_tensor s = F(2); AT; tc_dropout(F(2), 0.5, s, 0))

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
