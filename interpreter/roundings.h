/* SPDX-License-Identifier: Apache-2.0
 *
 * Where floats become integers, a float that lies between two of them may become the other one in double precision. A
 * run writes the floats that it has there; one in double precision reads them, and takes the integers of the first where
 * both have nearly the same float.
 */
#ifndef TCI_ROUNDINGS_H
#define TCI_ROUNDINGS_H

#include "ops.h"

#include <stdio.h>

typedef struct tci_roundings {
    FILE *file;
    bool follow;       /* reads the file, else writes it */
    double rtol, atol; /* floats a, here b, are nearly the same where |a - b| <= atol + rtol * |b| */
    int64_t taken;     /* elements whose integer is the file's, and another one here */
    int64_t apart;     /* elements whose integers differ because their floats do */
    tci_loc first;     /* of the first one */
    bool ended;        /* the runs went different ways: nothing is read any more */
} tci_roundings;

/* Whether the node makes integers of floats: of `from`, values of `to`. */
bool tci_makes_integers(tci_op op, tci_dtype from, tci_dtype to);

/* Appends the floats of `in`; the caller asks ferror of the file at the end. */
bool tci_roundings_write(const tci_scope *scope, const tci_node *node, const tci_tensor *in);

/* out: what `run` makes of `in`, or of the floats in the file. */
bool tci_roundings_follow(const tci_scope *scope, const tci_node *node, const tci_tensor *in, tci_run *run,
                          const tci_tensor *out);

#endif
