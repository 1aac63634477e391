# SPDX-License-Identifier: Apache-2.0
"""A challenger against what is used, in whole calls: a sequential test as that of autotune/duel.h. Its turns are two
processes, one right after the other. Each has its memory elsewhere, so what the lie of it brings does not decide."""
from __future__ import annotations

from math import inf
from typing import Callable

from ..records import dataclass

TURNS = 30             # at most: a turn takes a third of a second
WON, LOST = 22, -7     # points at which it is decided
GIVEN, TAKEN = 2, 3    # points of a turn


@dataclass(slots=True)
class Duel:
    """worth: of the time of what is used, below which a turn is the challenger's; least: times of what is used and of
    the challenger."""

    worth: float
    points: int = 0
    turns: int = 0
    least: tuple[float, float] = (inf, inf)

    def turn(self, used: float, challenger: float, undisturbed: bool = True) -> None:
        """One that other work disturbed is not the challenger's."""
        self.turns += 1
        self.least = min(self.least[0], used), min(self.least[1], challenger)
        self.points += GIVEN if undisturbed and challenger < self.worth * used else -TAKEN

    @property
    def open(self) -> bool:
        return LOST < self.points < WON and self.turns < TURNS

    @property
    def won(self) -> bool:
        """By least times, too: what is faster only while other work disturbs is no better."""
        return self.points >= WON and self.least[1] < self.worth * self.least[0]


def fought(used: Callable[[], float], challenger: Callable[[], float], worth: float,
           undisturbed: Callable[[], bool] = lambda: True) -> Duel:
    """A duel of what these measure. Who is first changes from turn to turn. undisturbed: whether both were."""
    duel = Duel(worth)
    while duel.open:
        if duel.turns % 2:
            late = challenger()
            duel.turn(used(), late, undisturbed())
        else:
            duel.turn(used(), challenger(), undisturbed())
    return duel
