/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read before and after the calls of a candidate. One file of clocks/ is linked: `tune --count` says which.
 */
#ifndef TC_AUTOTUNE_CLOCK_H
#define TC_AUTOTUNE_CLOCK_H

/* sample: a sample lasts at least that long. exact: equal calls count equally, so one round is enough and the least
 * wins. known: a loop that takes a tenth of a sample, longer while other work shares the core; NULL where none does. */
typedef struct {
    double sample;
    int exact;
    void (*known)(void);
} tc_clock;

extern const tc_clock tc_clock_used;

/* Returns NULL, or why it does not count here. */
const char *tc_clock_init(void);

/* Before the calls of a sample. */
double tc_clock_begin(void);

/* After them: what has passed since, in the clock's unit; negative where the counter may have begun anew. */
double tc_clock_end(double begin);

#endif
