/* SPDX-License-Identifier: Apache-2.0
 *
 * The processors that the threads of a pool are on (places.h).
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getcpu, cpu_set_t */
#endif
#include "places.h"

#if defined(__linux__)

#include <sched.h>
#include <stdlib.h>

enum { NOBODY = 0, NOWHERE = -1 };

/* Threads write their own entry of `at`, and take what is free, or what is theirs, of `owner`. */
struct tc_places {
    int refused;                 /* the system moves no thread of this program: none asks again */
    unsigned owner[CPU_SETSIZE]; /* of each processor: 1 + the thread that is on it, or NOBODY */
    int at[];                    /* of each thread: the processor that it owns, or NOWHERE */
};

tc_places *tc_places_create(tc_index threads)
{
    cpu_set_t allowed;
    if (threads < 2 || sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < threads)
        return NULL;
    tc_places *p = calloc(1, sizeof *p + (size_t)threads * sizeof *p->at);
    for (tc_index i = 0; p && i < threads; ++i)
        p->at[i] = NOWHERE;
    return p;
}

void tc_places_destroy(tc_places *p)
{
    free(p);
}

static int take(tc_places *p, int processor, unsigned from, unsigned to)
{
    return __atomic_compare_exchange_n(&p->owner[processor], &from, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void tc_places_leave(tc_places *p, tc_index thread)
{
    if (!p || p->at[thread] == NOWHERE)
        return;
    take(p, p->at[thread], 1 + (unsigned)thread, NOBODY);
    p->at[thread] = NOWHERE;
}

/* Puts the calling thread on the next processor of its set that nobody owns. Where it may be stays what it was. */
static void move_from(tc_places *p, tc_index thread, int here)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    for (int i = 1; i < CPU_SETSIZE; ++i) {
        const int next = (here + i) % CPU_SETSIZE;
        if (!CPU_ISSET(next, &allowed) || !take(p, next, NOBODY, 1 + (unsigned)thread))
            continue;
        p->at[thread] = next;
        CPU_ZERO(&one);
        CPU_SET(next, &one);
        if (sched_setaffinity(0, sizeof one, &one)) {
            __atomic_store_n(&p->refused, 1, __ATOMIC_RELAXED);
            tc_places_leave(p, thread);
            return;
        }
        sched_setaffinity(0, sizeof allowed, &allowed);
        return;
    }
}

void tc_places_settle(tc_places *p, tc_index thread)
{
    const int here = p && !__atomic_load_n(&p->refused, __ATOMIC_RELAXED) ? sched_getcpu() : -1;
    if (here < 0 || here >= CPU_SETSIZE)
        return;
    const unsigned self = 1 + (unsigned)thread;
    if (__atomic_load_n(&p->owner[here], __ATOMIC_RELAXED) == self)
        return;
    tc_places_leave(p, thread);
    if (thread == 0) {
        __atomic_store_n(&p->owner[here], self, __ATOMIC_RELAXED);
        p->at[thread] = here;
    } else if (take(p, here, NOBODY, self)) {
        p->at[thread] = here;
    } else {
        move_from(p, thread, here);
    }
}

#else

tc_places *tc_places_create(tc_index threads)
{
    (void)threads;
    return NULL;
}

void tc_places_destroy(tc_places *p)
{
    (void)p;
}

void tc_places_settle(tc_places *p, tc_index thread)
{
    (void)p, (void)thread;
}

void tc_places_leave(tc_places *p, tc_index thread)
{
    (void)p, (void)thread;
}

#endif
