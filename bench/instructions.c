/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of server.c under an emulator: a nanosecond is an instruction that has run (autotune/plugin/count.c). Linked
 * with --wrap=clock_gettime.
 */
#define _POSIX_C_SOURCE 200809L
#include <clock.h> /* autotune/ */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    static int ready;
    (void)clock;
    const char *const wrong = ready ? NULL : tc_clock_init();
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        exit(1);
    }
    ready = 1;
    const int64_t count = (int64_t)tc_clock_begin();
    *t = (struct timespec){.tv_sec = (time_t)(count / 1000000000), .tv_nsec = (long)(count % 1000000000)};
    return 0;
}
