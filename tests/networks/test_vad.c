/* SPDX-License-Identifier: Apache-2.0
 *
 * The streaming detector of examples/lstm-vad, chunk by chunk with its state in between, against stored probabilities and
 * stored final states.
 *
 *   test_vad EXPECTED.safetensors TOLERANCE PAIR:FRAMES...
 *
 * Pair K: `K.in.input` [frames, 576], each frame its 64 samples of context and 512 new ones; `K.in.h`, `K.in.c`;
 * `K.out.speech_probs`, `K.out.hn`, `K.out.cn`.
 */
#include "vad.h"
#include "safetensors.h"
#include "tap.h"

#include <math.h>

enum { CONTEXT = 64, FRAME = 576, HIDDEN = 128 };

static _Alignas(64) unsigned char arena[VAD_ARENA_BYTES], state[VAD_STATE_BYTES];

static void *read_pair(const char *path, const char *pair, const char *name, size_t count)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", pair, name);
    return tc_read_tensor(path, full, count * sizeof(float));
}

static double largest_difference(const float *a, const float *b, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        const double error = fabs((double)a[i] - (double)b[i]);
        worst = error <= worst ? worst : error; /* a NaN counts */
    }
    return worst;
}

static void test_pair(const char *path, double tolerance, const char *pair, int frames)
{
    static const char *const after[] = {"h", "c"};
    float *input = read_pair(path, pair, "in.input", (size_t)frames * FRAME);
    float *want = read_pair(path, pair, "out.speech_probs", (size_t)frames);
    float *got = malloc((size_t)frames * sizeof *got);
    tc_context context;
    tc_status status = tc_context_init(&context, arena, sizeof arena);
    status = status == TC_STATUS_OK ? vad_state_init(state) : status;
    if (!got || status != TC_STATUS_OK)
        exit(1);
    for (int i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "in.%s", after[i]);
        float *data = read_pair(path, pair, name, HIDDEN);
        status = status == TC_STATUS_OK ? vad_state_import(state, after[i], data, HIDDEN * sizeof *data) : status;
        free(data);
    }
    status = status == TC_STATUS_OK ? vad_state_import(state, "context", input, CONTEXT * sizeof *input) : status;
    for (int i = 0; i < frames && status == TC_STATUS_OK; i++)
        status = vad(&context, &(vad_args){.samples = input + i * FRAME + CONTEXT, .speech = got + i, .state = state});
    const double error = largest_difference(got, want, frames);
    tc_ok(status == TC_STATUS_OK && error <= tolerance, "pair %s: the probability of each of %d frames", pair, frames);
    tc_note("largest error %.2g; \"%s\"", error, context.error.message);
    for (int i = 0; i < 2; i++) {
        char name[16];
        float data[HIDDEN];
        snprintf(name, sizeof name, "out.%sn", after[i]);
        float *wanted = read_pair(path, pair, name, HIDDEN);
        status = vad_state_export(state, after[i], data, sizeof data);
        tc_ok(status == TC_STATUS_OK && largest_difference(data, wanted, HIDDEN) <= 10 * tolerance,
              "pair %s: %s behind the last", pair, after[i]);
        free(wanted);
    }
    free(input);
    free(want);
    free(got);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    for (int i = 3; i < argc; i++) {
        char pair[8];
        int frames;
        if (sscanf(argv[i], "%7[^:]:%d", pair, &frames) != 2)
            return 2;
        test_pair(argv[1], strtod(argv[2], NULL), pair, frames);
    }
    return tc_done();
}
