/* SPDX-License-Identifier: Apache-2.0 */
#include "duel.h"

enum { GIVEN = 2, TAKEN = 3 }; /* points of a turn */

int tc_duel_open(const tc_duel *duel)
{
    return duel->points > TC_DUEL_LOST && duel->points < TC_DUEL_WON && duel->turns < TC_DUEL_TURNS;
}

int tc_duel_won(const tc_duel *duel)
{
    return duel->points >= TC_DUEL_WON;
}

void tc_duel_turn(tc_duel *duel, double challenger, double incumbent, double worth)
{
    const int open = tc_duel_open(duel);
    if (duel->turns == TC_DUEL_TURNS)
        return;
    const double ratio = challenger / incumbent;
    int at = duel->turns++;
    for (; at > 0 && duel->ratios[at - 1] > ratio; --at)
        duel->ratios[at] = duel->ratios[at - 1];
    duel->ratios[at] = ratio;
    if (open)
        duel->points += ratio < worth ? GIVEN : -TAKEN;
}

double tc_duel_ratio(const tc_duel *duel)
{
    return duel->ratios[duel->turns / 2];
}
