/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the user's own program as operations. What all operations share is said in ../ops.h; docs/externs.md has
 * the C side.
 */
#ifndef TENSOR_COMPILE_OPS_EXTERNS_H
#define TENSOR_COMPILE_OPS_EXTERNS_H

#include "../model.h"

/* The type of a result: TC_RESULT(dtype, dim...). */
typedef struct tc_extern_type {
    int count;
    tc_dim type[1 + TC_MAX_RANK];
} tc_extern_type;
#define TC_RESULT(...) (&(const tc_extern_type){TC_COUNT(__VA_ARGS__), {TC_DIMS(__VA_ARGS__)}})

/* tc_extern(g, "my_function", TC_RESULT(TC_F32, batch, 10), x...)
 * tc_extern_results(g, "my_function", n, results, types, x...)
 *
 * What the C function my_function of the program that the model is linked into makes of the operands: a tensor of the
 * type that is named; or results[0..n-1] of types[0..n-1], each a TC_RESULT. The function must be pure: the same
 * operands give the same results, and nothing else happens. It is called by one thread, with row-major buffers
 * (docs/externs.md). A result that nobody reads is room to work in.
 * Dtypes: all of them.
 * Shape: as named; the sizes are known before the call.
 * Numerics: the function's own: no promise of this project holds for its bits.
 * Errors: no C identifier; more than 16 operands or 8 results. `check` and targets other than processors refuse the
 * model.
 * ATen: none. */
#define tc_extern(g, function, result, ...)                                                                           \
    tc_extern_at(TC_HERE, g, function, result, TC_TENSOR_LIST(__VA_ARGS__))
#define tc_extern_results(g, function, n, results, types, ...)                                                        \
    tc_extern_results_at(TC_HERE, g, function, n, results, types, TC_TENSOR_LIST(__VA_ARGS__))
tc_tensor tc_extern_at(tc_site at, tc_graph *g, const char *function, const tc_extern_type *type, int count,
                       const tc_tensor *operands);
void tc_extern_results_at(tc_site at, tc_graph *g, const char *function, int result_count, tc_tensor *results,
                          const tc_extern_type *const *types, int count, const tc_tensor *operands);

#endif
