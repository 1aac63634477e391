/* SPDX-License-Identifier: Apache-2.0
 *
 * What model.c calls: docs/externs.md has the rules.
 */
#include <stddef.h>
#include <stdint.h>
void user_scale(const void *const *in, void *const *out, const ptrdiff_t *const *is, const ptrdiff_t *const *os)
{
    const float *x = in[0], *w = in[1]; float *y = out[0];
    for (ptrdiff_t i = 0; i < is[0][0]; ++i)
        for (ptrdiff_t j = 0; j < is[0][1]; ++j)
            y[i * is[0][1] + j] = x[i * is[0][1] + j] * w[j] - 1;
    (void)os;
}
void user_rows(const void *const *in, void *const *out, const ptrdiff_t *const *is, const ptrdiff_t *const *os)
{
    const float *x = in[0]; float *s = out[0]; int32_t *c = out[1];
    for (ptrdiff_t i = 0; i < is[0][0]; ++i) {
        s[i] = 0; c[2 * i] = 0; c[2 * i + 1] = (int32_t)i;
        for (ptrdiff_t j = 0; j < is[0][1]; ++j) { s[i] += x[i * is[0][1] + j]; c[2 * i] += x[i * is[0][1] + j] > 0; }
    }
    (void)os;
}

/* The patterns of 16-bit floats. */
void user_bits(const void *const *in, void *const *out, const ptrdiff_t *const *is, const ptrdiff_t *const *os)
{
    const uint16_t *x = in[0];
    uint16_t *y = out[0];
    for (ptrdiff_t i = 0; i < is[0][0]; ++i)
        y[i] = x[i];
    (void)os;
}
