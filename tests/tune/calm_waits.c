/* SPDX-License-Identifier: Apache-2.0
 *
 * How long tc_calm_wait waits, in milliseconds: on a clock that goes on by 10 ms at once, as that of a thread does where
 * the system counts ticks, so that the known loop, of 20 us, takes nothing; and on a fine one, of which the loop takes its
 * usual time at once or never again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "calm.h"
#include "clock.h"

#define MS 1e6
enum { ENDLESS = 1 << 20 /* loops */ };

static double now, tick, takes = 20e3; /* nanoseconds */

double tc_clock_begin(void)
{
    return tick > 0 ? tick * (double)(long)(now / tick) : now;
}

double tc_clock_end(double begin)
{
    return tc_clock_begin() - begin;
}

static void known(void)
{
    static long loops;
    now += takes;
    if (++loops > ENDLESS) {
        puts("endless");
        exit(1);
    }
}

const tc_clock tc_clock_used = {.sample = 200e3, .known = known};

static double waited(tc_calm *calm, double apart)
{
    const double begin = now;
    tc_calm_wait(calm, apart, 0);
    return (now - begin) / MS;
}

int main(void)
{
    tc_calm fine = {0}, coarse = {0};
    tc_calm_begin(&fine);
    printf("apart %.1f\n", waited(&fine, 20 * MS));
    printf("calm %.2f\n", waited(&fine, 0));
    takes *= 2;
    printf("never calm %.0f\n", waited(&fine, 0));
    printf("no patience %.2f\n", waited(&fine, 0));
    takes /= 2, tick = 10 * MS;
    tc_calm_begin(&coarse);
    const double ticks = waited(&coarse, 20 * MS);
    printf("ticks %s\n", ticks >= 10 && ticks <= 20.1 ? "apart" : "otherwise");
    return 0;
}
