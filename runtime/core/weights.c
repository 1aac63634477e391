/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of external weights (written by generator/tensor_compile/emit/weights.py), little-endian:
 *
 *     0  "TCWEIGHT"
 *     8  u32 version of this format, 1
 *    12  u32 bytes of this header, 128
 *    16  u64 bytes of the payload
 *    24  32 bytes: the model's layout hash
 *    56  32 bytes: SHA-256 of the payload
 *    88  zeros
 *   120  u64 FNV-1a of bytes 0..119
 */
#include "internal.h"

static uint64_t read_little(const unsigned char *p, int n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | p[n];
    return value;
}

/* The cheap part, done at every call: the right model's file of the right size. */
int tc_weights_fit(const tc_model *model, const void *weights)
{
    const unsigned char *p = weights;
    return tc_bytes_equal(p, "TCWEIGHT", 8) && read_little(p + 8, 4) == 1 &&
           read_little(p + 12, 4) == TC_WEIGHTS_HEADER && read_little(p + 16, 8) == model->weights_bytes &&
           tc_bytes_equal(p + 24, model->layout, sizeof model->layout);
}

tc_status tc_weights_check(const tc_model *model, const void *weights, size_t bytes)
{
    if (!model || !weights)
        return TC_STATUS_NULL_POINTER;
    if (!tc_aligned(weights, TC_ALIGNMENT))
        return TC_STATUS_MISALIGNED;
    if (bytes < TC_WEIGHTS_HEADER || bytes - TC_WEIGHTS_HEADER != model->weights_bytes ||
        !tc_weights_fit(model, weights))
        return TC_STATUS_BAD_WEIGHTS;
    const unsigned char *p = weights;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < 120; ++i)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash == read_little(p + 120, 8) ? TC_STATUS_OK : TC_STATUS_BAD_WEIGHTS;
}
