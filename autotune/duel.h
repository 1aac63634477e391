/* SPDX-License-Identifier: Apache-2.0
 *
 * A challenger against the incumbent, as a sequential test. In each turn both are timed, one right after the other, in
 * memory that lies otherwise than in the turn before. A turn is the challenger's where it needs less than `worth` of the
 * incumbent's time. It gives 2 points, another one takes 3: the logarithms of 0.75 / 0.4 and 0.25 / 0.6, as 2 to 3. With
 * 22 points it has won, with -7 it has lost, and after 60 turns what is still open is lost.
 *
 * A challenger to which 30 % of the turns fall by chance wins one duel in 120,000, with 40 % (equal times, and noise
 * four times as large as what is asked) one in 1,900, with half of them (just what is asked) one in 60. With three turns
 * of four it wins 86 duels of 100, with nine of ten 99.
 */
#ifndef TC_AUTOTUNE_DUEL_H
#define TC_AUTOTUNE_DUEL_H

enum { TC_DUEL_TURNS = 60, TC_DUEL_WON = 22, TC_DUEL_LOST = -7 };

/* points: held at TC_DUEL_WON and TC_DUEL_LOST as soon as one of them is reached. ratios: of each turn, sorted. */
typedef struct {
    int points, turns;
    double ratios[TC_DUEL_TURNS];
} tc_duel;

/* One turn of these times. */
void tc_duel_turn(tc_duel *duel, double challenger, double incumbent, double worth);

int tc_duel_open(const tc_duel *duel);

int tc_duel_won(const tc_duel *duel);

/* The median of the challenger's time by the incumbent's. */
double tc_duel_ratio(const tc_duel *duel);

#endif
