/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefixes of what comes before, middles of axes, determinants and activations that ONNX has.
 */
#include <tensor_compile/model.h>

#include "float.h"

TC_MODEL(shaping)
{
}

#define PLANE tc_dim n = tc_dynamic(g, "n", 1, 60), m = tc_dynamic(g, "m", 1, 60)

TC_FUNCTION(op_prefixes)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m);
    tc_output(g, "sum", tc_cumsum_exclusive(x, 0));
    tc_output(g, "sum_back", tc_cumsum_exclusive_reverse(x, 1));
    tc_output(g, "product", tc_cumprod_exclusive(x, 1));
    tc_output(g, "product_back", tc_cumprod_exclusive_reverse(x, 0));
    tc_output(g, "product_reverse", tc_cumprod_reverse(x, -1));
}

TC_FUNCTION(op_middles)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m);
    tc_output(g, "both", tc_center_crop_pad(tc_center_crop_pad(x, 0, 4), 1, 6));
    tc_output(g, "odd", tc_center_crop_pad(x, 0, 10));
    tc_output(g, "swapped", tc_center_crop_pad(tc_center_crop_pad(x, 0, m), 1, n));
    tc_output(g, "above", tc_eye_offset(g, FLOAT, n, m, 2));
    tc_output(g, "below", tc_eye_offset(g, TC_I32, m, n, -1));
}

TC_FUNCTION(op_activations)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, m);
    tc_output(g, "shrink", tc_shrink(x, 0.75, 0.25));
    tc_output(g, "swish", tc_swish(x, 1.5));
    tc_output(g, "hard", tc_hardmax(tc_round(x), 1));
    tc_output(g, "hard_rows", tc_hardmax(x, 0));
}

TC_FUNCTION(op_det)
{
    PLANE;
    tc_tensor x = tc_input(g, "x", FLOAT, n, 2, 5, 5), y = tc_input(g, "y", FLOAT, m, m);
    tc_output(g, "batch", tc_det(x));
    tc_output(g, "one", tc_det(tc_slice(tc_slice(y, 0, 0, tc_dim_min(m, 3)), 1, 0, tc_dim_min(m, 3))));
    tc_output(g, "singular", tc_det(tc_mul(tc_full(g, 3, FLOAT, 4, 4), tc_dim_value(g, FLOAT, n))));
}
