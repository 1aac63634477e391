/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations over channels and vectors, norms, distances.
 */
#include <math.h>
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(norms)
{
}

#define INPUT                                                                                                         \
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), h = tc_dynamic(g, "h", 1, 40);                                       \
    tc_tensor x = tc_input(g, "x", FLOAT, batch, 6, h, 3)
#define PARAMETERS tc_tensor weight = tc_input(g, "weight", FLOAT, 6), bias = tc_input(g, "bias", FLOAT, 6)

TC_FUNCTION(op_group)
{
    INPUT;
    PARAMETERS;
    tc_output(g, "y", tc_group_norm(x, weight, bias, .groups = 3, .eps = 1e-3));
    tc_output(g, "plain", tc_group_norm(tc_reshape(x, batch, 6, -1), .groups = 1));
}

TC_FUNCTION(op_instance)
{
    INPUT;
    PARAMETERS;
    tc_output(g, "y", tc_instance_norm(x, weight, bias));
}

TC_FUNCTION(op_response)
{
    INPUT;
    tc_output(g, "y", tc_local_response_norm(x, .size = 3, .alpha = 0.5, .k = 2));
    tc_output(g, "even", tc_local_response_norm(tc_reshape(x, batch, 6, -1), .size = 4, .alpha = 0.2, .beta = 0.5));
}

TC_FUNCTION(op_norm)
{
    INPUT;
    tc_output(g, "two", tc_norm(x, 2, 1, 3));
    tc_output(g, "one", tc_norm(x, 1));
    tc_output(g, "largest", tc_norm_keepdims(x, INFINITY, 2));
    tc_output(g, "smallest", tc_norm(x, -INFINITY, -1));
    tc_output(g, "count", tc_norm(x, 0, 1));
    tc_output(g, "three", tc_norm(x, 3, 1, 2));
}

TC_FUNCTION(op_normalize)
{
    INPUT;
    tc_output(g, "y", tc_normalize(x, .axis = 1));
    tc_output(g, "one", tc_normalize(x, .axis = -1, .p = 1, .eps = 0.5));
}

TC_FUNCTION(op_similarity)
{
    INPUT;
    tc_tensor y = tc_input(g, "y", FLOAT, 6, h, 3);
    tc_output(g, "cosine", tc_cosine_similarity(x, y, 1, 1e-8));
}

TC_FUNCTION(op_cdist)
{
    INPUT;
    tc_tensor y = tc_input(g, "y", FLOAT, batch, 1, 5, 3);
    tc_output(g, "two", tc_cdist(x, y, 2));
    tc_output(g, "one", tc_cdist(x, y, 1));
    tc_output(g, "largest", tc_cdist(x, y, INFINITY));
}
