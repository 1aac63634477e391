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

enum { SETTLED = 6 };   /* rounds after which least times say who can win */
#define MOST_NOISE 1.25 /* one sample may lie so far above another of equal calls */

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

/* Whether a needs less than b by what is worth it, and more often less than by that chance. */
static int beats(const tc_timing *a, const tc_timing *b, int rounds, double chance)
{
    if (!b->runs)
        return a->runs;
    int wins = 0, both = 0;
    for (int r = 0; r < rounds; ++r)
        if (a->samples[r] > 0 && b->samples[r] > 0) {
            ++both;
            wins += a->samples[r] < b->samples[r];
        }
    return a->runs && a->least < WORTH * b->least && tc_sign_test(wins, both) < chance;
}

/* How far a least sample may lie above what the candidate needs, as a factor: as the second least lies above it, the mean
 * of those that run, twice. On a machine with nothing else to do it is hardly more than 1. */
static double noise(const tc_timing *timings, int count, int round)
{
    double sum = 0;
    int running = 0;
    for (int c = 0; c < count; ++c) {
        const tc_timing *const timing = &timings[c];
        double second = 0;
        int least = 0; /* samples that are the least */
        for (int r = 0; r <= round && timing->runs; ++r) {
            const double sample = timing->samples[r];
            least += sample == timing->least;
            if (sample > timing->least && (second == 0 || sample < second))
                second = sample;
        }
        if (timing->runs && timing->least > 0) {
            sum += least > 1 || second == 0 ? 1.0 : second / timing->least;
            ++running;
        }
    }
    const double mean = running ? sum / running : 1.0;
    return mean < MOST_NOISE ? mean * mean : MOST_NOISE * MOST_NOISE;
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
            drop(timings, count, incumbent, behind[i].limit * noise(timings, count, round));
}

int tc_rank_open(tc_timing *timings, int count, int incumbent, double worth, int round)
{
    const tc_timing *const old = &timings[incumbent];
    const double most = worth * old->least * noise(timings, count, round);
    int running = 0;
    for (int c = 0; c < count; ++c) {
        if (round + 1 == SETTLED && c != incumbent && old->runs && timings[c].least >= most)
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

void tc_rank_finalists(tc_timing *timings, int count, int incumbent, double worth, int most)
{
    const double limit = worth * timings[incumbent].least;
    for (int c = 0; c < count; ++c)
        if (c != incumbent && timings[c].least >= limit)
            timings[c].runs = 0;
    for (int left = count; left > most;) {
        int last = -1;
        left = 0;
        for (int c = 0; c < count; ++c)
            if (c != incumbent && timings[c].runs) {
                ++left;
                if (last < 0 || timings[c].least > timings[last].least)
                    last = c;
            }
        if (left > most)
            timings[last].runs = 0;
    }
}

int tc_rank_winner(const tc_timing *timings, int count, int incumbent, int rounds)
{
    int champion = incumbent, tried = 0;
    for (int c = 0; c < count; ++c)
        tried += c != incumbent && timings[c].runs;
    for (int c = 0; c < count; ++c)
        if (c != champion && beats(&timings[c], &timings[champion], rounds, CHANCE / tried))
            champion = c;
    return timings[champion].runs ? champion : -1;
}
