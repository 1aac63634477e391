/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions on an emulated Cortex-M whose time is instructions (qemu-system-arm -icount). SysTick counts ticks of the
 * emulated processor's clock; how many instructions one is depends on the board, so a loop of known length tells.
 */
#include "clock.h"

#include <stddef.h>
#include <stdint.h>

#define CONTROL (*(volatile uint32_t *)0xe000e010)
#define RELOAD (*(volatile uint32_t *)0xe000e014)
#define CURRENT (*(volatile uint32_t *)0xe000e018)

enum { MOST = 0xffffff, TURNS = 1 << 20, RAN_OUT = 1 << 16 };

static double tick; /* instructions */

const tc_clock tc_clock_used = {.sample = 100e3, .exact = 1};

static double ticks_begin(void)
{
    CURRENT = 0; /* begins anew with the next tick; clears RAN_OUT */
    while (CURRENT == 0)
        ;
    return (double)CURRENT;
}

static double ticks_end(double begin)
{
    const uint32_t now = CURRENT;
    return CONTROL & RAN_OUT ? -1.0 : begin - (double)now;
}

const char *tc_clock_init(void)
{
    RELOAD = MOST;
    CONTROL = 5; /* on, at the processor's clock, without interrupts */
    const double begin = ticks_begin();
    uint32_t left = TURNS;
    __asm__ volatile("1: subs %0, %0, #1\n\tbne 1b" : "+l"(left) : : "cc");
    const double ticks = ticks_end(begin);
    if (ticks < 1)
        return "SysTick does not count";
    tick = 2.0 * TURNS / ticks;
    return NULL;
}

double tc_clock_begin(void)
{
    return ticks_begin();
}

double tc_clock_end(double begin)
{
    return ticks_end(begin) * tick;
}
