/* SPDX-License-Identifier: Apache-2.0
 *
 * A context, tensors and arguments for calls of the fake model. One translation unit a program includes this header.
 */
#ifndef TESTS_RUNTIME_FIXTURE_H
#define TESTS_RUNTIME_FIXTURE_H

#include "fake.h"
#include "kernels.h"
#include "tap.h"

#include <string.h>

int kernels_watch;
const char *kernels_ran;

enum { ROWS = 100, COLUMNS = 64, N = ROWS * COLUMNS };

typedef struct fixture {
    _Alignas(64) unsigned char arena[64 * 1024];
    _Alignas(64) unsigned char state[FAKE_STATE_BYTES];
    tc_context context;
    float x[N], y[N];
    int32_t index[ROWS];
    fake_counters counters;
    fake_run_args args;
} fixture;

static inline void setup(fixture *f, tc_index n, tc_index m)
{
    memset(f, 0, sizeof *f);
    tc_context_init(&f->context, f->arena, sizeof f->arena);
    fake_state_init(f->state);
    for (int i = 0; i < N; ++i)
        f->x[i] = (float)(i % 251), f->y[i] = -1;
    for (int i = 0; i < ROWS; ++i)
        f->index[i] = i % 10;
    f->args = (fake_run_args){.n = n, .m = m, .x = f->x, .index = f->index, .y = f->y, .state = f->state,
                              .counters = &f->counters};
}

static inline int right(const fixture *f)
{
    const tc_index n = f->args.n, m = f->args.m;
    for (tc_index i = 0; i < n; ++i)
        for (tc_index j = 0; j < m; ++j)
            if (f->args.y[i * m + j] != 2 * f->x[(n - 1 - i) * m + j] + (float)f->index[i] / 4)
                return 0;
    return 1;
}

static inline float seen(const fixture *f)
{
    float count[4] = {-1};
    fake_state_export(f->state, "seen.count", count, sizeof count);
    return count[0];
}

/* The call fails with `status`, says `text`, and leaves output and state alone. */
static inline void refused(fixture *f, tc_status status, const char *text)
{
    const tc_status got = fake_run(&f->context, &f->args);
    int clean = seen(f) == 0 || seen(f) == -1;
    for (int i = 0; i < N; ++i)
        clean &= f->y[i] == -1;
    if (!tc_ok(got == status && f->context.error.status == status && strstr(f->context.error.message, text) && clean,
               "%s: %s", tc_status_string(status), text))
        tc_note("got %d, \"%s\", clean %d", (int)got, f->context.error.message, clean);
}

#endif
