/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a team's threads are this process's: fork() gives a child none of them.
 */
#ifndef TC_HOSTED_FORKS_H
#define TC_HOSTED_FORKS_H

#include <pthread.h>

static unsigned forks;

static void count_fork(void)
{
    ++forks; /* in the child, before anything else runs in it */
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* A number that every child of fork() has anew, from the first call on. */
static unsigned tc_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return forks;
}

#endif
