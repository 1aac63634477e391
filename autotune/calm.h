/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits until the processor is as it usually is at its best, so that a slow phase of a shared machine, or a rare fast
 * one, does not decide between candidates.
 *
 * A loop of known work (clock.h) tells: it takes longer while other work shares the core or its clock. Its usual time is
 * the lower quartile of the times that it took when samples were about to begin. A phase that is there for less than a
 * quarter of the time is waited for no more than a slow one: what is decided in it would not be found again.
 */
#ifndef TC_AUTOTUNE_CALM_H
#define TC_AUTOTUNE_CALM_H

enum { TC_CALM_KEPT = 128 };

/* times: of the loop, the last TC_CALM_KEPT at most, at `count` modulo that the next one; patience: what may be waited
 * until the case ends. All in the clock's unit. */
typedef struct {
    double times[TC_CALM_KEPT];
    long count;
    double patience;
} tc_calm;

/* A case begins. A tc_calm is zero before the first. */
void tc_calm_begin(tc_calm *calm);

/* At least `apart` passes, and more until the loop takes its usual time or patience ends, but for the part `later` of
 * it. Nothing where the clock has no loop. */
void tc_calm_wait(tc_calm *calm, double apart, double later);

#endif
