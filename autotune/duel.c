/* SPDX-License-Identifier: Apache-2.0 */
#include "duel.h"

#include "sorted.h"

enum { GIVEN = 2, TAKEN = 3 /* points of a turn */, FEW = 12 /* turns whose median tells little */ };

int tc_duel_open(const tc_duel *duel)
{
    return duel->points > TC_DUEL_LOST && duel->points < TC_DUEL_WON && duel->turns < TC_DUEL_TURNS;
}

int tc_duel_won(const tc_duel *duel)
{
    return duel->points >= TC_DUEL_WON;
}

double tc_duel_half(double worth)
{
    return (1 + worth) / 2;
}

double tc_duel_ratio(const tc_duel *duel)
{
    return duel->ratios[duel->turns / 2];
}

int tc_duel_better(const tc_duel *duel, double worth)
{
    const int quartile = duel->turns / 4;
    return tc_duel_won(duel) && tc_duel_ratio(duel) < worth &&
           duel->challenger[quartile] < tc_duel_half(worth) * duel->incumbent[quartile];
}

void tc_duel_turn(tc_duel *duel, double challenger, double incumbent, double again, double worth)
{
    const int open = tc_duel_open(duel);
    if (duel->turns == TC_DUEL_TURNS)
        return;
    const double least = incumbent < again ? incumbent : again;
    tc_sorted_insert(duel->ratios, duel->turns, 2 * challenger / (incumbent + again));
    tc_sorted_insert(duel->challenger, duel->turns, challenger);
    tc_sorted_insert(duel->incumbent, duel->turns, least);
    ++duel->turns;
    if (open)
        duel->points += challenger < tc_duel_half(worth) * least ? GIVEN : -TAKEN;
    if (open && duel->turns > FEW && duel->points < TC_DUEL_WON &&
        tc_duel_ratio(duel) > (worth + tc_duel_half(worth)) / 2)
        duel->points = TC_DUEL_LOST;
}
