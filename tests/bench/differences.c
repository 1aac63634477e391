/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/cuda/compare.c says of results that differ: tolerance is of the largest finite element, and a NaN or an
 * infinity of one side alone is no small error.
 */
#define main compare_main
#include "bench/cuda/compare.c"
#undef main

#include "tests/tap.h"

static int within(float x, float y)
{
    const float a[] = {1, x, 1}, b[] = {1, y, 1};
    return compare("a", "b", a, b, TC_DTYPE_F32, sizeof a);
}

int main(void)
{
    tc_ok(within(2, 2.0001f) && !within(2, 2.001f), "an error is of the largest element");
    tc_ok(!within(2, NAN) && !within(NAN, 2), "a NaN of one side");
    tc_ok(!within(2, INFINITY) && !within(INFINITY, 2) && !within(INFINITY, -INFINITY), "an infinity of one side");
    tc_ok(within(NAN, NAN) && within(INFINITY, INFINITY), "of both");
    const float a[] = {1, INFINITY}, b[] = {5, INFINITY};
    tc_ok(!compare("a", "b", a, b, TC_DTYPE_F32, sizeof a), "an error beside an infinity");
    return tc_done();
}
