/* SPDX-License-Identifier: Apache-2.0
 *
 * Which candidate wins, of samples that were taken in turns. A candidate's time is its least sample. After one, three
 * and six rounds those far behind are dropped: by how much depends on how far apart their own samples lie.
 *
 * On a GPU one measurement decides: a candidate beats the champion, at first the incumbent, only where its time is more than
 * 2 % less and it won so many of the rounds in which both ran that by chance any of the candidates that are left would do
 * so less than once in twenty (sign test).
 * On a processor the best are measured again, each against the incumbent (duel.h): chance that chose them among many
 * does not come twice. Where equal calls count equally, the least count is enough.
 */
#ifndef TC_AUTOTUNE_RANK_H
#define TC_AUTOTUNE_RANK_H

typedef struct {
    double *samples; /* rounds of the clock's unit; 0 where it did not run */
    double least;
    int rounds; /* in which it ran */
    int runs;   /* proved right, runs on this processor, and is not dropped */
} tc_timing;

/* After a round, by its number from 0: candidates that are far behind run no more. The incumbent always does. */
void tc_rank_drop(tc_timing *timings, int count, int incumbent, int round);

/* The winner's number after so many rounds, -1 where none runs. */
int tc_rank_winner(const tc_timing *timings, int count, int incumbent, int rounds);

/* Whether another round can change who is best. After six rounds candidates whose time is not less than `worth` of the
 * incumbent's run no more, as far as samples lie close together. */
int tc_rank_open(tc_timing *timings, int count, int incumbent, double worth, int round);

/* The one with the least time where that is less than `worth` of the incumbent's, else the incumbent; -1 where none
 * runs. */
int tc_rank_best(const tc_timing *timings, int count, int incumbent, double worth);

/* Of those that need less than `worth` of the incumbent's time the best, `most` of them; others run no more. */
void tc_rank_finalists(tc_timing *timings, int count, int incumbent, double worth, int most);

/* The probability that a fair coin gives at least `wins` heads in `rounds`. */
double tc_sign_test(int wins, int rounds);

#endif
