/* SPDX-License-Identifier: Apache-2.0
 *
 * The harness, linked with a table of cases (case.h) and a clock (clock.h).
 *
 *   PROGRAM check            TAP: one point a candidate of a case
 *   PROGRAM time [ROUNDS]    proves every candidate, then times those that are right. Lines, for tensor-compile tune:
 *                              case NAME
 *                              candidate NAME COUNT ROUNDS   COUNT: least of a call, in the clock's unit
 *                              skipped NAME                  this processor does not run it
 *                              wrong NAME REASON
 *                              beyond NAME                   a call is longer than the counter counts
 *                              winner NAME COUNT
 *                              failed REASON                 nothing more follows
 *
 * Where a program has no arguments (a board), it is `time` with the rounds that it was built for (tc_rounds), and the
 * last line is `exit CODE`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "measure.h"

static int check_all(void)
{
    int point = 0, failed = 0;
    for (int i = 0; i < tc_case_count; ++i) {
        const tc_case *a_case = &tc_cases[i];
        tc_proof *proofs = tc_prove(a_case, 1);
        for (int c = 0; c < a_case->candidate_count; ++c) {
            const tc_candidate *candidate = &a_case->candidates[c];
            if (proofs && proofs[c].state == TC_SKIPPED) {
                printf("ok %d - %s %s # SKIP no %s here\n", ++point, candidate->name, a_case->name, candidate->isa);
                continue;
            }
            const int right = proofs && proofs[c].state == TC_RIGHT;
            printf("%sok %d - %s %s\n", right ? "" : "not ", ++point, candidate->name, a_case->name);
            if (!right)
                printf("# %s\n", proofs ? proofs[c].why : "no memory");
            failed += !right;
            fflush(stdout);
        }
        free(proofs);
    }
    printf("1..%d\n", point);
    return failed != 0;
}

static int time_case(const tc_case *a_case, int rounds, tc_calm *calm)
{
    const int count = a_case->candidate_count;
    printf("case %s\n", a_case->name);
    fflush(stdout); /* who reads it shows how far it is */
    tc_proof *proofs = tc_prove(a_case, 0);
    tc_timing *timings = calloc((size_t)count, sizeof *timings);
    double *samples = calloc((size_t)(count * rounds), sizeof *samples);
    const int ready = proofs && timings && samples;
    for (int c = 0; ready && c < count; ++c) {
        timings[c].samples = samples + c * rounds;
        timings[c].runs = proofs[c].state == TC_RIGHT;
        if (proofs[c].state == TC_SKIPPED)
            printf("skipped %s\n", a_case->candidates[c].name);
        else if (proofs[c].state == TC_WRONG)
            printf("wrong %s %s\n", a_case->candidates[c].name, proofs[c].why);
    }
    const int winner = ready ? tc_measure(a_case, timings, rounds, calm) : -1;
    for (int c = 0; ready && c < count; ++c)
        if (timings[c].rounds)
            printf("candidate %s %.1f %d\n", a_case->candidates[c].name, timings[c].least, timings[c].rounds);
        else if (proofs[c].state == TC_RIGHT)
            printf("beyond %s\n", a_case->candidates[c].name);
    if (winner >= 0)
        printf("winner %s %.1f\n", a_case->candidates[winner].name, timings[winner].least);
    if (!ready)
        printf("failed no memory for %s\n", a_case->name);
    free(proofs);
    free(timings);
    free(samples);
    fflush(stdout);
    return ready;
}

static int time_all(int rounds)
{
    const char *why = tc_clock_init();
    if (why)
        printf("failed %s\n", why);
    rounds = tc_clock_used.exact || rounds < 1 ? 1 : rounds;
    tc_calm calm = {0};
    for (int i = 0; !why && i < tc_case_count; ++i)
        if (!time_case(&tc_cases[i], rounds, &calm))
            return 1;
    return why != NULL;
}

int main(int argc, char **argv)
{
    if (tc_rounds) {
        const int code = time_all(tc_rounds);
        printf("exit %d\n", code);
        fflush(stdout);
        return code;
    }
    if (argc == 2 && strcmp(argv[1], "check") == 0)
        return check_all();
    if (argc >= 2 && strcmp(argv[1], "time") == 0)
        return time_all(argc > 2 ? atoi(argv[2]) : 20);
    fprintf(stderr, "usage: %s check | time [ROUNDS]\n", argv[0]);
    return 2;
}
