/* SPDX-License-Identifier: Apache-2.0
 *
 * What the harness checks and measures. The table is C text written by build/tune.py (or a test) beside the kernels and
 * linked with them: nothing is loaded at run time, so the same program runs on a board, under an emulator or here.
 */
#ifndef TC_AUTOTUNE_CASE_H
#define TC_AUTOTUNE_CASE_H

#include "tc_kernel.h"

typedef enum { TC_DATA_F32, TC_DATA_I32, TC_DATA_I64, TC_DATA_BOOL } tc_data_type;

/* A buffer of a kernel. finite: its values are never NaN or infinite (weights of a padded convolution).
 * aligned: starts at a multiple of 64 (packed, temp, scratch), else at its element's size. */
typedef struct {
    const char *name;
    tc_data_type type;
    tc_index elements;
    uint8_t finite, aligned, written;
} tc_param;

typedef struct {
    const char *name; /* tc_<op>_<dtype>_<tile>__<isa> */
    const char *isa;
    tc_kernel *run;
} tc_candidate;

/* One kernel at one size: all candidates compute what the reference does, bit for bit.
 * incumbent: the candidate that a newcomer must beat, by its number. */
typedef struct {
    const char *name;
    const tc_param *params;
    int param_count;
    const tc_index *dims;
    tc_kernel *reference;
    const tc_candidate *candidates;
    int candidate_count;
    int incumbent;
    double flops;
} tc_case;

extern const tc_case tc_cases[];
extern const int tc_case_count;

#endif
