/* SPDX-License-Identifier: Apache-2.0
 *
 * Cycles of a Cortex-M: the DWT's counter of 32 bits, or SysTick's of 24 where there is no DWT (Cortex-M0+).
 */
#include "clock.h"

#include <stddef.h>
#include <stdint.h>

#define DEBUG_CONTROL (*(volatile uint32_t *)0xe000edfc)
#define DWT_CONTROL (*(volatile uint32_t *)0xe0001000)
#define DWT_CYCLES (*(volatile uint32_t *)0xe0001004)
#define SYSTICK_CONTROL (*(volatile uint32_t *)0xe000e010)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xe000e014)
#define SYSTICK_CURRENT (*(volatile uint32_t *)0xe000e018)

enum { MOST = 0xffffff, RAN_OUT = 1 << 16, TRACE = 1 << 24 };

static int dwt;

const tc_clock tc_clock_used = {.sample = 1000};

const char *tc_clock_init(void)
{
    DEBUG_CONTROL |= TRACE;
    DWT_CONTROL |= 1;
    SYSTICK_RELOAD = MOST;
    SYSTICK_CURRENT = 0;
    SYSTICK_CONTROL = 5; /* on, at the processor's clock, without interrupts */
    const uint32_t cycles = DWT_CYCLES, ticks = SYSTICK_CURRENT;
    for (volatile int i = 0; i < 1000; ++i)
        ;
    dwt = DWT_CYCLES != cycles;
    return dwt || SYSTICK_CURRENT != ticks ? NULL : "neither DWT nor SysTick counts";
}

double tc_clock_begin(void)
{
    if (dwt)
        return (double)DWT_CYCLES;
    SYSTICK_CURRENT = 0; /* begins anew with the next tick; clears RAN_OUT */
    while (SYSTICK_CURRENT == 0)
        ;
    return (double)SYSTICK_CURRENT;
}

double tc_clock_end(double begin)
{
    if (dwt)
        return (double)(DWT_CYCLES - (uint32_t)begin);
    const uint32_t now = SYSTICK_CURRENT;
    return SYSTICK_CONTROL & RAN_OUT ? -1.0 : begin - (double)now;
}
