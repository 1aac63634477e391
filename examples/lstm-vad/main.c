/* SPDX-License-Identifier: Apache-2.0
 *
 * Listens to a stream of 16 kHz mono in chunks of 32 ms: silence, a tone that trembles as a voice does, silence. Prints the
 * probability for each chunk and what a call costs. Reads raw f32 samples from standard input where the first argument is
 * "-". With seeded weights the numbers mean nothing; README.md says where trained ones are.
 *
 *   lstm-vad [-]
 */
#include "model.h" /* made from model.c */

#include "../measure.h"

#include <math.h>

enum { CHUNK = 512, CHUNKS = 30, RATE = 16000 };

/* One second of the stream that stands for a recording: chunks 10 to 19 sound. */
static int make_chunk(float *samples, int number)
{
    for (int i = 0; i < CHUNK; i++) {
        const double t = (double)(number * CHUNK + i) / RATE;
        const double voice = sin(880 * t) + 0.5 * sin(1760 * t) + 0.3 * sin(2640 * t);
        samples[i] = number >= 10 && number < 20 ? (float)(0.2 * voice * (1 + 0.5 * sin(30 * t))) : 0;
    }
    return number < CHUNKS;
}

int main(int argc, char **argv)
{
    static _Alignas(64) unsigned char arena[VAD_ARENA_BYTES], state[VAD_STATE_BYTES]; /* nothing is allocated */
    static float samples[CHUNK];
    const int reads = argc > 1 && !strcmp(argv[1], "-");
    tc_context context;
    double total = 0, worst = 0;
    int count = 0;

    if (tc_context_init(&context, arena, sizeof arena) != TC_STATUS_OK || vad_state_init(state) != TC_STATUS_OK)
        return EXIT_FAILURE;
    while (reads ? fread(samples, sizeof samples, 1, stdin) == 1 : make_chunk(samples, count)) {
        float speech = 0;
        const double start = seconds_now();
        must(&context, vad(&context, &(vad_args){.samples = samples, .speech = &speech, .state = state}));
        const double taken = seconds_now() - start;
        printf("%6.3f s  %.3f  %.*s\n", (double)count * CHUNK / RATE, (double)speech, (int)(40 * speech + 0.5f),
               "########################################");
        total += taken;
        worst = taken > worst ? taken : worst;
        count++;
    }
    if (count)
        printf("%d chunks of 32 ms: %.3f ms a call, at most %.3f; arena %zu bytes, state %zu bytes\n", count,
               1e3 * total / count, 1e3 * worst, sizeof arena, sizeof state);
    return EXIT_SUCCESS;
}
