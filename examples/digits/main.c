/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifies digits that the network has never seen, prints the share it gets right and draws a few.
 */
#include "held_out.h"
#include "model.h" /* made from model.c */

#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 64, CLASSES = 10, BATCH = 32, DRAWN = 5 };

static int best(const float *probabilities) {
    int winner = 0;
    for (int c = 1; c < CLASSES; ++c)
        if (probabilities[c] > probabilities[winner])
            winner = c;
    return winner;
}

static void draw(const float *image) {
    static const char *const shades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
    for (int row = 0; row < 8; ++row) {
        printf("    ");
        for (int column = 0; column < 8; ++column)
            printf("%s", shades[(int)(image[row * 8 + column] * 4.0f + 0.5f)]);
        putchar('\n');
    }
}

int main(int argc, char **argv) {
    static tc_context context;                                   /* nothing is global but what you declare */
    static _Alignas(64) unsigned char arena[DIGITS_ARENA_BYTES]; /* all the memory a call works in */
    struct held_out data;
    int right = 0;

    if (held_out_read(&data, argc > 1 ? argv[1] : "held-out.safetensors"))
        return EXIT_FAILURE;
    float *probabilities = malloc(data.count * CLASSES * sizeof *probabilities);
    if (!probabilities)
        return EXIT_FAILURE;

    tc_context_init(&context, arena, sizeof arena);
    for (size_t at = 0; at < data.count; at += BATCH) {
        size_t batch = data.count - at < BATCH ? data.count - at : BATCH; /* 32, and the generic variant for the rest */
        tc_status status = digits(&context, &(digits_args){
                                                .batch = (tc_index)batch,
                                                .image = data.images + at * PIXELS,
                                                .probabilities = probabilities + at * CLASSES,
                                            });
        if (status != TC_STATUS_OK) {
            fprintf(stderr, "digits: %s\n", tc_status_string(status));
            return EXIT_FAILURE;
        }
    }

    for (size_t i = 0; i < data.count; ++i) {
        const float *p = probabilities + i * CLASSES;
        right += best(p) == data.labels[i];
        if (i % (data.count / DRAWN + 1) == 0) {
            draw(data.images + i * PIXELS);
            printf("  looks like %d (%.1f %% sure), is %d\n\n", best(p), 100.0 * p[best(p)], (int)data.labels[i]);
        }
    }
    printf("%d of %zu held-out digits right: %.2f %%\n", right, data.count, 100.0 * right / (double)data.count);
    free(probabilities);
    held_out_free(&data);
    return EXIT_SUCCESS;
}
