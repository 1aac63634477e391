/* SPDX-License-Identifier: Apache-2.0
 *
 * The constants of a case, several times: each call is given the next ones, so that it finds them where the whole model
 * leaves them. Between two calls of a kernel the model reads the constants of all its kernels; as many bytes of copies
 * lie between two uses of one of them here. All other operands stay near.
 */
#ifndef TC_AUTOTUNE_COPIES_H
#define TC_AUTOTUNE_COPIES_H

#include "case.h"
#include "check.h"

/* count: copies; 1: there are none, and constants are operands like others. next: the copy that comes next. offsets: of a
 * parameter in each copy. */
typedef struct {
    unsigned char *all;
    size_t offsets[TC_MOST_PARAMS], stride;
    long count, next;
} tc_copies;

/* As many copies as lie between two calls, fewer where memory is short. */
void tc_copies_init(tc_copies *copies, const tc_case *a_case);

/* Whether they hold a parameter. */
int tc_copies_hold(const tc_copies *copies, const tc_param *param);

/* Sets the constants among the buffers of a call. */
void tc_copies_turn(tc_copies *copies, const tc_case *a_case, void **buffers);

void tc_copies_finish(tc_copies *copies);

#endif
