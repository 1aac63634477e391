/* SPDX-License-Identifier: Apache-2.0
 *
 * Two models in one program, one built by the generator and one by a custom target, and two contexts of each, all in
 * threads at the same time: the outputs have the bits of calls made alone.
 */
#include "decoder.h"
#include "model.h" /* digits */
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 37, PIXELS = 64, CLASSES = 10, TOKENS = 24, VOCABULARY = 96, ROUNDS = 40 };

static float images[IMAGES * PIXELS];
static int32_t tokens[TOKENS];

typedef struct results {
    float probabilities[IMAGES][CLASSES];
    float logits[TOKENS][VOCABULARY];
} results;

typedef struct worker {
    _Alignas(64) unsigned char arena[DIGITS_ARENA_BYTES > DECODER_MODEL_ARENA_BYTES ? DIGITS_ARENA_BYTES
                                                                                    : DECODER_MODEL_ARENA_BYTES];
    _Alignas(64) unsigned char state[DECODER_MODEL_STATE_BYTES];
    tc_context context; /* neutral to models: one for both */
    results got;
    const results *want;
    int classifies, decodes, failed;
} worker;

static int classify(worker *w)
{
    int failed = 0;
    for (tc_index at = 0, batch; at < IMAGES; at += batch) {
        batch = at ? 32 : IMAGES - 32;
        failed |= digits(&w->context, &(digits_args){.batch = batch, .image = images + at * PIXELS,
                                                     .probabilities = w->got.probabilities[at]});
    }
    return failed;
}

static int decode(worker *w)
{
    int failed = decoder_model_state_init(w->state) |
                 decoder_model_prefill(&w->context, &(decoder_model_prefill_args){.length = TOKENS / 2, .ids = tokens,
                                                                                  .logits = w->got.logits[0],
                                                                                  .state = w->state});
    for (tc_index past = TOKENS / 2; past < TOKENS; ++past)
        failed |= decoder_model_decode(&w->context,
                                       &(decoder_model_decode_args){.past = past, .ids = tokens + past,
                                                                    .logits = w->got.logits[past], .state = w->state});
    return failed;
}

static void *work(void *argument)
{
    worker *w = argument;
    for (int round = 0; round < ROUNDS; ++round) {
        memset(&w->got, 0xff, sizeof w->got);
        if (w->classifies)
            w->failed |=
                classify(w) || memcmp(w->got.probabilities, w->want->probabilities, sizeof w->got.probabilities);
        if (w->decodes)
            w->failed |= decode(w) || memcmp(w->got.logits, w->want->logits, sizeof w->got.logits);
    }
    return NULL;
}

static worker *worker_new(const results *want, int classifies, int decodes)
{
    worker *w = aligned_alloc(64, sizeof *w);
    if (!w)
        exit(1);
    memset(w, 0, sizeof *w);
    tc_context_init(&w->context, w->arena, sizeof w->arena);
    w->want = want;
    w->classifies = classifies;
    w->decodes = decodes;
    return w;
}

int main(void)
{
    uint32_t random = 1;
    for (int i = 0; i < IMAGES * PIXELS; ++i) {
        random = random * 1664525u + 1013904223u;
        images[i] = (float)(random >> 28) * 0.0625f;
    }
    for (int i = 0; i < TOKENS; ++i)
        tokens[i] = (i * i * 7 + 3) % VOCABULARY;

    worker *alone = worker_new(NULL, 0, 0);
    tc_ok(!classify(alone), "one model");
    tc_ok(!decode(alone), "another one, with the same context and arena");

    static const char *const names[] = {"classifies", "decodes", "classifies too", "decodes too", "does both in turn"};
    worker *workers[] = {worker_new(&alone->got, 1, 0), worker_new(&alone->got, 0, 1), worker_new(&alone->got, 1, 0),
                         worker_new(&alone->got, 0, 1), worker_new(&alone->got, 1, 1)};
    enum { WORKERS = sizeof workers / sizeof *workers };
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; ++i)
        if (pthread_create(&threads[i], NULL, work, workers[i]))
            exit(1);
    for (int i = 0; i < WORKERS; ++i) {
        pthread_join(threads[i], NULL);
        tc_ok(!workers[i]->failed, "at the same time a thread %s", names[i]);
        free(workers[i]);
    }
    free(alone);
    return tc_done();
}
