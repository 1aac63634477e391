/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the bits of every output for the same images on every machine, hosted or not: no heap and no stdio where there
 * is no operating system.
 */
#include "model.h"

#include <string.h>

#ifdef BARE_METAL
void semihosting_text(const char *text);
static void print(const char *text) {
    semihosting_text(text);
}
#else
#include <stdio.h>
static void print(const char *text) {
    fputs(text, stdout);
}
#endif

enum { MOST = 4, PIXELS = 64, CLASSES = 10 };

static void print_bits(const float *values, int count) {
    for (int i = 0; i < count; ++i) {
        uint32_t bits;
        char text[] = "00000000 ";
        memcpy(&bits, &values[i], sizeof bits);
        for (int digit = 7; digit >= 0; --digit, bits >>= 4)
            text[digit] = "0123456789abcdef"[bits & 15];
        print(text);
    }
    print("\n");
}

int main(void) {
    static tc_context context;
    static _Alignas(64) unsigned char arena[DIGITS_ARENA_BYTES];
    static float image[MOST * PIXELS], logits[MOST * CLASSES], probabilities[MOST * CLASSES];
    uint32_t state = 1;

    for (int i = 0; i < MOST * PIXELS; ++i) {
        state = state * 1664525u + 1013904223u;
        image[i] = (float)(state >> 28) * 0.0625f; /* sixteenths, as the images of the training set */
    }
    tc_context_init(&context, arena, sizeof arena);
    for (tc_index batch = 1; batch <= MOST; ++batch) {
        const tc_status status = digits(&context, &(digits_args){.batch = batch, .image = image, .logits = logits,
                                                                 .probabilities = probabilities});
        if (status != TC_STATUS_OK) {
            print(context.error.message);
            print("\n");
            return 1;
        }
        print_bits(logits, (int)batch * CLASSES);
        print_bits(probabilities, (int)batch * CLASSES);
    }
    return 0;
}
