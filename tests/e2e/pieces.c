/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of two inputs, which copy columns of the second one, and a sort, which has the keys of a row: what threads
 * copied to their scratch for one piece of a step serves the next one.
 */
#include <tensor_compile/model.h>

enum { TERMS = 192, ROWS = 500, WIDE = 512 };

TC_MODEL(pieces)
{
    tc_dim batch = tc_dynamic(g, "batch", 1, 4), rows = tc_dynamic(g, "rows", 1, 300);
    tc_dim columns = tc_dynamic(g, "columns", 1, 300);
    tc_tensor a = tc_input(g, "a", TC_F32, batch, rows, TERMS), b = tc_input(g, "b", TC_F32, batch, TERMS, columns);
    tc_tensor c = tc_input(g, "c", TC_F32, batch, TERMS, columns), y = tc_matmul(a, b);
    tc_tensor d = tc_input(g, "d", TC_F32, 2, ROWS, WIDE), e = tc_input(g, "e", TC_F32, 2, WIDE, WIDE);
    tc_output(g, "y", y);
    tc_output(g, "z", tc_matmul(a, c));
    tc_output(g, "sorted", tc_sort(y, 2, false, NULL));
    tc_output(g, "u", tc_matmul(d, e)); /* many columns at a time */
}
