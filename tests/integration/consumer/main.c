/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the model for every batch: y = 2x + 1 and the sum of each row, both exact in f32.
 */
#include "model.h"
#include "sizes.h"

int main(void) {
    static tc_context context;
    static _Alignas(64) unsigned char arena[SCALE_ARENA_BYTES + 64];
    float x[8 * COLUMNS], y[8 * COLUMNS], total[8];

    tc_context_init(&context, arena, sizeof arena);
    for (int i = 0; i < 8 * COLUMNS; ++i)
        x[i] = (float)i;
    for (tc_index batch = 1; batch <= 8; ++batch) {
        if (scale(&context, &(scale_args){.batch = batch, .x = x, .y = y, .total = total}) != TC_STATUS_OK)
            return 1;
        for (int row = 0; row < batch; ++row) {
            float sum = 0;
            for (int i = row * COLUMNS; i < (row + 1) * COLUMNS; ++i) {
                sum += x[i];
                if (y[i] != 2 * x[i] + 1)
                    return 2;
            }
            if (total[row] != sum)
                return 3;
        }
    }
    return scale(&context, &(scale_args){.batch = 9, .x = x, .y = y, .total = total}) == TC_STATUS_DIM_OUT_OF_RANGE ? 0 : 4;
}
