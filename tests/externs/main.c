/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the compiled model of model.c, linked with user.c, and prints what it gives.
 */
#include <stdio.h>

#include "model.h"

static _Alignas(64) unsigned char arena[1 << 16];

int main(void)
{
    static tc_context ctx;
    float x[20], scaled[20], sums[4], all[20], constant[10];
    int32_t counts[16];
    uint16_t h[6] = {0x3c00, 0x4000, 0xbc00, 0, 0x7c00, 0x0001}, bits[6];
    tc_context_init(&ctx, arena, sizeof arena);
    for (int n = 3; n <= 4; ++n) { /* the specialized variant and the generic one */
        for (int i = 0; i < 5 * n; ++i)
            x[i] = (float)(i - 7);
        if (externs_rows(&ctx, &(externs_rows_args){.n = n, .x = x, .scaled = scaled, .sums = sums, .counts = counts}) != TC_STATUS_OK ||
            externs_looped(&ctx, &(externs_looped_args){.n = n, .x = x, .all = all}) != TC_STATUS_OK)
            return 1;
        for (int i = 0; i < 5 * n; ++i)
            printf("%g %g ", (double)scaled[i], (double)all[i]);
        for (int i = 0; i < n; ++i)
            printf("%g %d %d ", (double)sums[i], (int)counts[4 * i], (int)counts[4 * i + 3]);
        puts("");
    }
    if (externs_halves(&ctx, &(externs_halves_args){.h = h, .bits = bits, .constant = constant}) != TC_STATUS_OK)
        return 1;
    for (int i = 0; i < 6; ++i)
        printf("%x ", bits[i]);
    printf("%g %g\n", (double)constant[0], (double)constant[9]);
    return 0;
}
