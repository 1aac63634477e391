/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers that are a function of their arguments alone. What all operations share is said in ../ops.h.
 *
 * The generator is Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011):
 * a cipher that turns a counter of 128 bits and a key of 64 into four words of 32. Element i in row-major order takes
 * word i mod 4 of the counter whose low half is i / 4 and whose high half is the offset, under the key `seed`. Every
 * machine, thread count and instruction set gives the same numbers; a call that is to give others has another seed or
 * offset, such as a state that counts calls. seed and offset are i64 tensors of rank 0 (or one element), or C integers.
 */
#ifndef TENSOR_COMPILE_OPS_RANDOM_H
#define TENSOR_COMPILE_OPS_RANDOM_H

#include "../model.h"

/* tc_random_bits(g, seed, offset, dim...)
 * The words themselves, 0 to 2^32 - 1.
 * Dtypes: i64 for seed, offset and the result.
 * Shape: the dims.
 * ATen: none. */
#define tc_random_bits(g, seed, offset, ...)                                                                          \
    tc_random_bits_at(TC_HERE, g, TC_OPERAND(seed), TC_OPERAND(offset), TC_DIM_LIST(TC_I64, __VA_ARGS__))
tc_tensor tc_random_bits_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                             const tc_dim *dtype_and_shape);

/* tc_random_uniform(g, seed, offset, dim...)
 * Uniform in [0, 1): the word's upper 24 bits times 2^-24.
 * Dtypes: i64 for seed and offset; the result is f32.
 * Shape: the dims.
 * Numerics: exact.
 * ATen: rand, with other numbers.
 * ONNX: RandomUniform, with other numbers. */
#define tc_random_uniform(g, seed, offset, ...)                                                                       \
    tc_random_uniform_at(TC_HERE, g, TC_OPERAND(seed), TC_OPERAND(offset), TC_DIM_LIST(TC_F32, __VA_ARGS__))
tc_tensor tc_random_uniform_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                               const tc_dim *dtype_and_shape);

/* tc_random_normal(g, seed, offset, dim...)
 * Normal with mean 0 and variance 1 (Box and Muller): of two neighbouring words' uniform numbers u and v, elements 2k
 * and 2k + 1 are r cos(2 pi v) and r sin(2 pi v), r = sqrt(-2 log(u + 2^-24)), so that no value is beyond 5.77.
 * Dtypes: i64 for seed and offset; the result is f32.
 * Shape: the dims.
 * ATen: randn, with other numbers.
 * ONNX: RandomNormal, with other numbers. */
#define tc_random_normal(g, seed, offset, ...)                                                                        \
    tc_random_normal_at(TC_HERE, g, TC_OPERAND(seed), TC_OPERAND(offset), TC_DIM_LIST(TC_F32, __VA_ARGS__))
tc_tensor tc_random_normal_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                              const tc_dim *dtype_and_shape);

/* tc_dropout(x, p, seed, offset)
 * 0 with probability p (a C number), else x * (1 / (1 - p)): an element stays where its uniform number is at least p.
 * Dtypes: floats; i64 for seed and offset.
 * Shape: that of x.
 * Numerics: f16 and bf16 in f32, rounded once.
 * Errors: p outside 0..1.
 * ATen: dropout with train=True, with other numbers.
 * ONNX: Dropout with training_mode, with other numbers. */
#define tc_dropout(x, p, seed, offset) tc_dropout_at(TC_HERE, x, p, TC_OPERAND(seed), TC_OPERAND(offset))
tc_tensor tc_dropout_at(tc_site at, tc_tensor x, double p, tc_operand seed, tc_operand offset);

/* tc_random_exponential(g, seed, offset, dim...)
 * Exponential with mean 1: -log(1 - u) of a uniform number u, +0 of 0.
 * Dtypes: i64 for seed and offset; the result is f32.
 * Shape: the dims.
 * ATen: exponential, with other numbers. */
#define tc_random_exponential(g, seed, offset, ...)                                                                   \
    tc_random_exponential_at(TC_HERE, g, TC_OPERAND(seed), TC_OPERAND(offset), TC_DIM_LIST(TC_F32, __VA_ARGS__))
tc_tensor tc_random_exponential_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int count,
                                   const tc_dim *dtype_and_shape);

/* tc_random_integers(g, seed, offset, low, high, dim...)
 * Uniform integers low..high - 1, C integers: low + ((word * (high - low)) >> 32).
 * Dtypes: i64 for seed, offset and the result.
 * Shape: the dims.
 * Numerics: an integer is at most 2^-32 more probable than another.
 * Errors: not low < high, or more than 2^31 integers.
 * ATen: randint, with other numbers. */
#define tc_random_integers(g, seed, offset, low, high, ...)                                                           \
    tc_random_integers_at(TC_HERE, g, TC_OPERAND(seed), TC_OPERAND(offset), low, high, TC_DIM_LIST(TC_I64, __VA_ARGS__))
tc_tensor tc_random_integers_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, int64_t low, int64_t high,
                                int count, const tc_dim *dtype_and_shape);

/* tc_random_permutation(g, seed, offset, size)
 * The numbers 0..size - 1 in the order of as many words; of equal words the lower number first.
 * Dtypes: i64 for seed, offset and the result.
 * Shape: [size].
 * ATen: randperm, with other numbers. */
#define tc_random_permutation(g, seed, offset, size)                                                                  \
    tc_random_permutation_at(TC_HERE, g, TC_OPERAND(seed), TC_OPERAND(offset), TC_DIM(size))
tc_tensor tc_random_permutation_at(tc_site at, tc_graph *g, tc_operand seed, tc_operand offset, tc_dim size);

/* tc_bernoulli(p, seed, offset)
 * 1 with probability p, each element its own, else 0: where a uniform number is below p.
 * Dtypes: floats, the result p's; i64 for seed and offset.
 * Shape: that of p.
 * ATen: bernoulli, with other numbers.
 * ONNX: Bernoulli, with other numbers. */
#define tc_bernoulli(p, seed, offset) tc_bernoulli_at(TC_HERE, p, TC_OPERAND(seed), TC_OPERAND(offset))
tc_tensor tc_bernoulli_at(tc_site at, tc_tensor p, tc_operand seed, tc_operand offset);

/* tc_multinomial(p, count, replacement, seed, offset)
 * Of each row of shares p, `count` classes drawn in proportion to them. With replacement: the first class whose prefix
 * sum of shares is above a uniform number times all of them. Without: the classes of the largest p / e, e an
 * exponential number of each, at least 2^-25; classes with the share 0 come last.
 * Dtypes: f32 for p, i64 for the result, seed and offset.
 * Shape: [rows, count] of p[rows, classes]; [count] of [classes].
 * ATen: multinomial, with other numbers.
 * ONNX: Multinomial, of shares instead of their logarithms. */
#define tc_multinomial(p, count, replacement, seed, offset)                                                           \
    tc_multinomial_at(TC_HERE, p, TC_DIM(count), replacement, TC_OPERAND(seed), TC_OPERAND(offset))
tc_tensor tc_multinomial_at(tc_site at, tc_tensor p, tc_dim count, bool replacement, tc_operand seed, tc_operand offset);

#endif
