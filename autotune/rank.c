/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include <stddef.h>

#define WORTH 0.98  /* of the champion's time: what takes its place */
#define CHANCE 0.05 /* that any of those that are compared does so by chance */

/* What is so many times the best, after so many rounds, runs no more. */
static const struct {
    int rounds;
    double limit;
} behind[] = {{1, 2.0}, {3, 1.25}, {6, 1.05}};

enum { SETTLED = 6 }; /* rounds after which least times say who can win */

double tc_sign_test(int wins, int rounds)
{
    double term = 1.0, sum = 0.0; /* term: rounds over i, divided by 2^rounds at the end */
    for (int i = 0; i <= rounds; ++i) {
        if (i >= wins)
            sum += term;
        term = term * (rounds - i) / (i + 1);
    }
    for (int i = 0; i < rounds; ++i)
        sum /= 2.0;
    return sum;
}

static int beats(const tc_timing *a, const tc_timing *b, int rounds, double worth, double chance)
{
    if (!b->runs)
        return a->runs;
    int wins = 0, both = 0;
    for (int r = 0; r < rounds; ++r)
        if (a->samples[r] > 0 && b->samples[r] > 0) {
            ++both;
            wins += a->samples[r] < b->samples[r];
        }
    return a->runs && a->least < worth * b->least && tc_sign_test(wins, both) < chance;
}

int tc_rank_beats(const tc_timing *a, const tc_timing *b, int rounds, double worth)
{
    return beats(a, b, rounds, worth, CHANCE);
}

static void drop(tc_timing *timings, int count, int incumbent, double limit)
{
    double best = 0;
    for (int c = 0; c < count; ++c)
        if (timings[c].runs && (best == 0 || timings[c].least < best))
            best = timings[c].least;
    for (int c = 0; c < count; ++c)
        if (c != incumbent && timings[c].least > best * limit)
            timings[c].runs = 0;
}

void tc_rank_drop(tc_timing *timings, int count, int incumbent, int round)
{
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; ++i)
        if (round + 1 == behind[i].rounds)
            drop(timings, count, incumbent, behind[i].limit);
}

int tc_rank_open(tc_timing *timings, int count, int incumbent, double worth, int round)
{
    const tc_timing *const old = &timings[incumbent];
    int running = 0;
    for (int c = 0; c < count; ++c) {
        if (round + 1 == SETTLED && c != incumbent && old->runs && timings[c].least >= worth * old->least)
            timings[c].runs = 0;
        running += timings[c].runs;
    }
    return running > 1 || round + 1 < SETTLED;
}

int tc_rank_best(const tc_timing *timings, int count, int incumbent, double worth)
{
    int best = -1;
    for (int c = 0; c < count; ++c)
        if (timings[c].runs && (best < 0 || timings[c].least < timings[best].least))
            best = c;
    const tc_timing *const old = &timings[incumbent];
    return best >= 0 && old->runs && timings[best].least >= worth * old->least ? incumbent : best;
}

int tc_rank_winner(const tc_timing *timings, int count, int incumbent, int rounds)
{
    int champion = incumbent, tried = 0;
    for (int c = 0; c < count; ++c)
        tried += c != incumbent && timings[c].runs;
    for (int c = 0; c < count; ++c)
        if (c != champion && beats(&timings[c], &timings[champion], rounds, WORTH, CHANCE / tried))
            champion = c;
    return timings[champion].runs ? champion : -1;
}
