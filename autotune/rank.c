/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#define FAR_BEHIND 1.25 /* after three rounds */
#define BEHIND 1.05     /* after six */
#define WORTH 0.98      /* of the champion's time: what takes its place */
#define CHANCE 0.05     /* that any of those that are compared does so by chance */

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

/* tried: how many are compared, each of which may win by chance */
static int beats(const tc_timing *a, const tc_timing *b, int rounds, int exact, int tried)
{
    if (!b->runs)
        return a->runs;
    int wins = 0, both = 0;
    for (int r = 0; r < rounds; ++r)
        if (a->samples[r] > 0 && b->samples[r] > 0) {
            ++both;
            wins += a->samples[r] < b->samples[r];
        }
    return a->runs && a->least < (exact ? 0.99 : WORTH) * b->least &&
           (exact || tc_sign_test(wins, both) < CHANCE / tried);
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
    if (round == 2 || round == 5)
        drop(timings, count, incumbent, round == 2 ? FAR_BEHIND : BEHIND);
}

int tc_rank_winner(const tc_timing *timings, int count, int incumbent, int rounds, int exact)
{
    int champion = incumbent, tried = 0;
    for (int c = 0; c < count; ++c)
        tried += c != incumbent && timings[c].runs;
    for (int c = 0; c < count; ++c)
        if (c != champion && beats(&timings[c], &timings[champion], rounds, exact, tried))
            champion = c;
    return timings[champion].runs ? champion : -1;
}
