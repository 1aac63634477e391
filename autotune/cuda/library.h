/* SPDX-License-Identifier: Apache-2.0
 *
 * Algorithms of cuBLASLt as candidates: what a plan says of the product, and what the library proposes for it.
 */
#ifndef TC_AUTOTUNE_LIBRARY_H
#define TC_AUTOTUNE_LIBRARY_H

#include "../../runtime/cuda/products.h"

enum { TC_FIRST, TC_SECOND, TC_ADDED, TC_RESULT, TC_BIAS, TC_MATRIX_COUNT };
enum { TC_ALGORITHM_NAME = 192 };

/* A matrix of a product: a buffer's number, and where it begins there; buffer -1: there is none. */
typedef struct {
    int buffer;
    long long offset;
} tc_matrix_place;

/* most: algorithms that are asked for; 0: the case is no product of a library's. */
typedef struct {
    int most;
    tc_device_product product;
    tc_matrix_place places[TC_MATRIX_COUNT];
} tc_library_case;

void tc_library_begin(tc_library_case *one);

/* Reads a line `product …` or `matrix …` (main.c). Whether it is one. */
int tc_library_line(tc_library_case *one, const char *line);

/* The name of an algorithm in a lock, and back: whether it is one. */
void tc_library_name(const tc_device_product *product, char name[TC_ALGORITHM_NAME]);
int tc_library_named(tc_device_product *product, const char *name);

/* Fills `to` with what the library proposes, the best first; how many they are. */
int tc_library_propose(const tc_lt *lt, const tc_library_case *one, tc_device_product *to);

#endif
