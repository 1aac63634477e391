/* SPDX-License-Identifier: Apache-2.0
 *
 * Embeds sentences of different lengths, given as token ids: each one by itself, then all as one padded batch, by one
 * compiled model whose batch and sequence length are dynamic. Prints how similar the sentences are and what calls cost.
 *
 *   minilm [THREADS]        (default: TC_NUM_THREADS, else the processors)
 */
#include "model.h" /* made from model.c */

#include "../measure.h"

#include <math.h>

enum { COUNT = 4, LONGEST = 24, HIDDEN = 384, ROUNDS = 9 };

typedef struct {
    const char *what;
    int length;
    int64_t ids[LONGEST];
} sentence;

/* As a BERT tokenizer gives them: 101 starts and 102 ends a sentence. */
static const sentence sentences[COUNT] = {
    {"a", 9, {101, 1037, 4937, 7719, 2006, 1996, 4057, 13523, 102}},
    {"a, one word longer", 10, {101, 1037, 2235, 4937, 7719, 2006, 1996, 4057, 13523, 102}},
    {"a, another ending", 9, {101, 1037, 4937, 7719, 2006, 1996, 6546, 3509, 102}},
    {"something else", 18, {101, 15756, 2015, 9559, 2582, 2084, 3674, 11287, 2064, 3113, 5091, 2029, 3084, 2068, 9202,
                            2000, 3191, 102}},
};

static void call(tc_context *context, tc_index batch, tc_index seq, const int64_t *ids, const int64_t *mask,
                 float *embedding) {
    must(context, minilm(context, &(minilm_args){.batch = batch, .seq = seq, .ids = ids, .mask = mask,
                                                 .embedding = embedding}));
}

/* Milliseconds of the fastest of some calls: what else the machine did is in the others. */
static double measure(tc_context *context, tc_index batch, tc_index seq, const int64_t *ids, const int64_t *mask,
                      float *embedding) {
    double best = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        const double start = seconds_now();
        call(context, batch, seq, ids, mask, embedding);
        const double taken = seconds_now() - start;
        best = i == 0 || taken < best ? taken : best;
    }
    return 1e3 * best;
}

static double cosine(const float *a, const float *b) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < HIDDEN; ++i) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

int main(int argc, char **argv) {
    static int64_t ids[COUNT * LONGEST], mask[COUNT * LONGEST];
    static float alone[COUNT * HIDDEN], together[COUNT * HIDDEN];
    tc_context context;
    tc_index seq = 0;

    const tc_index threads = threads_wanted(argc, argv);

    /* A batch is padded to its longest sentence: mask 1 is a token, 0 is padding. */
    for (int i = 0; i < COUNT; ++i)
        seq = sentences[i].length > seq ? sentences[i].length : seq;
    for (int i = 0; i < COUNT; ++i) {
        memcpy(ids + i * seq, sentences[i].ids, (size_t)sentences[i].length * sizeof *ids);
        for (int j = 0; j < sentences[i].length; ++j)
            mask[i * seq + j] = 1;
    }

    /* Working memory for the largest call made here; MINILM_ARENA_BYTES would serve every size that the model takes. */
    const size_t bytes = minilm_arena_bytes(COUNT, seq, threads);
    open_context(&context, threads, bytes);

    printf("arena: %.2f MiB for %d sentences of up to %d tokens and %d thread%s\n\n", mebibytes(bytes), COUNT,
           (int)seq, (int)threads, threads > 1 ? "s" : "");
    for (int i = 0; i < COUNT; ++i) { /* the same ids without padding: batch 1, their own length */
        const double ms = measure(&context, 1, sentences[i].length, ids + i * seq, mask + i * seq, alone + i * HIDDEN);
        printf("batch 1, %2d tokens: %7.2f ms a call\n", sentences[i].length, ms);
    }
    printf("batch %d, %2d tokens: %7.2f ms a call\n\n", COUNT, (int)seq,
           measure(&context, COUNT, seq, ids, mask, together));
    printf("padding and batching change %s\n\n", memcmp(alone, together, sizeof alone) ? "the embeddings" : "no bit");

    printf("%-20s", "cosine similarity");
    for (int i = 0; i < COUNT; ++i)
        printf("%7d", i + 1);
    putchar('\n');
    for (int i = 0; i < COUNT; ++i) {
        printf("%d %-18s", i + 1, sentences[i].what);
        for (int j = 0; j < COUNT; ++j)
            printf("%7.3f", cosine(together + i * HIDDEN, together + j * HIDDEN));
        putchar('\n');
    }
    return EXIT_SUCCESS;
}
