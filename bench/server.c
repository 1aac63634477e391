/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmark process of one model, chosen by -DMODEL_NAME: server SIZES… INPUT_FILES… (see run.py).
 */
#include "model.h"
#include "server.h"

static tc_context context;
static tc_index sizes[2];
static const void *inputs[2];
static float *output;

#if defined MODEL_MLP || defined MODEL_DIGITS
enum { SIZES = 1, INPUTS = 1, OUTPUT = 10 };
#ifdef MODEL_MLP
#define CALL(name) mlp##name
#define ROW 784
#else
#define CALL(name) digits##name
#define ROW 64
#endif
static size_t input_bytes(int i)
{
    (void)i;
    return (size_t)sizes[0] * ROW * sizeof(float);
}
static int call(void)
{
    return CALL()(&context, &(CALL(_args)){.batch = sizes[0], .image = inputs[0],
#ifdef MODEL_MLP
                                           .logits = output
#else
                                           .probabilities = output
#endif
                                          }) != TC_STATUS_OK;
}
static size_t arena_bytes(void)
{
    return CALL(_arena_bytes)(sizes[0], 1);
}
#elif defined MODEL_MINILM
#ifndef HIDDEN
#define HIDDEN 384
#endif
enum { SIZES = 2, INPUTS = 2, OUTPUT = HIDDEN };
static size_t input_bytes(int i)
{
    (void)i;
    return (size_t)sizes[0] * (size_t)sizes[1] * sizeof(int64_t);
}
static int call(void)
{
    return minilm(&context, &(minilm_args){.batch = sizes[0], .seq = sizes[1], .ids = inputs[0], .mask = inputs[1],
                                           .embedding = output}) != TC_STATUS_OK;
}
static size_t arena_bytes(void)
{
    return minilm_arena_bytes(sizes[0], sizes[1], 1);
}
#endif

int main(int argc, char **argv)
{
    if (argc != 1 + SIZES + INPUTS)
        return 2;
    for (int i = 0; i < SIZES; i++)
        sizes[i] = atoi(argv[1 + i]);
    for (int i = 0; i < INPUTS; i++)
        inputs[i] = bench_read(argv[1 + SIZES + i], input_bytes(i));
    size_t bytes = ((size_t)arena_bytes() + 63) / 64 * 64 + 64;
    output = aligned_alloc(64, ((size_t)sizes[0] * OUTPUT * sizeof *output + 63) / 64 * 64);
    void *arena = aligned_alloc(64, bytes);
    if (!output || !arena || tc_context_init(&context, arena, bytes) != TC_STATUS_OK)
        return 1;
    return bench_serve(&(bench_model){call, output, (size_t)sizes[0] * OUTPUT * sizeof *output});
}
