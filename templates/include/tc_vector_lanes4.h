/* SPDX-License-Identifier: Apache-2.0
 *
 * Partial accesses of 4-lane registers where the instruction set has no masked ones (SSE2, NEON): lane by lane. Included
 * by those sets' headers behind their tcq_load_T and tcq_store_T.
 */
#ifndef TC_VECTOR_LANES4_H
#define TC_VECTOR_LANES4_H

static TC_INLINE tcq_f32 tcq_loadw_f32(const float *p, tc_index lo, tc_index hi, tcq_f32 other) {
    float t[4];
    tcq_store_f32(t, other);
    for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 4); ++l)
        t[l] = p[l];
    return tcq_load_f32(t);
}
static TC_INLINE void tcq_storen_f32(float *p, tc_index n, tcq_f32 x) {
    float t[4];
    tcq_store_f32(t, x);
    for (tc_index l = 0; l < tc_min(n, 4); ++l)
        p[l] = t[l];
}
static TC_INLINE tcq_i32 tcq_loadw_i32(const int32_t *p, tc_index lo, tc_index hi, tcq_i32 other) {
    int32_t t[4];
    tcq_store_i32(t, other);
    for (tc_index l = tc_max(lo, 0); l < tc_min(hi, 4); ++l)
        t[l] = p[l];
    return tcq_load_i32(t);
}
static TC_INLINE void tcq_storen_i32(int32_t *p, tc_index n, tcq_i32 x) {
    int32_t t[4];
    tcq_store_i32(t, x);
    for (tc_index l = 0; l < tc_min(n, 4); ++l)
        p[l] = t[l];
}

#endif
