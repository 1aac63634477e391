/* SPDX-License-Identifier: Apache-2.0
 *
 * The macros under model.h and ops.h; nothing here is for use by itself.
 */
#ifndef TENSOR_COMPILE_DETAIL_H
#define TENSOR_COMPILE_DETAIL_H

#if defined(__GNUC__)
#define TC_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define TC_UNUSED __attribute__((unused))
#define TC_CONSTRUCTOR __attribute__((constructor))
#define TC_AT_LEAVING(function) __attribute__((cleanup(function)))
#else
#error "model.c is compiled for the build machine by GCC or Clang"
#endif

/* The place of the user's call, for messages. */
#define TC_HERE ((tc_site){__FILE__, __LINE__})

/* The file that the call stands in, whatever #line says of model.c: NULL is model.c itself. */
#define TC_OWN_FILE_ (__INCLUDE_LEVEL__ ? __FILE__ : (const char *)0)

/* Number of arguments, 1 to 16. */
#define TC_COUNT(...) TC_COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TC_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count

/* First argument, second, and all but the first; callers append arguments so that there is always another. */
#define TC_HEAD(first, ...) first
#define TC_SECOND(first, second, ...) second
#define TC_TAIL(first, ...) __VA_ARGS__

/* An integer or a tc_dim as a tc_dim. */
#define TC_DIM(x)                                                                                                     \
    _Generic((x), tc_dim: tc_dim_same_, char: tc_dim_int_, signed char: tc_dim_int_, unsigned char: tc_dim_int_,      \
             short: tc_dim_int_, unsigned short: tc_dim_int_, int: tc_dim_int_, unsigned: tc_dim_int_,                \
             long: tc_dim_int_, long long: tc_dim_int_, unsigned long: tc_dim_uint_,                                  \
             unsigned long long: tc_dim_uint_, float: tc_dim_of_float_, double: tc_dim_of_float_)(x)

/* A list of 1 to 16 of them. */
#define TC_DIMS(...) TC_DIMS_N_(TC_COUNT(__VA_ARGS__), __VA_ARGS__)
#define TC_DIMS_N_(n, ...) TC_DIMS_CAT_(TC_DIMS_, n)(__VA_ARGS__)
#define TC_DIMS_CAT_(a, b) TC_DIMS_CAT__(a, b)
#define TC_DIMS_CAT__(a, b) a##b
#define TC_DIMS_1(a) TC_DIM(a)
#define TC_DIMS_2(a, ...) TC_DIM(a), TC_DIMS_1(__VA_ARGS__)
#define TC_DIMS_3(a, ...) TC_DIM(a), TC_DIMS_2(__VA_ARGS__)
#define TC_DIMS_4(a, ...) TC_DIM(a), TC_DIMS_3(__VA_ARGS__)
#define TC_DIMS_5(a, ...) TC_DIM(a), TC_DIMS_4(__VA_ARGS__)
#define TC_DIMS_6(a, ...) TC_DIM(a), TC_DIMS_5(__VA_ARGS__)
#define TC_DIMS_7(a, ...) TC_DIM(a), TC_DIMS_6(__VA_ARGS__)
#define TC_DIMS_8(a, ...) TC_DIM(a), TC_DIMS_7(__VA_ARGS__)
#define TC_DIMS_9(a, ...) TC_DIM(a), TC_DIMS_8(__VA_ARGS__)
#define TC_DIMS_10(a, ...) TC_DIM(a), TC_DIMS_9(__VA_ARGS__)
#define TC_DIMS_11(a, ...) TC_DIM(a), TC_DIMS_10(__VA_ARGS__)
#define TC_DIMS_12(a, ...) TC_DIM(a), TC_DIMS_11(__VA_ARGS__)
#define TC_DIMS_13(a, ...) TC_DIM(a), TC_DIMS_12(__VA_ARGS__)
#define TC_DIMS_14(a, ...) TC_DIM(a), TC_DIMS_13(__VA_ARGS__)
#define TC_DIMS_15(a, ...) TC_DIM(a), TC_DIMS_14(__VA_ARGS__)
#define TC_DIMS_16(a, ...) TC_DIM(a), TC_DIMS_15(__VA_ARGS__)
/* The same with its number: two arguments of a function. */
#define TC_DIM_LIST(...) TC_COUNT(__VA_ARGS__), (const tc_dim[]){TC_DIMS(__VA_ARGS__)}

/* Lists as two arguments of a function: number, elements. */
#define TC_INT_LIST(...) (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__}
#define TC_TENSOR_LIST(...)                                                                                           \
    (int)(sizeof((const tc_tensor[]){__VA_ARGS__}) / sizeof(tc_tensor)), (const tc_tensor[]){__VA_ARGS__}
/* Of `x, axis...` with no axis or more: the axes. */
#define TC_AXIS_LIST(...) TC_COUNT(__VA_ARGS__) - 1, (const int[]){TC_TAIL(__VA_ARGS__, 0)}

/* What options of 2 and 3 axes begin as: `.padding = 1` sets the first element alone, `.padding = {1, 0}` all. What is
 * left of this tells the first from the second: one number is meant for every axis. */
#define TC_EACH_ (-2147483647 - 1)
#define TC_EACH_2_ {0, TC_EACH_}
#define TC_EACH_3_ {0, TC_EACH_, TC_EACH_}
#define TC_EACH_REAL_ (-0x1p-1000)
#define TC_PADDED_2_ .stride = TC_EACH_2_, .padding = TC_EACH_2_, .low = TC_EACH_2_, .high = TC_EACH_2_
#define TC_PADDED_3_ .stride = TC_EACH_3_, .padding = TC_EACH_3_, .low = TC_EACH_3_, .high = TC_EACH_3_
#define TC_WINDOWS_2_ TC_PADDED_2_, .dilation = TC_EACH_2_
#define TC_WINDOWS_3_ TC_PADDED_3_, .dilation = TC_EACH_3_

/* A tensor or a number as an operand. */
#define TC_OPERAND(x)                                                                                                 \
    _Generic((x), tc_tensor: tc_operand_tensor_, void *: tc_operand_null_, float: tc_operand_float_,                  \
             double: tc_operand_float_, _Bool: tc_operand_int_, char: tc_operand_int_, signed char: tc_operand_int_,  \
             unsigned char: tc_operand_int_, short: tc_operand_int_, unsigned short: tc_operand_int_,                 \
             int: tc_operand_int_, unsigned: tc_operand_int_, long: tc_operand_int_, long long: tc_operand_int_)(x)

#endif
