/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the threads of a pool on processors of their own. Threads that wake up together are often put on one processor by
 * Linux, and stay there for tens of milliseconds: they take turns, and the whole team waits for them, so calls take
 * twice their time. Who finds another thread of its team on its processor moves to one that has none. It is free to be
 * moved by the system from there: its set of processors stays what it was.
 */
#ifndef TC_HOSTED_PLACES_H
#define TC_HOSTED_PLACES_H

#include <tensor_compile/runtime.h>

typedef struct tc_places tc_places;

/* Of `threads` threads, number 0 is the one that calls. NULL: there are fewer processors, one thread, another system than
 * Linux, or no memory; then no thread is moved. */
tc_places *tc_places_create(tc_index threads);

/* NULL is accepted. */
void tc_places_destroy(tc_places *p);

/* The calling thread, which is `thread`, is about to work. Number 0 is not moved: others make room for it. Costs some
 * nanoseconds where it runs where it did. p: NULL is accepted. */
void tc_places_settle(tc_places *p, tc_index thread);

/* The thread is about to sleep: where it was is free. p: NULL is accepted. */
void tc_places_leave(tc_places *p, tc_index thread);

#endif
