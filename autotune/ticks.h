/* SPDX-License-Identifier: Apache-2.0
 *
 * SysTick of a Cortex-M, for the clocks: ticks of 24 bits, counted downwards.
 */
#ifndef TC_AUTOTUNE_TICKS_H
#define TC_AUTOTUNE_TICKS_H

#include <stdint.h>

#define SYSTICK_CONTROL (*(volatile uint32_t *)0xe000e010)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xe000e014)
#define SYSTICK_CURRENT (*(volatile uint32_t *)0xe000e018)

static inline void tc_ticks_init(void)
{
    SYSTICK_RELOAD = 0xffffff;
    SYSTICK_CURRENT = 0;
    SYSTICK_CONTROL = 5; /* on, at the processor's clock, without interrupts */
}

static inline double tc_ticks_begin(void)
{
    SYSTICK_CURRENT = 0; /* begins anew with the next tick; clears that it ran out */
    while (SYSTICK_CURRENT == 0)
        ;
    return (double)SYSTICK_CURRENT;
}

/* As tc_clock_end. */
static inline double tc_ticks_end(double begin)
{
    const uint32_t now = SYSTICK_CURRENT;
    return SYSTICK_CONTROL & 1 << 16 ? -1.0 : begin - (double)now; /* it ran out */
}

#endif
