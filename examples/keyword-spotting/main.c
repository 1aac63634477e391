/* SPDX-License-Identifier: Apache-2.0
 *
 * Which word is in a second of sound: on a board without an operating system, or hosted. No heap, no stdio on the
 * board.
 */
#include <stdint.h>
#include <string.h>

#include "mfcc.h" /* made from mfcc.c */
#include "kws.h"      /* made from kws.tflite */

enum { RATE = 16000, FRAME = 480, STEP = 320, FRAMES = 49, COEFFICIENTS = 10, WORDS = 12, HEADER = 44 };

static const char *const words[WORDS] = {"down",  "go",   "left", "no",  "off",     "on",
                                         "right", "stop", "up",   "yes", "silence", "unknown"};

/* The recording: a WAV file of 16 kHz, one channel, 16 bits, as it is. */
__asm__(".section .rodata\n.balign 4\n"
        ".global recording\nrecording:\n.incbin \"" CLIP "\"\n"
        ".global recording_end\nrecording_end:\n.text\n");
extern const unsigned char recording[], recording_end[];

/* What the network takes, of a word that somebody else's front end has worked on. */
static const int8_t sample[FRAMES * COEFFICIENTS] = {
#include "sample.inc"
};

static tc_context context;
/* The two models are called one behind the other: one arena serves both. */
enum { ARENA = (int)KWS_ARENA_BYTES > (int)MFCC_ARENA_BYTES ? (int)KWS_ARENA_BYTES : (int)MFCC_ARENA_BYTES };
static _Alignas(64) unsigned char arena[ARENA];

#ifdef BARE_METAL
void semihosting_text(const char *text);
extern unsigned char __code_start[], __code_end[], __data_start[], __bss_end[];

static void print(const char *text)
{
    semihosting_text(text);
}

/* SysTick counts 24 bits down at MEGAHERTZ; under qemu -icount shift=0 an instruction is a nanosecond. */
static void start_clock(void)
{
    *(volatile uint32_t *)0xe000e014 = 0xffffff;
    *(volatile uint32_t *)0xe000e018 = 0;
    *(volatile uint32_t *)0xe000e010 = 5;
}

static uint32_t thousand_instructions(void)
{
    return (0xffffff - *(volatile uint32_t *)0xe000e018) / MEGAHERTZ;
}
#else
#include <stdio.h>

static void print(const char *text)
{
    fputs(text, stdout);
}
#endif

static void print_number(uint32_t n)
{
    char text[12];
    int at = 11;
    text[at] = 0;
    do
        text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    print(text + at);
}

static int failed(tc_status status)
{
    if (status == TC_STATUS_OK)
        return 0;
    print(context.error.message);
    print("\n");
    return 1;
}

/* The features of a second that begins there. */
static int listen(const unsigned char *bytes, int8_t features_out[FRAMES * COEFFICIENTS])
{
    static int16_t samples[FRAME];
    int32_t loudest = 1;
    for (int i = 0; i < RATE; ++i) {
        const int16_t s = (int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
        if (s > loudest || -s > loudest)
            loudest = s < 0 ? -s : s;
    }
    const float gain = 1.0f / (float)loudest;
    for (int frame = 0; frame < FRAMES; ++frame) {
        memcpy(samples, bytes + 2 * frame * STEP, sizeof samples); /* little-endian, as the machine */
        if (failed(mfcc(&context, &(mfcc_args){.samples = samples, .gain = &gain,
                                               .coefficients = features_out + frame * COEFFICIENTS})))
            return 0;
    }
    return 1;
}

static int say(const int8_t input[FRAMES * COEFFICIENTS])
{
    static int8_t scores[WORDS];
    int best = 0;
    if (failed(kws(&context, &(kws_args){.input_1 = input, .Identity = scores})))
        return 0;
    for (int i = 1; i < WORDS; ++i)
        best = scores[i] > scores[best] ? i : best;
    print(words[best]);
    print(" ");
    print_number((uint32_t)((scores[best] + 128) * 100 / 256));
    print(" %\n");
    return 1;
}

#ifdef BARE_METAL
/* What one frame of the front end and one second of the network cost. */
static int measure(void)
{
    static int16_t samples[FRAME];
    static int8_t coefficients[COEFFICIENTS], scores[WORDS];
    const float gain = 1.0f / 32768.0f;
    memcpy(samples, recording + HEADER, sizeof samples);
    start_clock();
    if (failed(mfcc(&context, &(mfcc_args){.samples = samples, .gain = &gain, .coefficients = coefficients})))
        return 0;
    const uint32_t frame = thousand_instructions();
    start_clock();
    if (failed(kws(&context, &(kws_args){.input_1 = sample, .Identity = scores})))
        return 0;
    const uint32_t network = thousand_instructions();
    print("flash: ");
    print_number((uint32_t)(__code_end - __code_start) - (uint32_t)(recording_end - recording));
    print(" bytes without the recording; RAM: ");
    print_number((uint32_t)(__bss_end - __data_start));
    print(" bytes and the stack, of them ");
    print_number(ARENA);
    print(" the arena\nthousand instructions: ");
    print_number(frame);
    print(" a frame, of 50 in a second; ");
    print_number(network);
    print(" the network\n");
    return 1;
}
#endif

int main(void)
{
    static int8_t heard[FRAMES * COEFFICIENTS];
    tc_context_init(&context, arena, sizeof arena);
    print("a stored word: ");
    if (!say(sample))
        return 1;
    for (const unsigned char *at = recording + HEADER; at + 2 * RATE <= recording_end; at += RATE / 5 * 2) {
        print("the recording from ");
        print_number((uint32_t)((at - recording - HEADER) / (2 * RATE / 1000)));
        print(" ms on: ");
        if (!listen(at, heard) || !say(heard))
            return 1;
    }
#ifdef BARE_METAL
    if (!measure())
        return 1;
#endif
    return 0;
}
