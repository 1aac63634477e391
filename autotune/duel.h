/* SPDX-License-Identifier: Apache-2.0
 *
 * A challenger against the incumbent, as a sequential test. In each turn the challenger is timed once and the incumbent
 * twice, one right after the other, in memory that lies otherwise than in the turn before. A turn is the challenger's
 * where it is faster than both of the incumbent's times, by half of what is asked. Of equal candidates it is the fastest
 * of three in one turn of three, however large the noise is. A turn gives 2 points, another one takes 3: the logarithms
 * of 0.75 / 0.4 and 0.25 / 0.6, as 2 to 3. With 22 points the challenger has won, with -14 it has lost, and after 60 turns
 * what is still open is lost, after 12 also what does not show three quarters of what is asked in the median of its
 * ratios. What has won is better where that median is all that is asked.
 *
 * A challenger to which 30 % of the turns fall by chance wins one duel in 120,000, with a third of them one in 27,000,
 * with half of them one in 54. With three turns of four it wins 94 duels of 100, with nine of ten all.
 */
#ifndef TC_AUTOTUNE_DUEL_H
#define TC_AUTOTUNE_DUEL_H

enum { TC_DUEL_TURNS = 60, TC_DUEL_WON = 22, TC_DUEL_LOST = -14 };

/* points: held as soon as TC_DUEL_WON or TC_DUEL_LOST is reached. ratios: of each turn, the challenger's time by the mean
 * of the incumbent's; challenger, incumbent: of each turn the time, of the incumbent the lesser one. Each is sorted. */
typedef struct {
    int points, turns;
    double ratios[TC_DUEL_TURNS], challenger[TC_DUEL_TURNS], incumbent[TC_DUEL_TURNS];
} tc_duel;

/* One turn of these times. again: the incumbent's second one; worth: of its time, what is asked for. */
void tc_duel_turn(tc_duel *duel, double challenger, double incumbent, double again, double worth);

int tc_duel_open(const tc_duel *duel);

int tc_duel_won(const tc_duel *duel);

/* Half of what is asked. */
double tc_duel_half(double worth);

/* Whether it won, the median of its ratios is less than `worth`, and the lower quartile of its times is less than the
 * incumbent's by half of that: what is faster only while other work disturbs is no better. */
int tc_duel_better(const tc_duel *duel, double worth);

/* The median of the challenger's time by the incumbent's. */
double tc_duel_ratio(const tc_duel *duel);

#endif
