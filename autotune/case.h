/* SPDX-License-Identifier: Apache-2.0
 *
 * What the harness checks and measures. The table is C text written by compile/tune.py (or a test) beside the kernels
 * and linked with them: nothing is loaded at run time, so the same program runs on a board, under an emulator or here.
 */
#ifndef TC_AUTOTUNE_CASE_H
#define TC_AUTOTUNE_CASE_H

#include "data.h"
#include "tc_kernel.h"

typedef struct {
    const char *name; /* tc_<op>_<dtype>_<tile>__<isa> */
    const char *isa;
    tc_kernel *run;
} tc_candidate;

/* One kernel at one size: all candidates compute what the reference does, bit for bit.
 * incumbent: the candidate that a newcomer must beat, by its number; worth: of its time, what the newcomer's must be below.
 * between: bytes of constants that the model reads from one call of the kernel to the next; 0: as many as stay near.
 */
typedef struct {
    const char *name;
    const tc_param *params;
    int param_count;
    const tc_index *dims;
    tc_kernel *reference;
    const tc_candidate *candidates;
    int candidate_count;
    int incumbent;
    double worth, flops;
    size_t between;
} tc_case;

extern const tc_case tc_cases[];
extern const int tc_case_count;
extern const int tc_rounds; /* of a program without arguments, else 0 */

#endif
