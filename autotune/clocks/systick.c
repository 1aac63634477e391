/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions on an emulated Cortex-M whose time is instructions (qemu-system-arm -icount). SysTick counts ticks of the
 * emulated processor's clock; how many instructions one is depends on the board, so a loop of known length tells.
 */
#include "clock.h"
#include "ticks.h"

#include <stddef.h>

enum { TURNS = 1 << 20 };

static double tick; /* instructions */

const tc_clock tc_clock_used = {.sample = 100e3, .exact = 1};

const char *tc_clock_init(void)
{
    tc_ticks_init();
    const double begin = tc_ticks_begin();
    uint32_t left = TURNS;
    __asm__ volatile("1: subs %0, %0, #1\n\tbne 1b" : "+l"(left) : : "cc");
    const double ticks = tc_ticks_end(begin);
    if (ticks < 1)
        return "SysTick does not count";
    tick = 2.0 * TURNS / ticks;
    return NULL;
}

double tc_clock_begin(void)
{
    return tc_ticks_begin();
}

double tc_clock_end(double begin)
{
    return tc_ticks_end(begin) * tick;
}
