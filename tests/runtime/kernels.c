/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of make_model.py's model, once for each instruction set: compiled with SET as the name's end.
 */
#include "kernels.h"

#include "tc_kernel.h"

#define PASTE(a, b) a##b
#define EXPAND(a, b) PASTE(a, b)
#define KERNEL(name) EXPAND(tck_##name##__, SET)
#define STRING(x) #x
#define TEXT(x) STRING(x)

static void check(void *const *p, tc_index n, tc_index thread, tc_index threads)
{
    const int32_t *index = p[0];
    tc_index i, end;
    if (kernels_watch)
        kernels_ran = TEXT(SET);
    for (tc_split(n, thread, threads, &i, &end); i < end; ++i)
        if (index[i] < 0 || index[i] >= 10)
            *(int32_t *)p[1] = 1;
}

/* Adds what it has twice in its own scratch. */
static void twice(void *const *p, tc_index n, tc_index m, tc_index thread, tc_index threads)
{
    const float *x = p[0];
    float *t = p[1], *pair = p[2];
    tc_index i, end;
    for (tc_split(n, thread, threads, &i, &end); i < end; ++i) {
        for (tc_index j = 0; j < m; ++j)
            pair[2 * j] = pair[2 * j + 1] = x[i * m + j];
        for (tc_index j = 0; j < m; ++j)
            t[i * m + j] = pair[2 * j] + pair[2 * j + 1];
    }
}

/* Reads rows that other threads wrote; goes through its own scratch row. */
static void reverse(void *const *p, tc_index n, tc_index m, tc_index thread, tc_index threads)
{
    const float *t = p[0], *table = p[2];
    const int32_t *index = p[1];
    float *y = p[3], *line = p[4];
    tc_index i, end;
    for (tc_split(n, thread, threads, &i, &end); i < end; ++i) {
        for (tc_index j = 0; j < m; ++j)
            line[j] = t[(n - 1 - i) * m + j];
        for (tc_index j = 0; j < m; ++j)
            y[i * m + j] = line[j] + table[index[i]];
    }
}

tc_kernel KERNEL(check), KERNEL(twice), KERNEL(reverse), KERNEL(count);
tc_kernel KERNEL(check_fixed), KERNEL(twice_fixed), KERNEL(reverse_fixed), KERNEL(count_fixed);

void KERNEL(check)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    check(p, d[0], thread, threads);
}

void KERNEL(twice)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    twice(p, d[1], d[0], thread, threads);
}

void KERNEL(reverse)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    reverse(p, d[1], d[0], thread, threads);
}

void KERNEL(count)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    (void)d, (void)threads;
    if (thread == 0)
        ++*(float *)p[0];
}

enum { FIXED = 4 }; /* the size that has a variant */

void KERNEL(check_fixed)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    (void)d;
    check(p, FIXED, thread, threads);
}

void KERNEL(twice_fixed)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    twice(p, FIXED, d[0], thread, threads);
}

void KERNEL(reverse_fixed)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    reverse(p, FIXED, d[0], thread, threads);
}

void KERNEL(count_fixed)(void *const *p, const tc_index *d, tc_index thread, tc_index threads)
{
    KERNEL(count)(p, d, thread, threads);
}
