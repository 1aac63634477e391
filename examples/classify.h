/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of the classifying networks do: seeded pictures in batches of three sizes; what a call costs, what
 * memory it takes, and that a picture gets the same logits in every batch.
 */
#ifndef CLASSIFY_H
#define CLASSIFY_H

#include "measure.h"

typedef struct {
    tc_status (*call)(tc_context *context, tc_index batch, const float *image, float *logits);
    size_t (*arena_bytes)(tc_index batch, tc_index threads);
    size_t picture, classes; /* elements of one picture and of its logits */
} classifier;

/* main's result */
static inline int classify(const classifier *model, tc_index threads)
{
    enum { LARGEST = 8, ROUNDS = 5 };
    static const tc_index batches[] = {1, 4, LARGEST};
    float *image = aligned_memory(sizeof(float) * LARGEST * model->picture);
    float *logits = aligned_memory(sizeof(float) * LARGEST * model->classes);
    float *first = aligned_memory(sizeof(float) * model->classes);
    tc_context context;
    int same = 1;

    open_context(&context, threads, model->arena_bytes(LARGEST, threads));
    fill(image, LARGEST * model->picture, 1);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        double best = 0;
        for (int round = 0; round < ROUNDS; round++) {
            const double start = seconds_now();
            must(&context, model->call(&context, batches[i], image, logits));
            const double taken = seconds_now() - start;
            best = round == 0 || taken < best ? taken : best;
        }
        printf("batch %d: %8.2f ms a picture, arena %6.2f MiB\n", (int)batches[i], 1e3 * best / (double)batches[i],
               mebibytes(model->arena_bytes(batches[i], threads)));
        if (i == 0)
            memcpy(first, logits, sizeof(float) * model->classes);
        same &= !memcmp(first, logits, sizeof(float) * model->classes);
    }
    const size_t class = index_of_largest(first, model->classes);
    printf("the first picture is of class %zu (logit %.4f), with the same bits in %s batch\n", class,
           (double)first[class], same ? "every" : "NOT every");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
