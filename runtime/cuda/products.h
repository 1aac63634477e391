/* SPDX-License-Identifier: Apache-2.0
 *
 * Products that cuBLASLt computes, for models whose tuning lock names it. The library is found at run time, by the
 * version that the model was tuned with, and the declarations are ours.
 */
#ifndef TC_CUDA_PRODUCTS_H
#define TC_CUDA_PRODUCTS_H

#include <tensor_compile/driver.h>

#include "api.h"

/* Of an algorithm: what the library asks itself, and what it says of one. */
typedef struct tc_lt_algorithm {
    uint64_t words[8];
} tc_lt_algorithm;

typedef struct tc_lt_found {
    tc_lt_algorithm algorithm;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} tc_lt_found;

/* X(field, symbol, result, parameters). */
#define TC_LT_FUNCTIONS(X)                                                                                             \
    X(version, "cublasLtGetVersion", size_t, (void))                                                                   \
    X(status_name, "cublasLtGetStatusName", const char *, (int status))                                                \
    X(create, "cublasLtCreate", int, (void **handle))                                                                  \
    X(destroy, "cublasLtDestroy", int, (void *handle))                                                                 \
    X(operation_create, "cublasLtMatmulDescCreate", int, (void **operation, int compute, int scale))                   \
    X(operation_destroy, "cublasLtMatmulDescDestroy", int, (void *operation))                                          \
    X(operation_set, "cublasLtMatmulDescSetAttribute", int,                                                            \
      (void *operation, int attribute, const void *value, size_t bytes))                                               \
    X(layout_create, "cublasLtMatrixLayoutCreate", int,                                                                \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t stride))                                      \
    X(layout_destroy, "cublasLtMatrixLayoutDestroy", int, (void *layout))                                              \
    X(preference_create, "cublasLtMatmulPreferenceCreate", int, (void **preference))                                   \
    X(preference_destroy, "cublasLtMatmulPreferenceDestroy", int, (void *preference))                                  \
    X(preference_set, "cublasLtMatmulPreferenceSetAttribute", int,                                                     \
      (void *preference, int attribute, const void *value, size_t bytes))                                              \
    X(propose, "cublasLtMatmulAlgoGetHeuristic", int,                                                                  \
      (void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference, int most,                  \
       tc_lt_found *found, int *count))                                                                                \
    X(check, "cublasLtMatmulAlgoCheck", int,                                                                           \
      (void *handle, void *operation, void *a, void *b, void *c, void *d, const tc_lt_algorithm *algorithm,            \
       tc_lt_found *found))                                                                                            \
    X(multiply, "cublasLtMatmul", int,                                                                                 \
      (void *handle, void *operation, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, \
       const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const tc_lt_algorithm *algorithm,     \
       void *workspace, size_t workspace_bytes, void *stream))

/* The library, open for the current context. handle NULL: it is not. */
typedef struct tc_lt {
#define TC_LT_FIELD(field, symbol, result, parameters) result(*field) parameters;
    TC_LT_FUNCTIONS(TC_LT_FIELD)
#undef TC_LT_FIELD
    void *handle;
    char name[32]; /* of its file */
} tc_lt;

/* A product as the library knows it. The library takes matrices by columns: its first operand is the model's second
 * one. */
typedef struct tc_lt_plan {
    void *operation, *first, *second, *added, *result;
} tc_lt_plan;

/* Loads the library of a major version and makes its handle. Returns NULL, or why not: static storage, or lt's. */
const char *tc_lt_open(tc_lt *lt, unsigned major);
void tc_lt_close(tc_lt *lt);

/* Each returns what the library answers: 0, or a status. A plan that was not made whole is dropped as well. */
int tc_lt_plan_make(const tc_lt *lt, const tc_device_product *product, tc_lt_plan *plan);
void tc_lt_plan_drop(const tc_lt *lt, tc_lt_plan *plan);

/* Whether the product's algorithm can run here with the workspace that it has. */
int tc_lt_plan_check(const tc_lt *lt, const tc_device_product *product, const tc_lt_plan *plan);

/* Puts the product on a stream. */
int tc_lt_multiply(const tc_lt *lt, const tc_device_product *product, const tc_lt_plan *plan,
                   const tc_device_operands *at, void *stream);

/* Elements of the product's bias in the result's dtype: `to` has 2 bytes for each. */
void tc_lt_round(uint16_t *to, const float *from, size_t count, tc_dtype dtype);

#endif
