/* SPDX-License-Identifier: Apache-2.0
 *
 * The same language model on an NVIDIA GPU, by `meson setup -Dcuda=true`: continues prompts of three lengths greedily. The
 * cache, the ids and the logits stay on the device; what comes back is one row of logits a token. Without a GPU it says
 * what is missing.
 */
#include "model.h" /* made from model.c with --target cuda */

#include "../gpu.h"
#include "sizes.h"

enum { LONGEST = 128, MADE = 16, ROW = VOCABULARY * sizeof(float) };

/* "The quick brown fox jumps over the lazy dog", then seeded ids up to the longest prompt */
static int32_t tokens[LONGEST + MADE] = {464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290};

int main(void)
{
    static const tc_index prompts[] = {9, 32, LONGEST};
    static tc_context context;
    const size_t prefill_bytes = gpt2_prefill_arena_bytes(LONGEST + MADE, 1);
    const size_t decode_bytes = gpt2_decode_arena_bytes(LONGEST + MADE, 1);
    tc_cuda *cuda = open_gpu(&context, &gpt2_model, prefill_bytes > decode_bytes ? prefill_bytes : decode_bytes);
    float *last = aligned_memory(ROW);
    void *state = aligned_memory(GPT2_STATE_BYTES);
    must(&context, gpt2_state_init(state));
    void *d_state = gpu_memory(&context, cuda, state, GPT2_STATE_BYTES);
    int32_t *d_ids = gpu_memory(&context, cuda, NULL, sizeof tokens);
    float *d_logits = gpu_memory(&context, cuda, NULL, (size_t)(LONGEST + MADE) * ROW);
    float *d_last = gpu_memory(&context, cuda, NULL, ROW);
    uint32_t seed = 1;
    for (int i = 9; i < LONGEST; i++)
        tokens[i] = (int32_t)((seed = seed * 1664525u + 1013904223u) >> 8) % VOCABULARY;

    for (size_t i = 0; i < 2 * sizeof prompts / sizeof *prompts; i++) { /* twice: the first calls are recorded */
        const tc_index prompt = prompts[i / 2];
        const int shown = i % 2;
        int32_t ids[LONGEST + MADE];
        memcpy(ids, tokens, sizeof ids);
        to_gpu(&context, cuda, d_state, state, GPT2_STATE_BYTES);
        to_gpu(&context, cuda, d_ids, ids, sizeof ids);
        must(&context, tc_cuda_finish(cuda, NULL, &context.error));
        const double start = seconds_now();
        const gpt2_prefill_args all = {.length = prompt, .ids = d_ids, .logits = d_logits, .state = d_state};
        must(&context, gpt2_prefill_cuda(&context, &all, NULL));
        from_gpu(&context, cuda, last, d_logits + (size_t)(prompt - 1) * VOCABULARY, ROW);
        const double read = seconds_now();
        if (shown)
            printf("prompt of %d:", (int)prompt);
        for (tc_index at = prompt;; at++) {
            ids[at] = (int32_t)index_of_largest(last, VOCABULARY);
            if (shown)
                printf(" %d", (int)ids[at]);
            if (at == prompt + MADE - 1)
                break;
            to_gpu(&context, cuda, d_ids, &ids[at], sizeof ids[at]);
            const gpt2_decode_args one = {.past = at, .ids = d_ids, .logits = d_last, .state = d_state};
            must(&context, gpt2_decode_cuda(&context, &one, NULL));
            from_gpu(&context, cuda, last, d_last, ROW);
        }
        if (shown)
            printf("\n  prefill %.2f ms, then %.2f ms a token\n", 1e3 * (read - start),
                   1e3 * (seconds_now() - read) / (MADE - 1));
    }
    tc_cuda_close(cuda);
    return EXIT_SUCCESS;
}
