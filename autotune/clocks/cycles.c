/* SPDX-License-Identifier: Apache-2.0
 *
 * Cycles of a Cortex-M: the DWT's counter of 32 bits, or SysTick's of 24 where there is no DWT (Cortex-M0+).
 */
#include "clock.h"
#include "ticks.h"

#include <stddef.h>

#define DEBUG_CONTROL (*(volatile uint32_t *)0xe000edfc)
#define DWT_CONTROL (*(volatile uint32_t *)0xe0001000)
#define DWT_CYCLES (*(volatile uint32_t *)0xe0001004)

enum { TRACE = 1 << 24 };

static int dwt;

const tc_clock tc_clock_used = {.sample = 1000};

const char *tc_clock_init(void)
{
    DEBUG_CONTROL |= TRACE;
    DWT_CONTROL |= 1;
    tc_ticks_init();
    const uint32_t cycles = DWT_CYCLES, ticks = SYSTICK_CURRENT;
    for (volatile int i = 0; i < 1000; ++i)
        ;
    dwt = DWT_CYCLES != cycles;
    return dwt || SYSTICK_CURRENT != ticks ? NULL : "neither DWT nor SysTick counts";
}

double tc_clock_begin(void)
{
    return dwt ? (double)DWT_CYCLES : tc_ticks_begin();
}

double tc_clock_end(double begin)
{
    return dwt ? (double)(DWT_CYCLES - (uint32_t)begin) : tc_ticks_end(begin);
}
