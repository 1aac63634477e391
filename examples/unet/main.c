/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments a drawn picture, a bright disc on a dark ground, in three sizes with one compiled model: what a call costs, what
 * memory it takes, and a sketch of the most probable class of each pixel. The weights are not trained, so the classes
 * follow edges and brightness and mean nothing.
 *
 *   unet [THREADS]        (default: TC_NUM_THREADS, else the processors)
 */
#include "model.h" /* made from model.c */

#include "../measure.h"
#include "sizes.h"

enum { ROUNDS = 5, ROWS = 12, COLUMNS = 48 };

static void draw(float *image, tc_index height, tc_index width)
{
    for (tc_index c = 0; c < 3; c++)
        for (tc_index y = 0; y < height; y++)
            for (tc_index x = 0; x < width; x++) {
                const double dy = ((double)y + 0.5) / (double)height - 0.5, dx = ((double)x + 0.5) / (double)width - 0.5;
                *image++ = dx * dx + dy * dy < 0.09 ? 0.9f - 0.2f * (float)c : -0.8f;
            }
}

int main(int argc, char **argv)
{
    static const tc_index sizes[][2] = {{64, 64}, {96, 160}, {LARGEST, LARGEST}};
    const tc_index threads = threads_wanted(argc, argv);
    float *image = aligned_memory(sizeof(float) * 3 * LARGEST * LARGEST);
    float *probabilities = aligned_memory(sizeof(float) * CLASSES * LARGEST * LARGEST);
    tc_context context;

    open_context(&context, threads, unet_arena_bytes(LARGEST, LARGEST, threads));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const tc_index height = sizes[i][0], width = sizes[i][1];
        double best = 0;
        draw(image, height, width);
        for (int round = 0; round < ROUNDS; round++) {
            const double start = seconds_now();
            must(&context, unet(&context, &(unet_args){.height = height, .width = width, .image = image,
                                                       .probabilities = probabilities}));
            const double taken = seconds_now() - start;
            best = round == 0 || taken < best ? taken : best;
        }
        printf("%3d x %3d: %8.2f ms, arena %6.2f MiB\n", (int)height, (int)width, 1e3 * best,
               mebibytes(unet_arena_bytes(height, width, threads)));
    }
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            const size_t pixel = (size_t)((2 * row + 1) * LARGEST / (2 * ROWS)) * LARGEST +
                                 (size_t)((2 * column + 1) * LARGEST / (2 * COLUMNS));
            float each[CLASSES];
            for (size_t c = 0; c < CLASSES; c++)
                each[c] = probabilities[c * LARGEST * LARGEST + pixel];
            putchar(".#"[index_of_largest(each, CLASSES) % 2]);
        }
        putchar('\n');
    }
    return EXIT_SUCCESS;
}
