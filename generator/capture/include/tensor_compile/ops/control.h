/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops and conditions that are part of the model: blocks whose operations are recorded once and run as often as the
 * data says. (For repetition that is known while the model is recorded, C's own for is the right thing.)
 *
 *     tc_tensor h = tc_full(g, 0, TC_F32, batch, 64), all;
 *     TC_SCAN(g, steps, &h) {                                  // steps: how many iterations
 *         tc_tensor x = tc_each(xs);                           // xs[0], xs[1], ...
 *         h = tc_tanh(tc_add(tc_add(tc_matmul(h, w), x), b));  // w, b: tensors from around are just used
 *         tc_collect(h, &all);
 *     }
 *     // here h is the last iteration's, and all is every iteration's: [steps, batch, 64]
 *
 *     tc_tensor guess = tc_div(a, 2), step = a;
 *     TC_WHILE(g, &guess, &step) {
 *         tc_test(tc_gt(tc_abs(step), 1e-6));                  // before each iteration
 *         step = tc_mul(tc_sub(guess, tc_div(a, guess)), 0.5);
 *         guess = tc_sub(guess, step);
 *     }
 *
 *     tc_tensor y = x;
 *     TC_IF(g, is_training, &y) {
 *         y = tc_mul(x, mask);
 *     }
 *     TC_ELSE(g) {
 *         y = tc_mul(x, 0.9);
 *     }
 *
 * The variables that a block's head lists are what it changes: within a loop they are the values that the iteration
 * before left, behind it those of the last iteration. They keep their type. Everything else may be read in a block, and
 * tensors that are made in it stay in it. Leave a block at its end only (no return, goto or break). Blocks nest, and
 * may hold weights, states (their value when the entry was called) and tc_call. States are assigned outside of blocks.
 */
#ifndef TENSOR_COMPILE_OPS_CONTROL_H
#define TENSOR_COMPILE_OPS_CONTROL_H

#include "../model.h"

/* TC_SCAN(g, dim, &variable...) { ... }: as many iterations as `dim` says, known at run time or before; no iteration
 * leaves the variables as they were, and no variables at all is a map.
 *
 * Dtypes: all of them.
 * Shape: those of the variables.
 * Errors: a variable without a value before the block, or of another type behind it; a block that is left by break,
 * return or goto.
 * ATen: scan (higher-order operator).
 * ONNX: Scan, Loop with a trip count. */
#define TC_SCAN(g, ...)                                                                                               \
    TC_BLOCK_(g, tc_scan_begin_at(TC_HERE, g, TC_DIM(TC_HEAD(__VA_ARGS__, 0)), #__VA_ARGS__,                          \
                                  (tc_tensor *const[]){TC_TAIL(__VA_ARGS__, NULL)}))

/* tc_each(x): within TC_SCAN, x[t] for iteration t along axis 0 of x, which is as long as there are iterations.
 * Dtypes: all of them.
 * Shape: that of x without axis 0.
 * Errors: axis 0 is not the number of iterations. Two dynamic sizes become a guard, and a note says so.
 * ATen: none. */
#define tc_each(x) tc_each_at(TC_HERE, x)
tc_tensor tc_each_at(tc_site at, tc_tensor x);

/* tc_collect(x, &all): within TC_SCAN, makes `all`, behind the block, the x of all iterations along a new axis 0.
 * Dtypes: all of them.
 * Shape: that of x behind an axis of the number of iterations.
 * ATen: none. */
#define tc_collect(x, all) tc_collect_at(TC_HERE, x, all)
void tc_collect_at(tc_site at, tc_tensor x, tc_tensor *all);

/* TC_WHILE(g, &variable...) { tc_test(p); ... }: iterates for as long as the bool[] p, which is computed from the
 * variables before each iteration, is true. It stands anywhere in the block. A loop that never ends is the model's.
 *
 * Dtypes: all of them.
 * Shape: those of the variables.
 * Errors: as TC_SCAN; no tc_test, or two.
 * ATen: while_loop (higher-order operator).
 * ONNX: Loop. */
#define TC_WHILE(g, ...)                                                                                              \
    TC_BLOCK_(g, tc_while_begin_at(TC_HERE, g, #__VA_ARGS__, (tc_tensor *const[]){__VA_ARGS__, NULL}))
#define tc_test(p) tc_test_at(TC_HERE, p)
void tc_test_at(tc_site at, tc_tensor p);

/* TC_IF(g, p, &variable...) { ... } TC_ELSE(g) { ... }: one of the two blocks runs, the first where the bool[] p is
 * true. Both start from the variables' values before TC_IF; behind TC_ELSE they are what the block that ran made them,
 * of one type whichever it was. Index checks of the other block do not happen. tc_where chooses element by element.
 *
 * Dtypes: all of them.
 * Shape: those of the variables.
 * ATen: cond (higher-order operator).
 * ONNX: If. */
#define TC_IF(g, ...)                                                                                                 \
    TC_BLOCK_(g, tc_if_begin_at(TC_HERE, g, TC_HEAD(__VA_ARGS__, 0), #__VA_ARGS__,                                    \
                                (tc_tensor *const[]){TC_TAIL(__VA_ARGS__, NULL)}))
#define TC_ELSE(g) TC_BLOCK_(g, tc_else_begin_at(TC_HERE, g))

#define TC_BLOCK_(g, begin)                                                                                           \
    for (TC_AT_LEAVING(tc_block_left_) int tc_once_ = (begin, 1); tc_once_; tc_once_ = (tc_block_end(g), 0))
void tc_scan_begin_at(tc_site at, tc_graph *g, tc_dim iterations, const char *names, tc_tensor *const *variables);
void tc_while_begin_at(tc_site at, tc_graph *g, const char *names, tc_tensor *const *variables);
void tc_if_begin_at(tc_site at, tc_graph *g, tc_tensor p, const char *names, tc_tensor *const *variables);
void tc_else_begin_at(tc_site at, tc_graph *g);
void tc_block_end(tc_graph *g);
void tc_block_left_(const int *open);

#endif
