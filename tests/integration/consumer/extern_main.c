/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the model of extern_model.c, which calls bubble_sort.
 */
#include "extern_model.h"

void bubble_sort(const void *const *in, void *const *out, const ptrdiff_t *const *in_shape, const ptrdiff_t *const *out_shape);

void bubble_sort(const void *const *in, void *const *out, const ptrdiff_t *const *in_shape, const ptrdiff_t *const *out_shape)
{
    const float *x = in[0];
    float *y = out[0];
    const ptrdiff_t n = in_shape[0][0];
    (void)out_shape;
    for (ptrdiff_t i = 0; i < n; ++i)
        y[i] = x[i];
    for (ptrdiff_t end = n; end > 1; --end) {
        for (ptrdiff_t i = 1; i < end; ++i) {
            if (y[i] < y[i - 1]) {
                const float larger = y[i - 1];
                y[i - 1] = y[i];
                y[i] = larger;
            }
        }
    }
}

int main(void)
{
    static _Alignas(64) unsigned char arena[SORTER_ARENA_BYTES];
    static tc_context ctx;
    float x[] = {3, -1, 7, 2}, y[4];
    tc_context_init(&ctx, arena, sizeof arena);
    if (sorter(&ctx, &(sorter_args){.n = 4, .x = x, .y = y}) != TC_STATUS_OK)
        return 1;
    return y[0] == 7 && y[1] == 3 && y[2] == 2 && y[3] == -1 ? 0 : 2;
}
