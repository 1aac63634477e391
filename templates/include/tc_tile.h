/* SPDX-License-Identifier: Apache-2.0
 *
 * An accumulator of the contraction template: one register of the instruction set, or one float where there are no
 * vectors. tct_join makes the 16-lane value, in which epilogues are computed, of a panel's registers.
 */
#ifndef TC_TILE_H
#define TC_TILE_H

#include "tc_kernel.h"
#include "tc_micro.h"
#include "tc_scalar.h"

#if defined(TC_ISA_SCALAR)

typedef float tct_f32;
static inline tct_f32 tct_zero(void) {
    return 0.0f;
}
static inline tct_f32 tct_load(const float *p) {
    return *p;
}
static inline void tct_store(float *p, tct_f32 x) {
    *p = x;
}
static inline tct_f32 tct_splat(float x) {
    return x;
}
static inline tct_f32 tct_fma(tct_f32 a, tct_f32 b, tct_f32 c) {
    return tc_fma_f32(a, b, c);
}
static inline tct_f32 tct_add(tct_f32 a, tct_f32 b) {
    return a + b;
}

#else

#include "tc_vector.h"

typedef tcq_f32 tct_f32;
static inline tct_f32 tct_zero(void) {
    return tcq_splat_f32(0.0f);
}
static inline tct_f32 tct_load(const float *p) {
    return tcq_load_f32(p);
}
static inline void tct_store(float *p, tct_f32 x) {
    tcq_store_f32(p, x);
}
static inline tct_f32 tct_splat(float x) {
    return tcq_splat_f32(x);
}
static inline tct_f32 tct_fma(tct_f32 a, tct_f32 b, tct_f32 c) {
    return tcq_fma_f32(a, b, c);
}
static inline tct_f32 tct_add(tct_f32 a, tct_f32 b) {
    return tcq_add_f32(a, b);
}
#define tct_join(...) ((tcv_f32){__VA_ARGS__})

#endif

#endif
