/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a person is in a photograph: on a board without an operating system, or hosted. No heap, no stdio on the
 * board.
 */
#include <stdint.h>

#include "vww.h" /* made from vww.tflite */

enum { SIDE = 96, PIXELS = SIDE * SIDE * 3, HEADER = 13 };

/* Photographs as they are: PPM, 96 x 96, three bytes a pixel behind a header of 13 bytes. */
#define PHOTOGRAPH(name)                                                                                               \
    __asm__(".section .rodata\n.balign 4\n.global " #name "\n" #name ":\n.incbin \"" PHOTOGRAPHS "/" #name             \
            ".ppm\"\n.text\n");                                                                                        \
    extern const unsigned char name[HEADER + PIXELS]
PHOTOGRAPH(astronaut);
PHOTOGRAPH(coffee);

static tc_context context;
static _Alignas(64) unsigned char arena[VWW_ARENA_BYTES];
static int8_t image[PIXELS], scores[2]; /* no person, person */

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

static int look(void)
{
    if (vww(&context, &(vww_args){.input_1_int8 = image, .Identity_int8 = scores}) == TC_STATUS_OK)
        return 1;
    print(context.error.message);
    print("\n");
    return 0;
}

static int say(const char *name, const unsigned char *photograph)
{
    for (int i = 0; i < PIXELS; ++i)
        image[i] = (int8_t)(photograph[HEADER + i] - 128); /* the network takes (q + 128) / 255 */
    if (!look())
        return 0;
    print(name);
    print(scores[1] > scores[0] ? ": a person " : ": nobody ");
    print_number((uint32_t)(((scores[1] > scores[0] ? scores[1] : scores[0]) + 128) * 100 / 256));
    print(" %\n");
    return 1;
}

#ifdef BARE_METAL
static int measure(void)
{
    start_clock();
    if (!look())
        return 0;
    const uint32_t call = thousand_instructions();
    print("flash: ");
    print_number((uint32_t)(__code_end - __code_start) - 2 * (uint32_t)sizeof astronaut);
    print(" bytes without the photographs; RAM: ");
    print_number((uint32_t)(__bss_end - __data_start));
    print(" bytes and the stack, of them ");
    print_number(sizeof arena);
    print(" the arena and ");
    print_number(sizeof image);
    print(" the image\nthousand instructions: ");
    print_number(call);
    print(" a call\n");
    return 1;
}
#endif

int main(void)
{
    tc_context_init(&context, arena, sizeof arena);
    if (!say("astronaut", astronaut) || !say("coffee", coffee))
        return 1;
#ifdef BARE_METAL
    if (!measure())
        return 1;
#endif
    return 0;
}
