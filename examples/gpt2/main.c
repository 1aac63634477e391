/* SPDX-License-Identifier: Apache-2.0
 *
 * Continues a prompt of token ids greedily: `prefill` reads it, `decode` makes one token after the other from the cache.
 * Prints the ids, what both cost for prompts of three lengths, and that the cache changes no bit.
 *
 *   gpt2 [THREADS]        (default: TC_NUM_THREADS, else the processors)
 */
#include "model.h" /* made from model.c */

#include "../measure.h"
#include "sizes.h"

enum { LONGEST = 128, MADE = 16 };

/* "The quick brown fox jumps over the lazy dog", then seeded ids up to the longest prompt */
static int32_t tokens[LONGEST + MADE] = {464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290};

int main(int argc, char **argv)
{
    static const tc_index prompts[] = {9, 32, LONGEST};
    const tc_index threads = threads_wanted(argc, argv);
    const size_t prefill_bytes = gpt2_prefill_arena_bytes(LONGEST + MADE, threads);
    const size_t decode_bytes = gpt2_decode_arena_bytes(LONGEST + MADE, threads);
    float *logits = aligned_memory(sizeof(float) * (LONGEST + MADE) * VOCABULARY);
    float *last = aligned_memory(sizeof(float) * VOCABULARY);
    void *state = aligned_memory(GPT2_STATE_BYTES);
    tc_context context;
    int same = 1;

    open_context(&context, threads, prefill_bytes > decode_bytes ? prefill_bytes : decode_bytes);
    uint32_t seed = 1;
    for (int i = 9; i < LONGEST; i++)
        tokens[i] = (int32_t)((seed = seed * 1664525u + 1013904223u) >> 8) % VOCABULARY;

    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        const tc_index prompt = prompts[i];
        int32_t ids[LONGEST + MADE];
        memcpy(ids, tokens, sizeof ids);
        if (gpt2_state_init(state) != TC_STATUS_OK)
            return EXIT_FAILURE;
        const double start = seconds_now();
        must(&context, gpt2_prefill(&context, &(gpt2_prefill_args){.length = prompt, .ids = ids, .logits = logits,
                                                                   .state = state}));
        const double read = seconds_now();
        memcpy(last, logits + (size_t)(prompt - 1) * VOCABULARY, sizeof(float) * VOCABULARY);
        printf("prompt of %d:", (int)prompt);
        for (tc_index at = prompt;; at++) {
            ids[at] = (int32_t)index_of_largest(last, VOCABULARY);
            printf(" %d", (int)ids[at]);
            if (at == prompt + MADE - 1)
                break;
            must(&context, gpt2_decode(&context, &(gpt2_decode_args){.past = at, .ids = ids + at, .logits = last,
                                                                     .state = state}));
        }
        const double end = seconds_now();
        printf("\n  prefill %.1f ms (arena %.2f MiB), then %.1f ms a token (arena %.2f MiB)\n", 1e3 * (read - start),
               mebibytes(gpt2_prefill_arena_bytes(prompt, threads)), 1e3 * (end - read) / (MADE - 1),
               mebibytes(gpt2_decode_arena_bytes(prompt + MADE - 1, threads)));

        /* the last logits again, without a cache: all tokens but the last one made, as one prompt */
        const tc_index length = prompt + MADE - 1;
        must(&context, gpt2_prefill(&context, &(gpt2_prefill_args){.length = length, .ids = ids, .logits = logits,
                                                                   .state = state}));
        same &= !memcmp(last, logits + (size_t)(length - 1) * VOCABULARY, sizeof(float) * VOCABULARY);
    }
    printf("the cache changes %s\n", same ? "no bit" : "the logits");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
