/* SPDX-License-Identifier: Apache-2.0
 *
 * The harness, linked with a table of cases (case.h).
 *
 *   PROGRAM check            TAP: one point a candidate of a case
 *   PROGRAM time [ROUNDS]    proves every candidate, then times those that are right. Lines, for tensor-compile tune:
 *                              case NAME
 *                              candidate NAME NS ROUNDS      NS: least time of a call
 *                              skipped NAME                  this processor does not run it
 *                              wrong NAME REASON
 *                              winner NAME NS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "measure.h"

static int check_all(void)
{
    int point = 0, failed = 0;
    char why[200];
    for (int i = 0; i < tc_case_count; ++i) {
        const tc_case *a_case = &tc_cases[i];
        tc_expectation expectation;
        const int ready = tc_expectation_init(&expectation, a_case);
        for (int c = 0; c < a_case->candidate_count; ++c) {
            const tc_candidate *candidate = &a_case->candidates[c];
            if (!tc_isa_runs(candidate->isa)) {
                printf("ok %d - %s %s # SKIP no %s here\n", ++point, candidate->name, a_case->name, candidate->isa);
                continue;
            }
            snprintf(why, sizeof why, "no memory");
            const int right = ready && tc_check(a_case, candidate, &expectation, why, sizeof why);
            printf("%sok %d - %s %s\n", right ? "" : "not ", ++point, candidate->name, a_case->name);
            if (!right)
                printf("# %s\n", why);
            failed += !right;
            fflush(stdout);
        }
        tc_expectation_finish(&expectation, a_case);
    }
    printf("1..%d\n", point);
    return failed != 0;
}

static int time_case(const tc_case *a_case, int rounds)
{
    const int count = a_case->candidate_count;
    tc_expectation expectation;
    tc_timing *timings = calloc((size_t)count, sizeof *timings);
    double *samples = calloc((size_t)(count * rounds), sizeof *samples);
    char why[200];
    int done = 0;
    printf("case %s\n", a_case->name);
    fflush(stdout); /* who reads it shows how far it is */
    if (!tc_expectation_init(&expectation, a_case) || !timings || !samples) {
        fprintf(stderr, "no memory for %s\n", a_case->name);
        goto finish;
    }
    for (int c = 0; c < count; ++c) {
        const tc_candidate *candidate = &a_case->candidates[c];
        timings[c].samples = samples + c * rounds;
        if (!tc_isa_runs(candidate->isa))
            printf("skipped %s\n", candidate->name);
        else if (!(timings[c].runs = tc_check(a_case, candidate, &expectation, why, sizeof why)))
            printf("wrong %s %s\n", candidate->name, why);
    }
    const int winner = tc_measure(a_case, timings, rounds);
    for (int c = 0; c < count; ++c)
        if (timings[c].rounds)
            printf("candidate %s %.1f %d\n", a_case->candidates[c].name, timings[c].least, timings[c].rounds);
    if (winner >= 0)
        printf("winner %s %.1f\n", a_case->candidates[winner].name, timings[winner].least);
    done = 1;
finish:
    tc_expectation_finish(&expectation, a_case);
    free(timings);
    free(samples);
    fflush(stdout);
    return done;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "check") == 0)
        return check_all();
    if (argc >= 2 && strcmp(argv[1], "time") == 0) {
        const int rounds = argc > 2 ? atoi(argv[2]) : 20;
        for (int i = 0; i < tc_case_count; ++i)
            if (!time_case(&tc_cases[i], rounds > 0 ? rounds : 1))
                return 1;
        return 0;
    }
    fprintf(stderr, "usage: %s check | time [ROUNDS]\n", argv[0]);
    return 2;
}
