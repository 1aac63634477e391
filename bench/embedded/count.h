/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions on an emulated board (-icount shift=0: an instruction a nanosecond), stack, and numbers as text. TICK:
 * picoseconds of one tick, from run.py.
 */
#ifndef COUNT_H
#define COUNT_H

#include <stdint.h>

void semihosting_text(const char *text);

static uint32_t count_ticks(void)
{
#ifdef __riscv
    uint32_t now;
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, minstret\n\t.option pop" : "=r"(now));
    return now;
#else
    return 0xffffff - *(volatile uint32_t *)0xe000e018; /* SysTick goes downwards */
#endif
}

static void count_start(void)
{
#ifndef __riscv
    *(volatile uint32_t *)0xe000e014 = 0xffffff; /* 24 bits, at the clock of the processor */
    *(volatile uint32_t *)0xe000e018 = 0;
    *(volatile uint32_t *)0xe000e010 = 5;
#endif
}

/* Instructions since `start`, as they were counted by then. */
static uint32_t count_since(uint32_t start)
{
#ifdef __riscv
    return count_ticks() - start;
#else
    return (uint32_t)((uint64_t)((count_ticks() - start) & 0xffffff) * TICK / 1000);
#endif
}

/* Unused stack is painted; what is not painted any more was used. */
extern uint32_t __stack_end;

enum { PAINTED = 16384, LEFT = 256, PAINT = 0x5a };

static unsigned char *stack_bottom(void)
{
    return (unsigned char *)&__stack_end - PAINTED;
}

static __attribute__((noinline)) void stack_paint(void)
{
    volatile unsigned char *here = (volatile unsigned char *)__builtin_frame_address(0) - LEFT;
    for (volatile unsigned char *p = stack_bottom(); p < here; ++p)
        *p = PAINT;
}

/* The bytes below the frame `top` of the function that painted. */
static uint32_t stack_used(const void *top)
{
    const unsigned char *p = stack_bottom();
    while (p < (const unsigned char *)top && *p == PAINT)
        ++p;
    return (uint32_t)((const unsigned char *)top - p);
}

static void print_number(const char *name, uint32_t n)
{
    char text[12];
    int at = 11;
    semihosting_text(name);
    text[at] = 0;
    do
        text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    semihosting_text(text + at);
    semihosting_text("\n");
}

#endif
