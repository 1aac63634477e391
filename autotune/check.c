/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor_compile/runtime.h>

#include "data.h"
#include "guard.h"
#include "memory.h"

int tc_isa_runs(const char *isa)
{
    for (int cpu = 0; cpu < TC_CPU_COUNT; ++cpu)
        if (strcmp(isa, tc_cpu_name((tc_cpu)cpu)) == 0)
            return tc_cpu_detect() >> cpu & 1;
    return 0;
}

/* Operations from which on one team is tried for each kind of data, in place of all. */
#define LONG_CALL 2e7
#define LONG_CALL_WHOLE 5e8
/* What the reference computes of a long call, for each kind of data. */
#define SAMPLED 4e6

/* Threads, and how many pieces of its part each takes. */
static const struct {
    int threads, pieces;
} teams[] = {{1, 1}, {5, 1}, {9, 8}};

/* What every candidate must make of one kind of data. */
typedef struct {
    tc_fill fill;
    void *inputs[TC_MOST_PARAMS];      /* every parameter's values before the call; NULL: of scratch */
    void *results[TC_MOST_PARAMS + 2]; /* after it; NULL: a call is told nothing of others */
} expectation;

/* The buffers of a call, each between guards, at one side of its room. */
typedef struct {
    tc_guard guards[TC_MOST_PARAMS];
    void *data[TC_MOST_PARAMS + 2]; /* and `held`, and NULL: it fetches no more than its own */
    tc_index held[6];               /* what a kernel remembers between calls, and the threads */
} room;

static size_t bytes(const tc_param *param)
{
    return tc_data_size(param->type) * (size_t)param->elements;
}

/* Makes the buffers what they are before a call. */
static void before(const tc_case *a_case, const expectation *expected, void *const *buffers)
{
    for (int i = 0; i < a_case->param_count; ++i)
        if (a_case->params[i].scratch)
            memset(buffers[i], TC_GUARD_PATTERN, bytes(&a_case->params[i]));
        else
            memcpy(buffers[i], expected->inputs[i], bytes(&a_case->params[i]));
}

/* -- what is expected ---------------------------------------------------------------------------------------------- */

/* Every how many-th point the reference computes: a prime where it is not each one, so that they lie in all columns. */
static tc_index every(double flops, int whole)
{
    tc_index n = whole || flops <= SAMPLED ? 1 : (tc_index)(flops / SAMPLED) + 1;
    for (tc_index i = 2; i * i <= n; ++i)
        if (n % i == 0)
            ++n, i = 1;
    return n;
}

/* The first element that the reference made something else of than a candidate did; -1 where there is none. Where
 * `plain` is as before the call, the reference computed nothing. */
static ptrdiff_t differ_at_points(const void *got, const void *plain, const void *before, const tc_param *param)
{
    const size_t size = tc_data_size(param->type);
    tc_param one = *param;
    one.elements = 1;
    for (ptrdiff_t i = 0; i < param->elements; ++i) {
        const size_t at = size * (size_t)i;
        if (memcmp((const char *)plain + at, (const char *)before + at, size) != 0 &&
            tc_data_differ((const char *)got + at, (const char *)plain + at, &one) >= 0)
            return i;
    }
    return -1;
}

static void tell(tc_proof *proof, const tc_param *param, ptrdiff_t at, const void *got, const void *want, tc_fill fill,
                 int threads)
{
    const size_t size = tc_data_size(param->type), offset = size * (size_t)at;
    uint32_t is = 0, should = 0;
    memcpy(&is, (const char *)got + offset, size < 4 ? 1 : 4);
    memcpy(&should, (const char *)want + offset, size < 4 ? 1 : 4);
    snprintf(proof->why, sizeof proof->why, "%s[%ld] is 0x%08lx instead of 0x%08lx (%s data, team of %d)", param->name,
             (long)at, (unsigned long)is, (unsigned long)should, tc_fill_names[fill], threads);
    proof->state = TC_WRONG;
}

/* Makes `results` those of the first candidate that agrees with the reference's points; candidates that do not are
 * wrong. */
static void agreed(const tc_case *a_case, expectation *expected, void *const *plain, tc_proof *proofs)
{
    for (int n = -1; n < a_case->candidate_count; ++n) {
        const int c = n < 0 ? a_case->incumbent : n;
        if (proofs[c].state != TC_RIGHT)
            continue;
        before(a_case, expected, expected->results);
        a_case->candidates[c].run(expected->results, a_case->dims, 0, 1);
        for (int i = 0; i < a_case->param_count && proofs[c].state == TC_RIGHT; ++i) {
            const tc_param *param = &a_case->params[i];
            const void *const got = expected->results[i];
            const ptrdiff_t at = param->written && !param->scratch
                                     ? differ_at_points(got, plain[i], expected->inputs[i], param)
                                     : -1;
            if (at >= 0)
                tell(&proofs[c], param, at, got, plain[i], expected->fill, 1);
        }
        if (proofs[c].state == TC_RIGHT)
            return;
    }
}

static int take(const tc_case *a_case, void **buffers)
{
    for (int i = 0; i < a_case->param_count; ++i)
        if (!(buffers[i] = tc_memory_take(bytes(&a_case->params[i]))))
            return 0;
    return 1;
}

static void give(const tc_case *a_case, void **buffers)
{
    for (int i = 0; i < a_case->param_count; ++i)
        tc_memory_give(buffers[i]);
}

/* Returns 0 where memory is short. */
static int expect(const tc_case *a_case, expectation *expected, tc_proof *proofs, int whole)
{
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        if (param->scratch)
            continue;
        if (!(expected->inputs[i] = tc_memory_take(bytes(param))))
            return 0;
        tc_data_fill(expected->inputs[i], param, expected->fill, (uint64_t)(100 * (int)expected->fill + i));
    }
    if (!take(a_case, expected->results))
        return 0;
    const tc_index points = every(a_case->flops, whole);
    if (points == 1) {
        before(a_case, expected, expected->results);
        a_case->reference(expected->results, a_case->dims, 0, 1);
        return 1;
    }
    void *plain[TC_MOST_PARAMS + 2] = {0};
    const int ready = take(a_case, plain);
    if (ready) {
        before(a_case, expected, plain);
        a_case->reference(plain, a_case->dims, (int)expected->fill % points, points);
        agreed(a_case, expected, plain, proofs);
    }
    give(a_case, plain);
    return ready;
}

/* -- calls between guards ------------------------------------------------------------------------------------------ */

static int room_init(room *made, const tc_case *a_case, int at_end)
{
    *made = (room){0};
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        if (!tc_guard_init(&made->guards[i], bytes(param), param->aligned ? 64 : tc_data_size(param->type), at_end))
            return 0;
        made->data[i] = made->guards[i].data;
    }
    return 1;
}

static void room_finish(room *made, const tc_case *a_case)
{
    for (int i = 0; i < a_case->param_count; ++i)
        tc_guard_finish(&made->guards[i]);
}

/* Which piece is number `i`: from the last one on, from the first, or every seventh. */
static int turn(tc_fill fill, int i, int pieces)
{
    return fill == TC_FILL_PLAIN ? pieces - 1 - i : fill == TC_FILL_WIDE ? i : i * 7 % pieces;
}

/* One call of each piece of team number `team`. */
static void check_call(const tc_case *a_case, const tc_candidate *candidate, const expectation *expected, room *made,
                       int team, tc_proof *proof)
{
    const int threads = teams[team].threads, pieces = threads * teams[team].pieces;
    before(a_case, expected, made->data);
    memset(made->held, 0, sizeof made->held); /* one thread takes all pieces */
    made->held[3] = threads;
    made->data[a_case->param_count] = made->held;
    for (int i = 0; i < pieces; ++i)
        candidate->run(made->data, a_case->dims, turn(expected->fill, i, pieces), pieces);
    for (int i = 0; i < a_case->param_count; ++i) {
        const tc_param *param = &a_case->params[i];
        const tc_index at = param->scratch ? -1 : tc_data_differ(made->data[i], expected->results[i], param);
        if (at >= 0) {
            tell(proof, param, at, made->data[i], expected->results[i], expected->fill, threads);
            return;
        }
        if (!tc_guard_intact(&made->guards[i])) {
            snprintf(proof->why, sizeof proof->why, "writes beside %s (%s data, team of %d)", param->name,
                     tc_fill_names[expected->fill], threads);
            proof->state = TC_WRONG;
            return;
        }
    }
}

/* Every candidate on one kind of data. Returns 0 where memory is short. */
static int prove(const tc_case *a_case, tc_fill fill, tc_proof *proofs, int whole)
{
    expectation expected = {.fill = fill};
    const int all = a_case->flops < (whole ? LONG_CALL_WHOLE : LONG_CALL);
    int ready = expect(a_case, &expected, proofs, whole);
    for (int t = 0; t < 3 && ready; ++t) {
        if (!all && t != (int)fill % 3)
            continue;
        const int at_end = ((int)fill + t) % 2 == 0;
        room made;
        ready = room_init(&made, a_case, at_end);
        for (int c = 0; c < a_case->candidate_count && ready; ++c) {
            if (proofs[c].state != TC_RIGHT)
                continue;
            check_call(a_case, &a_case->candidates[c], &expected, &made, t, &proofs[c]);
            if (proofs[c].state == TC_RIGHT)
                continue;
            room_finish(&made, a_case); /* it may have written between the guards */
            ready = room_init(&made, a_case, at_end);
        }
        room_finish(&made, a_case);
    }
    give(a_case, expected.inputs);
    give(a_case, expected.results);
    return ready;
}

tc_proof *tc_prove(const tc_case *a_case, int whole)
{
    tc_proof *proofs = calloc((size_t)a_case->candidate_count, sizeof *proofs);
    int ready = proofs && a_case->param_count <= TC_MOST_PARAMS;
    int some = 0;
    for (int c = 0; ready && c < a_case->candidate_count; ++c) {
        proofs[c].state = tc_isa_runs(a_case->candidates[c].isa) ? TC_RIGHT : TC_SKIPPED;
        some |= proofs[c].state == TC_RIGHT;
    }
    for (int fill = 0; ready && some && fill < TC_FILL_COUNT; ++fill)
        ready = prove(a_case, (tc_fill)fill, proofs, whole);
    if (!ready) {
        free(proofs);
        return NULL;
    }
    return proofs;
}
