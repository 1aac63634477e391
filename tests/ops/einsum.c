/* SPDX-License-Identifier: Apache-2.0
 *
 * einsum and its kin.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(einsum)
{
}

#define DIMS tc_dim m = tc_dynamic(g, "m", 1, 40), k = tc_dynamic(g, "k", 1, 100)

TC_FUNCTION(op_pairs)
{
    DIMS;
    tc_tensor a = tc_input(g, "a", FLOAT, 2, m, k), b = tc_input(g, "b", FLOAT, 2, k, 17);
    tc_tensor c = tc_input(g, "c", FLOAT, k, 3, 17);
    tc_output(g, "product", tc_einsum("bij,bjk->bik", a, b));
    tc_output(g, "turned", tc_einsum("bij, bjk -> kib", a, b));
    tc_output(g, "two", tc_einsum("bij,jck->cbi", a, c));
    tc_output(g, "implicit", tc_einsum("bij,jck", a, c));
    tc_output(g, "rows", tc_einsum("bij,bjk->i", a, b));
}

TC_FUNCTION(op_elements)
{
    DIMS;
    tc_tensor a = tc_input(g, "a", FLOAT, m, k), b = tc_input(g, "b", FLOAT, k), c = tc_input(g, "c", TC_I32, 4, m);
    tc_output(g, "scaled", tc_einsum("ij,j->ij", a, b));
    tc_output(g, "outer", tc_einsum("ij,k->kji", a, tc_slice(b, 0, 0, 1)));
    tc_output(g, "integers", tc_einsum("ij,ij->ji", c, c));
    tc_output(g, "sum", tc_einsum("ij->j", a));
    tc_output(g, "all", tc_einsum("ij->", c));
    tc_output(g, "transposed", tc_einsum("ij->ji", a));
    tc_output(g, "itself", tc_einsum("i,i", b, b));
}

TC_FUNCTION(op_diagonals)
{
    DIMS;
    tc_tensor a = tc_input(g, "a", FLOAT, m, 3, m), b = tc_input(g, "b", FLOAT, 5, k, 5, 5);
    tc_output(g, "diagonal", tc_einsum("iji->ij", a));
    tc_output(g, "trace", tc_einsum("iji->j", a));
    tc_output(g, "three", tc_einsum("ijii->ji", b));
}

TC_FUNCTION(op_several)
{
    DIMS;
    tc_tensor a = tc_input(g, "a", FLOAT, m, 4), b = tc_input(g, "b", FLOAT, 4, k), c = tc_input(g, "c", FLOAT, k, 18);
    tc_tensor d = tc_input(g, "d", FLOAT, 2, 1, m, k), e = tc_input(g, "e", FLOAT, 3, k, m);
    tc_output(g, "chain", tc_einsum("ij,jk,kl->il", a, b, c));
    tc_output(g, "ellipsis", tc_einsum("...ij,...jk->...ik", d, e));
    tc_output(g, "last", tc_einsum("i...,ji->j...", a, tc_einsum("ij->ji", a)));
    tc_output(g, "shared", tc_einsum("xyij,zji,jk->xzk", d, e, c));
}

TC_FUNCTION(op_products)
{
    DIMS;
    tc_tensor a = tc_input(g, "a", FLOAT, 2, m, k), b = tc_input(g, "b", FLOAT, 2, k, 17);
    tc_tensor bias = tc_input(g, "bias", FLOAT, 17), v = tc_input(g, "v", FLOAT, k);
    tc_output(g, "bmm", tc_bmm(a, b));
    tc_output(g, "mm", tc_mm(tc_select(a, 0, 0), tc_select(b, 0, 1)));
    tc_output(g, "mv", tc_mv(tc_select(a, 0, 0), v));
    tc_output(g, "dot", tc_dot(v, v));
    tc_output(g, "addmm", tc_addmm(bias, tc_select(a, 0, 0), tc_select(b, 0, 1), .beta = 0.5, .alpha = 2));
    tc_output(g, "baddbmm", tc_baddbmm(bias, a, b));
    tc_output(g, "outer", tc_outer(v, bias));
    tc_output(g, "inner", tc_inner(a, v));
    tc_output(g, "tensordot", tc_tensordot(a, b, TC_AXES(2, 0), TC_AXES(1, 0)));
}

TC_FUNCTION(op_bilinear)
{
    DIMS;
    tc_tensor a = tc_input(g, "a", FLOAT, m, 5), b = tc_input(g, "b", FLOAT, m, k);
    tc_tensor weight = tc_input(g, "weight", FLOAT, 4, 5, k), bias = tc_input(g, "bias", FLOAT, 4);
    tc_output(g, "y", tc_bilinear(a, b, weight, bias));
}
