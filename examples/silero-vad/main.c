/* SPDX-License-Identifier: Apache-2.0
 *
 * When somebody speaks in a recording (WAV, 16 kHz, mono, 16 bits). The detector is silero_vad.onnx, which Meson hands to
 * tensor-compile as it is; neither ONNX Runtime nor Python is in the program.
 */
#include "silero_vad.h" /* made from silero_vad.onnx */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000, STEP = 512, CONTEXT = 64, WINDOW = CONTEXT + STEP, STATE = 128, CHUNK = 32, HEADER = 44 };

/* Samples of a WAV file as -1 to 1, behind CONTEXT zeros; *frames: whole steps. NULL after a message. Freed by the caller. */
static float *read_wav(const char *path, size_t *frames)
{
    unsigned char header[HEADER];
    int16_t sample;
    float *samples = NULL;
    size_t count = 0, room = 0;
    FILE *file = fopen(path, "rb");
    if (!file || fread(header, 1, HEADER, file) != HEADER || memcmp(header, "RIFF", 4) || header[22] != 1 ||
        header[24] + header[25] * 256 != RATE || header[34] != 16) {
        fprintf(stderr, "%s: not a WAV file of 16 kHz, one channel and 16 bits\n", path);
        if (file)
            fclose(file);
        return NULL;
    }
    while (fread(&sample, sizeof sample, 1, file) == 1) {
        if (CONTEXT + count >= room) {
            room = room ? 2 * room : RATE;
            float *larger = realloc(samples, room * sizeof *samples);
            if (!larger) {
                fprintf(stderr, "%s: out of memory\n", path);
                break;
            }
            if (!samples)
                memset(larger, 0, CONTEXT * sizeof *larger);
            samples = larger;
        }
        samples[CONTEXT + count++] = (float)sample / 32768.0f;
    }
    fclose(file);
    *frames = count / STEP;
    return samples;
}

int main(int argc, char **argv)
{
    static tc_context context;
    static _Alignas(64) unsigned char arena[SILERO_VAD_ARENA_BYTES];
    static float windows[CHUNK][WINDOW], probabilities[CHUNK], h[2][STATE], c[2][STATE]; /* h, c: before and after a call */
    const char *path = argc > 1 ? argv[1] : "speech.wav";
    size_t frames, begun = 0;
    int speaking = 0, parts = 0;
    float *samples = read_wav(path, &frames);
    if (!samples)
        return EXIT_FAILURE;

    tc_context_init(&context, arena, sizeof arena);
    for (size_t at = 0; at < frames; at += CHUNK) {
        const size_t count = frames - at < CHUNK ? frames - at : CHUNK;
        for (size_t i = 0; i < count; i++)
            memcpy(windows[i], samples + (at + i) * STEP, sizeof windows[i]);
        const tc_status status = silero_vad(&context, &(silero_vad_args){.sequence_length = (tc_index)count,
                                                                        .input = windows[0],
                                                                        .h = h[0],
                                                                        .c = c[0],
                                                                        .speech_probs = probabilities,
                                                                        .hn = h[1],
                                                                        .cn = c[1]});
        if (status != TC_STATUS_OK) {
            fprintf(stderr, "silero_vad: %s\n", tc_status_string(status));
            free(samples);
            return EXIT_FAILURE;
        }
        memcpy(h[0], h[1], sizeof h[0]);
        memcpy(c[0], c[1], sizeof c[0]);
        for (size_t i = 0; i < count; i++) {
            const int speech = probabilities[i] > 0.5f;
            if (speech && !speaking)
                begun = at + i;
            if (!speech && speaking)
                printf("speech %d: %5.2f s to %5.2f s\n", ++parts, (double)begun * STEP / RATE, (double)(at + i) * STEP / RATE);
            speaking = speech;
        }
    }
    if (speaking)
        printf("speech %d: %5.2f s to the end\n", ++parts, (double)begun * STEP / RATE);
    printf("%d parts with speech in %.2f s, %zu bytes of working memory\n", parts, (double)frames * STEP / RATE, sizeof arena);
    free(samples);
    return EXIT_SUCCESS;
}
