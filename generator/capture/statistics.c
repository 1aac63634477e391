/* SPDX-License-Identifier: Apache-2.0
 *
 * Products, deviations and logarithms of sums: compositions of the reductions.
 */
#include "internal.h"

#define TENSOR(x) tc_operand_tensor_(x)
#define NUMBER(x) tc_operand_float_(x)

tc_tensor tc_std_at(tc_site at, tc_tensor x, int correction, bool keepdims, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, correction ? "tc_std_unbiased" : "tc_std", "std", "x", 1, &x);
    if (!g)
        return tc_poison();
    return tc_op_leave(g, tc_sqrt_at(at, tc_var_at(at, x, correction, keepdims, count, axes)));
}

tc_tensor tc_logsumexp_at(tc_site at, tc_tensor x, bool keepdims, int count, const int *axes)
{
    tc_graph *g = tc_op_enter(at, "tc_logsumexp", "logsumexp", "x", 1, &x);
    if (!g)
        return tc_poison();
    tc_tensor most = tc_amax_at(at, x, true, count, axes);
    tc_tensor finite = tc_eq_at(at, TENSOR(tc_sub_at(at, TENSOR(most), TENSOR(most))), NUMBER(0));
    most = tc_where_at(at, finite, TENSOR(most), NUMBER(0));
    tc_tensor e = tc_exp_at(at, tc_sub_at(at, TENSOR(x), TENSOR(most)));
    tc_tensor sum = tc_log_at(at, tc_sum_at(at, e, keepdims, count, axes));
    if (!keepdims && !tc_is_poison(sum) && !tc_is_poison(most))
        most = tc_prim_reshape(g, most, sum->type.rank, sum->type.shape);
    return tc_op_leave(g, tc_add_at(at, TENSOR(sum), TENSOR(most)));
}
